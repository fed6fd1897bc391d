"""Every device, joint, topic, frame and file that one side of the Webots system names, looked up on the other."""

import ast
import xml.etree.ElementTree as ElementTree
from dataclasses import fields
from pathlib import Path

import pytest
import vrml
import yaml
from robot_description import FOLDER, expanded

from ur5e_nik_bringup import webots_system as system
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.system import describe, parse_arguments
from ur5e_nik_bringup.webots_world import ARM, CAMERA_DEVICE, OVERHEAD_CAMERA

SHARE = FOLDER.parent
SOURCES = SHARE.parent
# The motors of UR5e.proto and Robotiq3fGripper.proto; the driver finds a joint by its motor's name.
MOTORS = {
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
    "palm_finger_1_joint",
    "palm_finger_2_joint",
    *(f"finger_{finger}_joint_{joint}" for finger in ("1", "2", "middle") for joint in (1, 2, 3)),
}
INTERFACES = {"position", "velocity", "acceleration"}  # what the hardware plugin offers; no effort


@pytest.fixture(scope="module")
def robot():
    return expanded()


@pytest.fixture(scope="module")
def nodes():
    return vrml.parse((SHARE / "worlds" / "pick_place.wbt").read_text())[1]


@pytest.fixture(scope="module")
def controllers():
    return yaml.safe_load((SHARE / "config" / "webots_controllers.yaml").read_text())


@pytest.fixture(scope="module")
def overrides():
    return yaml.safe_load((SHARE / "config" / "webots_task.yaml").read_text())["/**/task"]["ros__parameters"]


@pytest.fixture(scope="module")
def settings(overrides):
    common = yaml.safe_load((SHARE / "config" / "task.yaml").read_text())["/**/task"]["ros__parameters"]
    return Settings(**{**common, **overrides})


@pytest.fixture(scope="module")
def camera():
    return ElementTree.parse(FOLDER / "webots_overhead_camera.urdf").getroot().find("webots/device")


def driven(robot):
    return [j.get("name") for j in robot.findall("ros2_control/joint") if j.find("command_interface") is not None]


def launched(name):
    """The texts in a launch file of the suite."""
    tree = ast.parse((SHARE / "launch" / name).read_text())
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def sources(*folders):
    return "\n".join(path.read_text() for folder in folders for path in (SOURCES / folder).rglob("*.py"))


# Devices and joints


def test_robots_with_a_driver_of_their_own_wait_for_it(nodes):
    extern = {node["name"] for node in nodes if node.fields.get("controller") == "<extern>"}
    assert extern == {ARM, OVERHEAD_CAMERA}


def test_every_joint_that_ros2_control_has_is_a_motor_and_a_joint_of_the_description(robot):
    joints = [joint.get("name") for joint in robot.findall("ros2_control/joint")]
    assert len(set(joints)) == len(joints)
    assert set(joints) <= MOTORS
    assert set(joints) <= {joint.get("name") for joint in robot.findall("joint")}


def test_every_moving_joint_of_the_description_is_reported(robot):
    moving = {joint.get("name") for joint in robot.findall("joint") if joint.get("type") != "fixed"}
    assert moving == {joint.get("name") for joint in robot.findall("ros2_control/joint")}


def test_interfaces_are_those_that_the_hardware_has(robot, controllers):
    named = {item.get("name") for item in robot.findall("ros2_control/joint/*")}
    parameters = controllers["ur5e/ur_joint_trajectory_controller"]["ros__parameters"]
    assert named | set(parameters["command_interfaces"]) | set(parameters["state_interfaces"]) == {"position"}
    assert named <= INTERFACES


def test_every_driven_joint_has_a_controller_and_the_other_way_round(robot, controllers):
    assert controllers["ur5e/ur_joint_trajectory_controller"]["ros__parameters"]["joints"] == driven(robot)


def test_the_task_moves_joints_that_the_controller_has(settings, controllers):
    parameters = controllers["ur5e/ur_joint_trajectory_controller"]["ros__parameters"]
    assert settings.arm_joints + settings.gripper_joints == parameters["joints"]
    assert parameters["allow_partial_joints_goal"] is True


def test_plugins_are_those_of_webots_ros2_control(robot):
    assert [plugin.get("type") for plugin in robot.findall("webots/plugin")] == ["webots_ros2_control::Ros2Control"]
    hardware = [plugin.text for plugin in robot.findall("ros2_control/hardware/plugin")]
    assert hardware == ["webots_ros2_control::Ros2ControlSystem"]


