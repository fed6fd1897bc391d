"""The interfaces as other packages meet them: importable, with the codes and fields they rely on."""

import pytest
from control_msgs.action import FollowJointTrajectory

from ur5e_nik_msgs.action import PickPlace
from ur5e_nik_msgs.msg import CubeResult, CubeState
from ur5e_nik_msgs.srv import GetGroundTruth, ResetScene, SolveIK

# moveit_msgs/MoveItErrorCodes
MOVEIT = {
    "SUCCESS": 1,
    "FAILURE": 99999,
    "INVALID_MOTION_PLAN": -2,
    "CONTROL_FAILED": -4,
    "TIMED_OUT": -6,
    "PREEMPTED": -7,
    "INVALID_GOAL_CONSTRAINTS": -16,
    "INVALID_ROBOT_STATE": -17,
    "FRAME_TRANSFORM_FAILURE": -21,
    "ROBOT_STATE_STALE": -23,
    "SENSOR_INFO_STALE": -24,
    "NO_IK_SOLUTION": -31,
}


def codes(message_class):
    return {name: getattr(message_class, name) for name in dir(message_class) if name.isupper()}


@pytest.mark.parametrize("message_class", [SolveIK.Response, PickPlace.Result])
def test_error_codes_are_distinct_and_moveit_s_where_those_exist(message_class):
    found = {name: value for name, value in codes(message_class).items() if isinstance(value, int)}
    assert len(found) >= 7
    assert len(set(found.values())) == len(found)
    for name, value in found.items():
        assert value == MOVEIT.get(name, value), name
        assert name in MOVEIT or value <= -100, name


def test_a_failed_answer_is_what_an_empty_answer_says():
    assert SolveIK.Response().error_code != SolveIK.Response.SUCCESS
    assert PickPlace.Result().error_code != PickPlace.Result.SUCCESS
    assert not ResetScene.Response().success


def test_interfaces_nest():
    assert PickPlace.Result(cubes=[CubeResult(attempts=2)]).cubes[0].attempts == 2
    assert GetGroundTruth.Response(cubes=[CubeState(name="cube_0")]).cubes[0].name == "cube_0"


def test_control_msgs_has_the_controllers_own_codes():
    result = FollowJointTrajectory.Result
    assert (result.SUCCESSFUL, result.INVALID_GOAL, result.INVALID_JOINTS) == (0, -1, -2)
    assert (result.OLD_HEADER_TIMESTAMP, result.PATH_TOLERANCE_VIOLATED, result.GOAL_TOLERANCE_VIOLATED) == (-3, -4, -5)
