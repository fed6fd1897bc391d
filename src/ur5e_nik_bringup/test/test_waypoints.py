"""Poses of a pick and a place; quarter turns and full turns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ur5e_nik_bringup.kinematics import JOINT_LIMITS, tilt, tool_pose
from ur5e_nik_bringup.waypoints import (
    Hand,
    Spot,
    ToolPose,
    approach_pose,
    carry_pose,
    grasp_pose,
    line,
    nearest_quarter,
    nearest_turn,
    release_pose,
    tool_down,
    tool_yaws,
    wrapped,
)

HAND = Hand(tcp_offset=0.1558, clearance=0.1, release_gap=0.001)
angles = st.floats(-20.0, 20.0)


def test_tool0_of_the_reference_rows():
    # Rows of ur_description's UR5e, in base_link.
    position, _ = tool_pose([0.849, 0.373, -0.662, 0.782, 1.257, -1.053])
    assert position == pytest.approx([0.41073, 0.71488, -0.01326], abs=1e-5)
    position, rotation = tool_pose(np.radians([0, -90, 90, -90, -90, 0]))
    assert position == pytest.approx([0.49190, 0.13330, 0.48790], abs=1e-5)
    assert tilt(rotation) == pytest.approx(0.0, abs=1e-7)
    position, _ = tool_pose(np.zeros(6))
    assert position == pytest.approx([0.81720, 0.23290, 0.06280], abs=1e-5)


def test_named_poses_stand_above_each_other():
    cube = Spot(0.5, -0.2, 0.0225, 0.3)
    grasp, approach = grasp_pose(cube, 0.3, HAND), approach_pose(cube, 0.3, HAND)
    assert (grasp.x, grasp.y, grasp.yaw) == (0.5, -0.2, 0.3)
    assert grasp.z == pytest.approx(0.0225 + 0.1558)
    assert approach.z - grasp.z == pytest.approx(0.1)
    release, carry = release_pose(cube, 0.3, HAND), carry_pose(cube, 0.3, HAND)
    assert release.z - grasp.z == pytest.approx(0.001)
    assert carry.z - release.z == pytest.approx(0.1)


@given(angles)
def test_quaternion_and_rotation_say_the_same(yaw):
    pose = ToolPose(0.0, 0.0, 0.0, yaw)
    x, y, z, w = pose.quaternion
    matrix = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    assert np.allclose(pose.rotation, matrix, atol=1e-12)
    assert np.allclose(pose.rotation[:, 2], [0, 0, -1])
    assert tool_down([0, 0, 0], pose.rotation).yaw == pytest.approx(wrapped(yaw), abs=1e-9)


def test_yaw_zero_is_the_plain_tool_down_quaternion():
    assert np.array_equal(ToolPose(0, 0, 0, 0.0).quaternion, [1, 0, 0, 0])


@given(angles)
def test_tool_yaws_are_four_quarter_turns_on_the_faces(yaw):
    yaws = tool_yaws(yaw)
    assert len({round(y, 6) for y in yaws}) == 4
    for y in yaws:
        assert -np.pi < y <= np.pi + 1e-12
        assert abs(nearest_quarter(y - yaw, 0.0)) < 1e-9


@given(angles, angles)
def test_nearest_quarter(angle, to):
    near = nearest_quarter(angle, to)
    assert abs(near - to) <= np.pi / 4 + 1e-9
    assert np.cos(4 * near) == pytest.approx(np.cos(4 * angle), abs=1e-9)


@given(
    st.lists(st.floats(-6.28, 6.28), min_size=6, max_size=6), st.lists(st.floats(-6.28, 6.28), min_size=6, max_size=6)
)
def test_nearest_turn_is_the_same_posture_and_no_farther(joints, to):
    joints, to = np.clip(joints, -JOINT_LIMITS, JOINT_LIMITS), np.clip(to, -JOINT_LIMITS, JOINT_LIMITS)
    near = nearest_turn(joints, to, JOINT_LIMITS)
    assert np.allclose(np.cos(near - joints), 1.0)
    assert np.all(np.abs(near) <= JOINT_LIMITS)
    assert np.all(np.abs(near - to) <= np.abs(joints - to) + 1e-9)


def test_cubes_turned_by_a_quarter_are_equal():
    assert Spot(0, 0, 0, 0.1).turn(Spot(0, 0, 0, 0.1 + np.pi / 2)) == pytest.approx(0.0)
    assert Spot(0, 0, 0, np.radians(44)).turn(Spot(0, 0, 0, np.radians(-44))) == pytest.approx(np.radians(2))
    assert Spot(0.3, 0.4, 0.0).distance(Spot(0.0, 0.0, 0.0)) == pytest.approx(0.5)


@given(st.floats(0.01, 0.3), st.floats(0.002, 0.1))
def test_line_is_straight_and_ends_where_it_shall(height, step):
    top = ToolPose(0.5, -0.2, 0.4, 1.0)
    poses = line(top, top.raised(-height), step)
    heights = np.array([pose.z for pose in poses])
    assert len(poses) >= 2
    assert heights[0] == pytest.approx(0.4)
    assert heights[-1] == pytest.approx(0.4 - height)
    assert np.all(np.diff(heights) < 0)
    assert np.max(-np.diff(heights)) <= step * np.pi / 2
    assert {(pose.x, pose.y, pose.yaw) for pose in poses} == {(0.5, -0.2, 1.0)}
