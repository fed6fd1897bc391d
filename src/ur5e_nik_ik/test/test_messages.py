"""Requests as arrays: frames, quaternions and seeds, each fault refused by name."""

import math
import re

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from ur5e_nik_ik.joints import JOINT_NAMES, REST_POSTURE
from ur5e_nik_ik.messages import BadRequest, pose_of, seed_of
from ur5e_nik_msgs.srv import SolveIK


def message(position=(0.4, 0.1, 0.2), orientation=(1.0, 0.0, 0.0, 0.0), frame="base_link"):
    target = PoseStamped()
    target.header.frame_id = frame
    p, o = target.pose.position, target.pose.orientation
    p.x, p.y, p.z = position
    o.x, o.y, o.z, o.w = orientation
    return target


def test_base_is_base_link_turned_by_pi():
    yawed = (math.cos(0.3), math.sin(0.3), 0.0, 0.0)
    in_base_link = pose_of(message(orientation=yawed))
    in_base = pose_of(message(orientation=yawed, frame="base"))
    turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    assert np.array_equal(turn @ in_base, in_base_link)


@pytest.mark.parametrize("factor", [-1.0, 0.99993, 2.0, 0.5])
def test_quaternions_are_normalised(factor):
    q = np.array([0.2, -0.4, 0.4, 0.8])
    expected = pose_of(message(orientation=q / np.linalg.norm(q)))
    assert pose_of(message(orientation=factor * q)) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [
        (message(frame=""), "FRAME_TRANSFORM_FAILURE", "names no frame"),
        (message(frame="world"), "FRAME_TRANSFORM_FAILURE", "unknown frame 'world'.*base_link or base"),
        (message(position=(math.nan, 0.0, 0.0)), "INVALID_GOAL_CONSTRAINTS", "position.x is nan"),
        (message(position=(0.0, 0.0, -math.inf)), "INVALID_GOAL_CONSTRAINTS", "position.z is -inf"),
        (message(orientation=(0.0, math.nan, 0.0, 1.0)), "INVALID_GOAL_CONSTRAINTS", "orientation.y is nan"),
        (message(orientation=(0.0, 0.0, 0.0, math.inf)), "INVALID_GOAL_CONSTRAINTS", "orientation.w is inf"),
        (message(orientation=(0.0, 0.0, 0.0, 0.0)), "INVALID_GOAL_CONSTRAINTS", "quaternion is zero"),
        (message(orientation=(0.0, 0.0, 0.0, 180.0)), "INVALID_GOAL_CONSTRAINTS", "norm 180"),
    ],
)
def test_bad_targets(target, code, words):
    with pytest.raises(BadRequest) as refused:
        pose_of(target)
    assert refused.value.code == getattr(SolveIK.Response, code)
    assert re.search(words, refused.value.message)


def test_seeds_go_by_name():
    values = dict(zip(JOINT_NAMES, np.linspace(-1.0, 1.0, 6), strict=True))
    names = ["robotiq_85_left_knuckle_joint", *sorted(values), "finger"]
    seed = JointState(name=names, position=[values.get(name, math.nan) for name in names])
    assert seed_of(seed, REST_POSTURE) == pytest.approx(np.linspace(-1.0, 1.0, 6))


def test_an_empty_seed_is_the_rest_posture():
    assert seed_of(JointState(), REST_POSTURE) is REST_POSTURE


@pytest.mark.parametrize(
    ("names", "positions", "words"),
    [
        (JOINT_NAMES[:5], [0.0] * 5, "lacks wrist_3_joint"),
        (JOINT_NAMES, [0.0] * 5, "6 names and 5 positions"),
        ((), [0.0] * 6, "0 names and 6 positions"),
        ((*JOINT_NAMES, "elbow_joint"), [0.0] * 7, "names elbow_joint more than once"),
        (("finger",), [0.0], "lacks shoulder_pan_joint, shoulder_lift_joint"),
    ],
)
def test_bad_seeds(names, positions, words):
    with pytest.raises(BadRequest) as refused:
        seed_of(JointState(name=list(names), position=positions), REST_POSTURE)
    assert refused.value.code == SolveIK.Response.INVALID_ROBOT_STATE
    assert words in refused.value.message
