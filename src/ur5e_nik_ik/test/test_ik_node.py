"""The node over its real service."""

import math

import ik_process
import numpy as np
import pytest
from poses import random_joints, tool_down, tool_down_poses
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.joints import JOINT_LIMITS, JOINT_NAMES, REST_POSTURE
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_msgs.srv import SolveIK

CODE = SolveIK.Response
DOWN = (1.0, 0.0, 0.0, 0.0)
GOOD = tool_down(0.4, 0.0, 0.1)


@pytest.fixture(scope="module")
def client():
    process = ik_process.start()
    ik_process.lines_until_ready(process)
    client = ik_process.Client()
    client.wait()
    yield client
    client.close()
    assert ik_process.stop(process) == 0
    assert "Traceback" not in process.stdout.read()


def joints_of(answer):
    assert answer.error_code == CODE.SUCCESS, answer.message
    assert answer.message == ""
    assert list(answer.solution.name) == list(JOINT_NAMES)
    joints = np.array(answer.solution.position)
    assert (np.abs(joints) <= JOINT_LIMITS).all()
    return joints


def assert_meets(answer, target):
    error = np.abs(pose_error(fk(joints_of(answer), UR5E), target))
    assert error.max() <= 1e-6
    assert answer.position_error <= 1e-6
    assert answer.orientation_error <= 1e-6
    assert 0.0 < answer.solve_time < 1.0


def assert_refused(answer, code, words):
    assert answer.error_code == code
    assert words in answer.message
    assert not len(answer.solution.name)
    assert not len(answer.solution.position)
    assert not len(answer.alternatives)
    assert answer.solver == ""


def assert_still_answers(client):
    assert_meets(client.solve(GOOD), GOOD)


def test_a_tool_down_target_with_all_its_alternatives(client):
    answer = client.solve(GOOD)
    assert_meets(answer, GOOD)
    assert answer.solver == "network"
    assert len(answer.alternatives) == 7
    for other in answer.alternatives:
        assert list(other.name) == list(JOINT_NAMES)
        assert np.abs(pose_error(fk(np.array(other.position), UR5E), GOOD)).max() <= 1e-6


def test_1000_random_poses_are_all_solved_by_the_closed_form(client):
    for q in random_joints(1000, 91):
        target = fk(q, UR5E)
        answer = client.solve(target, q, "closed_form")
        assert_meets(answer, target)
        assert answer.solver == "closed_form"
        assert np.abs(joints_of(answer) - q).max() < 1e-6


@pytest.mark.parametrize("q", [(0.17462, 0.18904, 0.17868, 0.00054, 1.7453, 0.00004)])
def test_poses_with_four_branches(client, q):
    answer = client.solve(fk(np.array(q), UR5E), solver="closed_form")
    assert len(answer.alternatives) == 3


def test_share_of_the_network_on_tool_down_targets(client):
    answers = [client.solve(target) for target in tool_down_poses(300, 92)]
    assert all(answer.error_code == CODE.SUCCESS for answer in answers)
    assert sum(answer.solver == "network" for answer in answers) >= 295


@pytest.mark.parametrize(
    "target",
    [
        tool_down(-0.4, 0.0, 0.1),
        tool_down(0.4, 0.0, 0.6),
        fk(np.deg2rad([0.0, -90.0, 90.0, -60.0, -90.0, 0.0]), UR5E),
    ],
    ids=["behind", "above", "tilted"],
)
def test_outside_the_usual_place(client, target):
    assert_meets(client.solve(target), target)


@pytest.mark.parametrize("radius", [0.93, 0.95, 1.2, 10.0])
def test_out_of_reach(client, radius):
    assert_refused(client.solve(tool_down(radius, 0.0, 0.05)), CODE.NO_IK_SOLUTION, "unreachable")
    assert_still_answers(client)


def test_just_within_reach(client):
    target = tool_down(0.92, 0.0, 0.05)
    assert_meets(client.solve(target), target)


def test_millimetres_are_refused_with_a_hint(client):
    answer = client.solve(tool_down(491.9, 133.3, 487.9))
    assert_refused(answer, CODE.NO_IK_SOLUTION, "millimetres")


def test_frames(client):
    q = np.array([0.849, 0.373, -0.662, 0.782, 1.257, -1.053])
    target = fk(q, UR5E)
    assert target[:3, 3] == pytest.approx([0.41073, 0.71488, -0.01326], abs=1e-5)
    assert np.abs(joints_of(client.solve(target, q)) - q).max() < 1e-6
    in_base = np.diag([-1.0, -1.0, 1.0, 1.0]) @ target
    assert np.abs(joints_of(client.solve(in_base, q, frame="base")) - q).max() < 1e-6
    for frame in ("", "world", "base_links", "/base_link"):
        assert_refused(client.solve(target, frame=frame), CODE.FRAME_TRANSFORM_FAILURE, "base_link or base")
    assert_still_answers(client)


@pytest.mark.parametrize(
    ("change", "quaternion", "words"),
    [
        ((0, math.nan), None, "position.x is nan"),
        ((2, math.inf), None, "position.z is inf"),
        (None, (0.0, 0.0, 0.0, 0.0), "quaternion is zero"),
        (None, (math.nan, 0.0, 0.0, 1.0), "orientation.x is nan"),
    ],
)
def test_bad_numbers_in_the_target(client, change, quaternion, words):
    target = GOOD.copy()
    if change:
        target[change[0], 3] = change[1]
    assert_refused(client.solve(target, quaternion=quaternion), CODE.INVALID_GOAL_CONSTRAINTS, words)
    assert_still_answers(client)


