from glob import glob

from setuptools import find_packages, setup

package_name = "ur5e_nik_vision"

setup(
    name=package_name,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package_name: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
        (f"share/{package_name}", ["package.xml"]),
        (f"share/{package_name}/config", glob("config/*.yaml")),
    ],
    install_requires=["setuptools", "numpy", "PyYAML"],
    extras_require={"test": ["pytest", "hypothesis"]},
    zip_safe=False,
    maintainer="ur5e_nik maintainers",
    maintainer_email="maintainers@ur5e-nik.org",
    description="Position and yaw of coloured cubes from one calibrated overhead camera.",
    license="MIT",
    entry_points={
        "console_scripts": [
            "vision_node = ur5e_nik_vision.vision_node:main",
            "calibrate = ur5e_nik_vision.calibrate:main",
            "tune = ur5e_nik_vision.tune:main",
        ]
    },
)
