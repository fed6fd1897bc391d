from glob import glob

from setuptools import find_packages, setup

package_name = "ur5e_nik_ik"

setup(
    name=package_name,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package_name: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
        (f"share/{package_name}", ["package.xml"]),
        (f"share/{package_name}/config", glob("config/*.yaml")),
        (f"share/{package_name}/models", glob("models/*.npz") + glob("models/*.json")),
    ],
    install_requires=["setuptools", "numpy", "numba", "PyYAML"],
    extras_require={"test": ["pytest", "hypothesis"]},
    zip_safe=False,
    maintainer="ur5e_nik maintainers",
    maintainer_email="maintainers@ur5e-nik.org",
    description="Verified inverse kinematics of the UR5e.",
    license="MIT",
    entry_points={"console_scripts": ["ik_node = ur5e_nik_ik.ik_node:main", "solve = ur5e_nik_ik.solve:main"]},
)