def test_norm_and_sign_of_the_quaternion_do_not_matter(client):
    expected = joints_of(client.solve(GOOD, quaternion=DOWN))
    for factor in (0.99993, 2.0, -1.0):
        answer = client.solve(GOOD, quaternion=factor * np.array(DOWN))
        assert_meets(answer, GOOD)
        assert np.abs(joints_of(answer) - expected).max() < 1e-12


def test_seeds_by_name_in_any_order_with_joints_of_others(client):
    q = np.array([-2.0, -1.9, -1.4, 0.5, -1.2, 2.2])
    target = fk(q, UR5E)
    names = [*sorted(JOINT_NAMES), "robotiq_85_left_knuckle_joint"]
    position = [*(q[JOINT_NAMES.index(name)] for name in sorted(JOINT_NAMES)), math.nan]
    answer = client.solve(target, JointState(name=names, position=position))
    assert np.abs(joints_of(answer) - q).max() < 1e-6


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (np.rad2deg(REST_POSTURE), "not degrees"),
        (np.append(REST_POSTURE[:5], math.nan), "wrist_3_joint is nan"),
        (JointState(name=list(JOINT_NAMES[1:]), position=[0.0] * 5), "lacks shoulder_pan_joint"),
        (JointState(name=list(JOINT_NAMES), position=[0.0]), "6 names and 1 positions"),
    ],
    ids=["degrees", "nan", "missing", "lengths"],
)
def test_bad_seeds(client, seed, words):
    assert_refused(client.solve(GOOD, seed), CODE.INVALID_ROBOT_STATE, words)
    assert_still_answers(client)


def test_unknown_solvers(client):
    assert_refused(client.solve(GOOD, solver="trac_ik"), CODE.INVALID_SOLVER, "auto, network, closed_form")
    assert_still_answers(client)


@pytest.mark.parametrize("q5", [0.0, 1e-7, 1e-5, 1e-4, math.pi])
def test_singular_wrist(client, q5):
    q = np.array([0.3, -1.2, 1.4, -0.9, q5, 0.4])
    target = fk(q, UR5E)
    for seed in (q, None):
        answer = client.solve(target, seed)
        assert_meets(answer, target)
    assert joints_of(client.solve(target, q)) == pytest.approx(q, abs=2e-6)


def test_no_false_success_and_no_missed_pose(client):
    """Poses around the edge of reach: success exactly where a branch exists, and then true."""
    rng = np.random.default_rng(93)
    target = fk(random_joints(1000, 94), UR5E)
    target[:, :3, 3] *= rng.uniform(0.5, 2.0, (1000, 1))
    exists = closed_form(target, UR5E)[1].any(axis=1)
    for pose, reachable in zip(target, exists, strict=True):
        answer = client.solve(pose)
        assert (answer.error_code == CODE.SUCCESS) == reachable
        if reachable:
            assert_meets(answer, pose)


def test_four_clients_at_once(client):
    others = [ik_process.Client() for _ in range(3)]
    try:
        for other in others:
            other.wait()
        for _ in range(100):
            everyone = (client, *others)
            pending = [one.service.call_async(ik_process.request(GOOD)) for one in everyone]
            for one, future in zip(everyone, pending, strict=True):
                assert_meets(one.wait_for(future), GOOD)
    finally:
        for other in others:
            other.close()


def test_parameters_at_run_time(client):
    service = client.node.create_client(SetParameters, "ik/set_parameters")
    assert service.wait_for_service(10.0)

    def change(name, value):
        parameters = [Parameter(name, value=value).to_parameter_msg()]
        (result,) = client.send(service, SetParameters.Request(parameters=parameters)).results
        return result

    for name, value in [
        ("position_tolerance", math.nan),
        ("position_tolerance", 1.0),
        ("position_tolerance", -1e-6),
        ("orientation_tolerance", 0.0),
        ("orientation_tolerance", "small"),
        ("lowest_height", math.nan),
        ("lowest_height", 5.0),
        ("prefer_elbow", "sideways"),
        ("rest_posture", [0.0, 1.0]),
        ("rest_posture", [0.0, -90.0, 90.0, -90.0, -90.0, 0.0]),
        ("upper_limits", [9.0] * 6),
        ("upper_limits", [math.nan] * 6),
        ("dh", "ur5e_webots"),
        ("networks", ["other.npz"]),
    ]:
        result = change(name, value)
        assert not result.successful, name
        assert result.reason
        assert "Traceback" not in result.reason
    assert_still_answers(client)

    assert change("lowest_height", 0.15).successful
    assert_refused(client.solve(GOOD), CODE.NO_IK_SOLUTION, "below 0.15 m")
    assert change("lowest_height", -10.0).successful
    assert_still_answers(client)

    assert change("prefer_shoulder", "back").successful
    assert abs(joints_of(client.solve(GOOD))[0]) > math.pi / 2
    assert change("prefer_shoulder", "any").successful
    assert abs(joints_of(client.solve(GOOD))[0]) < math.pi / 2

    assert change("upper_limits", [*JOINT_LIMITS[:5], -JOINT_LIMITS[5]]).successful
    assert_refused(client.solve(GOOD), CODE.NO_IK_SOLUTION, "wrist_3_joint")
    assert change("upper_limits", JOINT_LIMITS.tolist()).successful
    assert_still_answers(client)
