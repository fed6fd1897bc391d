"""The system on ur_robot_driver: its names, its limits, and a motion on mock hardware where there is one."""

import ast
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory

from ur5e_nik_bringup.hardware_system import CONTROLLERS, FULL_SPEED, confirmation, describe, speed_limits
from ur5e_nik_bringup.settings import Settings

SHARE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("fraction", [0.01, 0.25, 1.0])
def test_speed_is_a_share_of_the_arms(fraction):
    limits = speed_limits(fraction)
    assert limits["joint_velocity"] == pytest.approx(fraction * FULL_SPEED)
    assert Settings(**limits).problem() == ""
    assert all(value == pytest.approx(fraction * speed_limits(1.0)[name]) for name, value in limits.items())


def test_a_quarter_of_the_speed_is_the_default():
    tree = ast.parse((SHARE / "launch" / "hardware.launch.py").read_text())
    (arguments,) = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "ARGUMENTS"
    ]
    defaults = {key.value: value.elts[0] for key, value in zip(arguments.keys, arguments.values, strict=True)}
    assert defaults["speed"].value == "0.25"
    assert defaults["use_mock_hardware"].value == "false"


def test_overrides_are_settings_of_the_task():
    content = yaml.safe_load((SHARE / "config" / "hardware_task.yaml").read_text())
    overrides = content["/**/task"]["ros__parameters"]
    assert set(overrides) <= {item.name for item in fields(Settings)}
    assert Settings(**overrides).problem() == ""


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_names_are_the_drivers(controller):
    specs = {spec.name: spec for spec in describe(controller, "ur5e", 0.25, "auto", "")}
    assert specs["task"].parameters["trajectory_action"] == f"{controller}/follow_joint_trajectory"
    assert "vision" not in specs
    assert controller in confirmation(controller)
    for spec in specs.values():
        assert Path(get_package_prefix(spec.package), "lib", spec.package, spec.executable).is_file()
        assert all(Path(file).is_file() for file in spec.parameter_files)
        assert "use_sim_time" not in spec.parameters  # a real arm keeps the wall's time
    task = {**speed_limits(0.25), "trajectory_action": specs["task"].parameters["trajectory_action"]}
    assert Settings(**task).problem() == ""


def test_vision_needs_a_calibration_of_the_real_camera():
    specs = {spec.name: spec for spec in describe(CONTROLLERS[0], "ur5e", 0.25, "auto", "/my/camera.yaml")}
    assert specs["vision"].parameters["calibration_file"] == "/my/camera.yaml"


def test_the_arm_cannot_move_before_a_person_says_so():
    text = (SHARE / "launch" / "hardware.launch.py").read_text()
    assert '"activate_joint_controller": "false"' in text


def mock_hardware():
    """Why no mock arm can be run here, or an empty text."""
    if importlib.util.find_spec("launch_ros") is None or not shutil.which("ros2"):
        return "launch is not installed: it comes with ROS 2 from apt, not from pip"
    try:
        get_package_share_directory("ur_robot_driver")
    except PackageNotFoundError:
        return "the ROS package ur_robot_driver is not installed: sudo apt install ros-jazzy-ur"
    return ""


@pytest.mark.skipif(bool(mock_hardware()), reason=mock_hardware())
def test_the_mock_arm_is_still_until_it_is_confirmed(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(100 + os.getpid() % 100))
    with open(tmp_path / "launch.log", "w") as log:
        process = subprocess.Popen(
            ["ros2", "launch", "ur5e_nik_bringup", "hardware.launch.py", "use_mock_hardware:=true"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        states = ""
        while "inactive" not in states:
            assert process.poll() is None, (tmp_path / "launch.log").read_text()[-3000:]
            assert time.monotonic() < deadline, (tmp_path / "launch.log").read_text()[-3000:]
            states = subprocess.run(
                ["ros2", "control", "list_controllers"], capture_output=True, text=True, timeout=60
            ).stdout
            states = "\n".join(line for line in states.splitlines() if CONTROLLERS[0] in line)
        switched = subprocess.run(confirmation(CONTROLLERS[0]).split(), capture_output=True, text=True, timeout=60)
        assert switched.returncode == 0, switched.stderr
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