def test_the_cameras_device_is_in_the_world(nodes, camera):
    (robot,) = [node for node in nodes if node.fields.get("name") == OVERHEAD_CAMERA]
    assert [device["name"] for device in robot["children"]] == [CAMERA_DEVICE] == [camera.get("reference")]
    assert camera.get("type") == "Camera"


def test_no_property_of_a_device_is_empty(camera):
    # The driver would crash on one.
    assert all(item.text and item.text.strip() for item in camera.find("ros"))


# Topics, actions and frames


def test_the_driver_publishes_what_vision_reads(camera):
    topic = camera.find("ros/topicName").text
    vision = sources("ur5e_nik_vision/ur5e_nik_vision")
    for suffix in ("image_color", "camera_info"):
        assert f'"{topic}/{suffix}"' in vision


def test_the_controller_serves_the_action_that_the_task_calls(settings, controllers):
    manager = controllers[f"{system.NAMESPACE}/controller_manager"]["ros__parameters"]
    assert f"/{system.NAMESPACE}/controller_manager" == system.CONTROLLER_MANAGER
    assert set(system.CONTROLLERS) == set(manager) - {"update_rate"}
    namespace, controller, action = settings.trajectory_action.split("/")
    assert (namespace, action) == (system.NAMESPACE, "follow_joint_trajectory")
    assert manager[controller]["type"] == "joint_trajectory_controller/JointTrajectoryController"
    assert f"{namespace}/{controller}" in controllers


def test_the_broadcaster_publishes_the_states_that_the_task_reads(settings, controllers):
    types = [value["type"] for value in list(controllers.values())[0]["ros__parameters"].values() if value != 125]
    assert "joint_state_broadcaster/JointStateBroadcaster" in types
    assert settings.joint_states_topic == f"{system.NAMESPACE}/joint_states"


def test_the_pictures_frame_is_a_frame_of_the_description(robot, camera):
    links = {link.get("name") for link in robot.findall("link")}
    assert camera.find("ros/frameName").text in links
    assert {"world", "base_link", "base", "flange", "tool0", "pick_tray", "place_tray"} <= links


def test_poses_are_in_a_frame_of_the_description(robot, settings):
    calibration = yaml.safe_load((SHARE / "config" / "webots_camera.yaml").read_text())
    links = {link.get("name") for link in robot.findall("link")}
    assert {settings.base_frame, calibration["frame_id"]} <= links


# Parameters and files


def test_overrides_are_settings_of_the_task_and_in_range(overrides, settings):
    assert set(overrides) <= {item.name for item in fields(Settings)}
    assert settings.problem() == ""
    # Whatever is the same in both files has no place here.
    assert all(value != getattr(Settings(), name) for name, value in overrides.items())


def test_a_cube_between_the_fingers_is_told_from_none(settings):
    # Tried in ODE with the fingers' boxes: three motors on a cube end at 0.946 of the way, without one at 1.
    assert settings.held_from < 0.946 < settings.held_to < 1.0 - 1e-3


def test_ik_gets_the_arm_that_the_description_shows():
    specs = {spec.name: spec for spec in describe({**parse_arguments({}), "simulator": "webots"})}
    assert specs["ik"].parameters["dh"] == "ur5e_webots"
    assert 'dh="ur5e_webots"' in (FOLDER / "webots.urdf.xacro").read_text()
    assert '"ur5e_webots"' in sources("ur5e_nik_ik/ur5e_nik_ik")
    assert "sim" not in specs


def test_every_file_exists():
    for spec in describe({**parse_arguments({}), "simulator": "webots"}):
        files = [*spec.parameter_files, *(v for k, v in spec.parameters.items() if k.endswith("_file"))]
        assert all(Path(file).is_file() for file in files), files
    texts = launched("webots.launch.py")
    for folder, name in (
        ("urdf", "webots.urdf.xacro"),
        ("urdf", "webots_overhead_camera.urdf"),
        ("config", "webots_controllers.yaml"),
    ):
        assert {folder, name} <= texts
        assert (SHARE / folder / name).is_file()


def test_every_package_that_is_started_is_a_dependency():
    package = ElementTree.parse(SHARE / "package.xml").getroot()
    dependencies = {item.text for kind in ("depend", "exec_depend") for item in package.findall(kind)}
    assert set(system.ROS_PACKAGES) <= dependencies
    assert {"launch", "launch_ros"} <= dependencies
