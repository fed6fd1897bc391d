"""Plans from an IK function: all waypoints, chained seeds, the least turn of wrist_3, lies found out."""

import numpy as np
import pytest

from ur5e_nik_bringup.evaluation.fake_ik import solve
from ur5e_nik_bringup.kinematics import tool_pose
from ur5e_nik_bringup.planning import AT_ONCE, Answer, Planner, Unreachable
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.states import Code, Fault
from ur5e_nik_bringup.trajectory import line_move
from ur5e_nik_bringup.waypoints import Spot, ToolPose, nearest_quarter

SETTINGS = Settings()
LOOK = np.array(SETTINGS.look_posture)
CUBE = Spot(0.5, -0.25, 0.0225, 0.3)


class Recorder:
    """An IK that solves and keeps what it was asked; ``spoil`` changes the answer to the n-th question."""

    def __init__(self, spoil=lambda n, pose, joints: joints):
        self.calls = []
        self.spoil = spoil

    def __call__(self, poses, seed):
        return [self.answer(pose, seed) for pose in poses]

    def answer(self, pose, seed):
        self.calls.append((pose, seed))
        joints = solve(pose.position, pose.yaw, seed)
        joints = self.spoil(len(self.calls), pose, joints)
        return Unreachable("out of reach") if joints is None else Answer(joints, "closed_form")


def planner(ik):
    return Planner(ik, SETTINGS.hand, SETTINGS.line_step, SETTINGS.ik_position_tolerance, SETTINGS.ik_angle_tolerance)


def test_pick_goes_straight_down_onto_the_cube():
    ik = Recorder()
    down = planner(ik).pick(CUBE, LOOK)
    positions = np.array([tool_pose(q)[0] for q in down.points])
    assert np.allclose(positions[:, :2], [0.5, -0.25], atol=1e-6)
    assert positions[-1, 2] == pytest.approx(CUBE.z + SETTINGS.tcp_offset, abs=1e-6)
    assert positions[0, 2] - positions[-1, 2] == pytest.approx(SETTINGS.clearance, abs=1e-6)
    assert len(down.solvers) == len(down.points)
    assert nearest_quarter(down.yaw - CUBE.yaw, 0.0) == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(down.top, down.points[0])


def test_four_yaws_and_then_one_line_are_asked_for():
    ik = Recorder()
    down = planner(ik).pick(CUBE, LOOK)
    assert len(ik.calls) == 4 + len(down.points) - 1
    for _, seed in ik.calls[:4]:
        assert np.array_equal(seed, LOOK)
    for _, seed in ik.calls[4:]:
        assert np.array_equal(seed, down.top)


def test_seeds_of_a_long_line_are_a_chain():
    ik = Recorder()
    points = planner(ik).up(ToolPose(0.5, -0.2, 0.18, 0.4), 0.3, LOOK)
    assert len(ik.calls) == len(points) > 3 * AT_ONCE
    for number, (_, seed) in enumerate(ik.calls[1:]):
        assert np.array_equal(seed, points[number - number % AT_ONCE])


def test_tool_between_the_ik_points_stays_on_the_line():
    down = planner(Recorder()).pick(CUBE, LOOK)
    line = line_move(down.points, SETTINGS.arm_limits)
    for q in line.sample(np.linspace(0, line.duration, 60))[0]:
        position, rotation = tool_pose(q)
        assert np.allclose(position[:2], [0.5, -0.25], atol=1e-5)
        assert rotation[2, 2] == pytest.approx(-1.0, abs=1e-8)


@pytest.mark.parametrize("yaw", np.radians([-45, -20, 0, 15, 30, 44, 45]))
def test_wrist_3_turns_least(yaw):
    spot = Spot(0.55, -0.2, 0.0225, float(yaw))
    down = planner(Recorder()).pick(spot, LOOK)
    others = [solve(np.array([0.55, -0.2, 0.2783]), yaw + k * np.pi / 2, LOOK) for k in range(4)]
    least = min(abs(q[5] - LOOK[5]) for q in others)
    assert abs(down.top[5] - LOOK[5]) == pytest.approx(least, abs=1e-6)
    assert least <= np.pi / 4 + 1e-6


def test_another_attempt_takes_another_yaw():
    first, second = (planner(Recorder()).pick(CUBE, LOOK, attempt) for attempt in (0, 1))
    assert abs(abs(first.yaw - second.yaw) % np.pi - np.pi / 2) < 1e-6


def test_place_keeps_the_cubes_faces():
    place = Spot(0.48, 0.22, 0.0225, 0.2)
    down = planner(Recorder()).place(place, planner(Recorder()).pick(CUBE, LOOK).top)
    assert nearest_quarter(down.yaw - 0.2, 0.0) == pytest.approx(0.0, abs=1e-9)
    assert tool_pose(down.points[-1])[0][2] == pytest.approx(0.0225 + 0.1558 + 0.001, abs=1e-6)


def test_up_is_straight_up():
    start = ToolPose(0.5, -0.2, 0.18, 0.4)
    points = planner(Recorder()).up(start, 0.12, LOOK)
    assert tool_pose(points[0])[0] == pytest.approx([0.5, -0.2, 0.18], abs=1e-6)
    assert tool_pose(points[-1])[0] == pytest.approx([0.5, -0.2, 0.30], abs=1e-6)


def test_out_of_reach_says_so():
    with pytest.raises(Unreachable, match="out of reach"):
        planner(Recorder(lambda n, pose, q: None)).pick(CUBE, LOOK)


def test_another_yaw_is_taken_where_the_line_cannot_be_followed():
    best = planner(Recorder()).pick(CUBE, LOOK)

    def spoil(_, pose, q):
        return None if abs(pose.yaw - best.yaw) < 1e-6 and pose.z < 0.2 else q

    assert planner(Recorder(spoil)).pick(CUBE, LOOK).yaw != pytest.approx(best.yaw)


def test_an_answer_that_misses_its_pose_is_a_fault():
    with pytest.raises(Fault, match="misses it by") as fault:
        planner(Recorder(lambda n, pose, q: q + [0.05, 0, 0, 0, 0, 0])).pick(CUBE, LOOK)
    assert fault.value.code is Code.FAILURE


def test_nan_is_a_fault():
    with pytest.raises(Fault, match="misses it by nan"):
        planner(Recorder(lambda n, pose, q: q * np.nan)).pick(CUBE, LOOK)


def test_a_wrist_turned_by_half_a_turn_is_a_fault():
    with pytest.raises(Fault, match=r"180\.0 deg"):
        planner(Recorder(lambda n, pose, q: q + [0, 0, 0, 0, 0, np.pi])).pick(CUBE, LOOK)


def test_full_turns_are_taken_back():
    def spoil(n, _, q):
        return q - [0, 0, 0, 0, 0, 2 * np.pi * (n % 2)]

    down = planner(Recorder(spoil)).pick(CUBE, LOOK)
    assert np.max(np.abs(np.diff(down.points, axis=0))) < 0.3
    assert abs(down.top[5] - LOOK[5]) < 1.0


def test_a_jump_to_another_branch_is_not_followed():
    def spoil(n, pose, q):
        return solve(pose.position, pose.yaw, q, elbow=-1) if n > 6 and pose.z < 0.25 else q

    with pytest.raises(Unreachable, match="cannot follow"):
        planner(Recorder(spoil)).pick(CUBE, LOOK)
