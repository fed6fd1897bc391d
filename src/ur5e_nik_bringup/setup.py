from glob import glob

from setuptools import find_packages, setup

package_name = "ur5e_nik_bringup"

setup(
    name=package_name,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package_name: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
        (f"share/{package_name}", ["package.xml"]),
        (f"share/{package_name}/config", glob("config/*")),
        (f"share/{package_name}/launch", glob("launch/*.py")),
        (f"share/{package_name}/web", glob("web/*")),
        (f"share/{package_name}/urdf", glob("urdf/*")),
        (f"share/{package_name}/worlds", glob("worlds/*")),
    ],
    install_requires=["setuptools", "numpy", "PyYAML"],
    extras_require={"test": ["pytest", "hypothesis"]},
    zip_safe=False,
    maintainer="ur5e_nik maintainers",
    maintainer_email="maintainers@ur5e-nik.org",
    description="Pick and place with a UR5e: the task node, the launch files and the demo.",
    license="MIT",
    entry_points={
        "console_scripts": [
            "task_node = ur5e_nik_bringup.task_node:main",
            "view_node = ur5e_nik_bringup.view_node:main",
            "demo = ur5e_nik_bringup.demo:main",
            "webots_calibration = ur5e_nik_bringup.webots_calibration:main",
            "webots_world = ur5e_nik_bringup.webots_world:main",
        ]
    },
)
