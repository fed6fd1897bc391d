"""The import direction is the architecture: who may import whom, read from the sources."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2]
OURS = ("ur5e_nik_msgs", "ur5e_nik_ik", "ur5e_nik_vision", "ur5e_nik_mujoco", "ur5e_nik_bringup")
ROS = ("rclpy", "sensor_msgs", "geometry_msgs", "control_msgs", "trajectory_msgs", "rosgraph_msgs", "diagnostic_msgs")
# Only these files may touch ROS; all else is pure.
ROS_FILES = {"parameters", "messages"} | {
    *("ik_node", "ik_service", "client"),
    *("vision_node", "calibrate", "tune", "image_conversion", "newest_image"),
    *("sim_node", "cell_node"),
    *(
        "task_node",
        "view_node",
        "commander",
        "cell_client",
        "observer",
        "bag",
        "probe",
        "fake_cell",
        "task_process",
        "crew",
    ),
}


def imports(path):
    """Top-level names and full names that a file imports, with those of its functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def sources(package):
    found = sorted((SRC / package / package).rglob("*.py"))
    assert found, f"no sources of {package} in {SRC}"
    return found


@pytest.mark.parametrize("package", OURS[1:])
def test_packages_know_only_themselves_and_the_interfaces(package):
    for path in sources(package):
        for name in imports(path):
            top = name.split(".")[0]
            assert top not in OURS or top in (package, "ur5e_nik_msgs"), f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("library", "package"), [("torch", "ur5e_nik_ik"), ("cv2", "ur5e_nik_vision"), ("mujoco", "ur5e_nik_mujoco")]
)
def test_a_heavy_library_stands_in_one_package(library, package):
    users = {p for p in OURS[1:] for path in sources(p) for name in imports(path) if name.split(".")[0] == library}
    assert users == {package}


def test_torch_is_imported_only_where_a_network_is_trained_or_compared():
    for path in sources("ur5e_nik_ik"):
        if any(name.split(".")[0] == "torch" for name in imports(path)):
            assert path.name == "torch_kinematics.py" or path.parent.name in ("training", "benchmark"), path


@pytest.mark.parametrize("package", OURS[1:])
def test_maths_never_imports_ros(package):
    for path in sources(package):
        if path.stem not in ROS_FILES:
            used = {name.split(".")[0] for name in imports(path)} & {*ROS, "ur5e_nik_msgs"}
            assert not used, f"{path.name} imports {', '.join(sorted(used))}"
