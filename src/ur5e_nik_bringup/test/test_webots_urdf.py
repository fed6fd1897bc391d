"""The robot description of Webots against the DH parameters, the scene and the gripper's geometry."""

import math

import numpy as np
import pytest
import yaml
from robot_description import FOLDER, expanded, pose

from ur5e_nik_bringup.scene_file import load_scene
from ur5e_nik_bringup.webots_calibration import calibration
from ur5e_nik_bringup.webots_world import GRIPPER_MOUNT

ARM = [
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
]
# Webots' UR5e.proto: d and a of its standard DH parameters [m].
D = (0.163, 0.0, 0.0, 0.134, 0.100, 0.100)
A = (0.0, -0.425, -0.392, 0.0, 0.0, 0.0)
ALPHA = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)


@pytest.fixture(scope="module")
def robot():
    return expanded()


@pytest.fixture(scope="module")
def task():
    return yaml.safe_load((FOLDER.parent / "config" / "webots_task.yaml").read_text())["/**/task"]["ros__parameters"]


def dh_pose(joints):
    total = np.diag([-1.0, -1.0, 1.0, 1.0])  # base_link is the DH base turned by pi about z
    for q, d, a, alpha in zip(joints, D, A, ALPHA, strict=True):
        cq, sq, ca, sa = math.cos(q), math.sin(q), math.cos(alpha), math.sin(alpha)
        total = total @ [
            [cq, -sq * ca, sq * sa, a * cq],
            [sq, cq * ca, -cq * sa, a * sq],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    return total


def test_tool0_is_that_of_the_dh_parameters(robot):
    random = np.random.default_rng(0)
    worst = 0.0
    for joints in random.uniform(-2 * math.pi, 2 * math.pi, (200, 6)):
        difference = pose(robot, "tool0", dict(zip(ARM, joints, strict=True))) - dh_pose(joints)
        worst = max(worst, np.abs(difference).max())
    assert worst < 1e-6


def test_base_and_flange_stand_as_on_a_real_arm(robot):
    assert pose(robot, "base", {})[:3, :3] == pytest.approx(np.diag([-1.0, -1.0, 1.0]), abs=1e-12)
    assert pose(robot, "base_link", {}, base="world") == pytest.approx(np.eye(4))
    flange, tool0 = pose(robot, "flange", {}), pose(robot, "tool0", {})
    assert flange[:3, 3] == pytest.approx(tool0[:3, 3])
    assert flange[:3, 0] == pytest.approx(tool0[:3, 2], abs=1e-12)  # the flange's x is the tool's z


def test_one_tree_of_links(robot):
    links = [link.get("name") for link in robot.findall("link")]
    children = [joint.find("child").get("link") for joint in robot.findall("joint")]
    assert len(set(links)) == len(links)
    assert sorted([*children, "world"]) == sorted(links)


def test_limits_are_those_of_the_arm(robot):
    limits = {j.get("name"): j.find("limit") for j in robot.findall("joint") if j.get("name") in ARM}
    for name, limit in limits.items():
        reach = math.pi if name == "elbow_joint" else 2 * math.pi
        assert float(limit.get("upper")) == pytest.approx(reach)
        assert float(limit.get("lower")) == pytest.approx(-reach)


def test_the_cameras_frame_is_that_of_its_calibration(robot):
    found, wanted = pose(robot, "overhead_camera", {}), calibration(load_scene())
    assert found[:3, 3] == pytest.approx(wanted["camera_position"])
    assert found[:3, :3] == pytest.approx(np.array(wanted["camera_rotation"]), abs=1e-12)


@pytest.mark.parametrize("name", ["pick", "place"])
def test_the_trays_frames_are_their_centres(robot, name):
    assert pose(robot, f"{name}_tray", {})[:3, 3] == pytest.approx([*load_scene()["trays"][name]["center"], 0.0])


def test_the_palm_is_mounted_as_in_the_world(robot):
    palm = pose(robot, "palm", {}, base="tool0")
    assert palm[:3, 3] == pytest.approx([0, 0, GRIPPER_MOUNT])
    # The slot's y is the tool's axis and its x is tool0's.
    assert palm[:3, 1] == pytest.approx([0, 0, 1], abs=1e-12)
    assert palm[:3, 0] == pytest.approx([1, 0, 0], abs=1e-12)


# The last two links of a finger of Robotiq3fGripper.proto, at rest: where each begins in the one before, how it is
# turned there, and the box that stands for it in collisions.
LINK_2 = ((0.05, -0.028, 0.0), -0.52)
LINK_3 = ((0.039, 0.0, 0.0), 0.0)
TIP = ((0.018, 0.00913, 0.0), 0.52026, (0.035, 0.018, 0.032))


def placed(origin, angle):
    matrix = np.eye(4)
    c, s = math.cos(angle), math.sin(angle)
    matrix[:2, :2] = [[c, -s], [s, c]]
    matrix[:3, 3] = origin
    return matrix


def tip(robot, finger, joints):
    """Corners (8, 3) of a fingertip's box in tool0."""
    link = pose(robot, f"finger_{finger}_link_1", joints, base="tool0")
    box = link @ placed(*LINK_2) @ placed(*LINK_3) @ placed(*TIP[:2])
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * TIP[2] / 2 @ box[:3, :3].T + box[:3, 3]


def turned(task, position):
    return {
        **dict.fromkeys(task["gripper_joints"], position),
        "palm_finger_1_joint": -0.09,
        "palm_finger_2_joint": 0.09,
    }


def gap(robot, task, position):
    """Between the middle fingertip and the two others, along the tool's x axis [m]."""
    joints = turned(task, position)
    return tip(robot, "middle", joints)[:, 0].min() - max(tip(robot, name, joints)[:, 0].max() for name in "12")


def test_the_fingers_open_and_close_around_a_cube(robot, task):
    edge = load_scene()["cubes"]["edge"]
    assert gap(robot, task, task["gripper_open"]) > edge * math.sqrt(2)  # however it is turned
    press = edge - gap(robot, task, task["gripper_closed"])
    assert 0.002 < press < 0.008  # they press, but would not cross it


def test_the_open_fingers_stay_clear_of_the_next_cube(robot, task):
    scene = load_scene()
    reach = scene["random_cubes"]["min_distance"] - scene["cubes"]["edge"] / math.sqrt(2)
    joints = turned(task, task["gripper_open"])
    assert max(np.abs(tip(robot, name, joints)[:, 0]).max() for name in ("1", "2", "middle")) < reach


def test_the_tips_meet_the_cube_at_the_tcp_and_not_the_table(robot, task):
    edge = load_scene()["cubes"]["edge"]
    touch = np.linspace(task["gripper_open"], task["gripper_closed"], 400)
    touch = touch[np.argmin([abs(gap(robot, task, position) - edge) for position in touch])]
    for name in ("1", "2", "middle"):
        corners = tip(robot, name, turned(task, touch))
        inner = corners[np.argsort(np.abs(corners[:, 0]))[:2]]
        assert inner[:, 2].mean() == pytest.approx(task["tcp_offset"], abs=0.002)
    lowest = max(
        tip(robot, name, turned(task, position))[:, 2].max()
        for name in ("1", "2", "middle")
        for position in np.linspace(task["gripper_open"], task["gripper_closed"], 20)
    )
    assert lowest < task["tcp_offset"] + edge / 2 - 0.005


def test_the_two_fingers_meet_the_cubes_face_and_not_each_other(robot, task):
    edge = load_scene()["cubes"]["edge"]
    joints = turned(task, task["gripper_closed"])
    one, two = (tip(robot, name, joints)[:, 1] for name in ("1", "2"))
    outer, inner = (one, two) if one.mean() > two.mean() else (two, one)
    assert outer.min() > inner.max()
    assert edge / 2 - outer.min() > 0.01  # the width that lies on the face
    assert inner.max() + edge / 2 > 0.01


def test_motors_start_at_the_look_posture_with_the_fingers_open_and_turned(robot, task):
    initial = {
        joint.get("name"): float(joint.find("state_interface/param[@name='initial_value']").text)
        for joint in robot.findall("ros2_control/joint")
    }
    posture = np.radians(load_scene()["arm"]["start_posture"])
    assert [initial[name] for name in ARM] == pytest.approx(posture)
    expected = turned(task, task["gripper_open"])
    assert {name: value for name, value in initial.items() if name not in ARM} == pytest.approx(expected)


def test_every_initial_value_and_gripper_position_is_inside_its_limits(robot, task):
    limits = {joint.get("name"): joint.find("limit") for joint in robot.findall("joint")}
    for joint in robot.findall("ros2_control/joint"):
        value = float(joint.find("state_interface/param[@name='initial_value']").text)
        limit = limits[joint.get("name")]
        assert float(limit.get("lower")) <= value <= float(limit.get("upper")), joint.get("name")
    for name in task["gripper_joints"]:
        for position in (task["gripper_open"], task["gripper_closed"]):
            assert float(limits[name].get("lower")) <= position <= float(limits[name].get("upper"))


def test_the_waiting_arm_hides_no_tray_from_the_camera(robot):
    """The gripper, as a ball around its fingers and palm, seen from the camera at the look posture."""
    scene = load_scene()
    joints = dict(zip(ARM, np.radians(scene["arm"]["start_posture"]), strict=True))
    tool = pose(robot, "tool0", joints)
    camera = np.array(scene["overhead_camera"]["position"])
    reach = 0.125  # of palm and open fingers from the tool's axis [m]
    for along in np.linspace(0.0, 0.22, 12):
        point = tool[:3, 3] + along * tool[:3, 2]
        shadow = camera[:2] + (point[:2] - camera[:2]) * camera[2] / (camera[2] - point[2])
        grown = reach * camera[2] / (camera[2] - point[2])
        for tray in scene["trays"].values():
            nearest = np.clip(
                shadow,
                np.subtract(tray["center"], np.divide(tray["size"], 2)),
                np.add(tray["center"], np.divide(tray["size"], 2)),
            )
            assert np.linalg.norm(shadow - nearest) > grown, along


def test_the_first_motion_touches_no_tray(robot):
    """From all joints at zero to the look posture, each motor at its own pace, as the driver starts it."""
    scene = load_scene()
    goal, joints = np.radians(scene["arm"]["start_posture"]), np.zeros(6)
    fastest = np.array([3.14] * 3 + [6.28] * 3)  # of UR5e.proto [rad/s]
    # Around palm and open fingers, in tool0.
    hull = np.array([[x, y, z] for x in (-0.1, 0, 0.1) for y in (-0.065, 0.065) for z in np.linspace(0.0, 0.21, 8)])
    edge = max(tray["center"][0] + tray["size"][0] / 2 + tray["rim_width"] for tray in scene["trays"].values())
    for _ in range(200):
        tool = pose(robot, "tool0", dict(zip(ARM, joints, strict=True)))
        points = hull @ tool[:3, :3].T + tool[:3, 3]
        low = points[points[:, 2] < scene["cubes"]["edge"] + 0.005]
        assert np.all(low[:, 0] > edge)
        joints = joints + 0.008 * np.clip(10 * (goal - joints), -fastest, fastest)
    assert joints == pytest.approx(goal, abs=0.01)
