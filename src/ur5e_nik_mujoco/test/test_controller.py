import numpy as np
import pytest

from ur5e_nik_mujoco.controller import (
    ErrorCode,
    GoalError,
    JointTolerance,
    JointTrajectoryController,
    Status,
    TrajectoryGoal,
    TrajectoryPoint,
)

JOINTS = ("a", "b", "c")
STEP = 0.002
NAN = float("nan")


@pytest.fixture
def controller():
    return JointTrajectoryController(JOINTS, np.full(3, -3.0), np.full(3, 3.0), np.zeros(3), deceleration=10.0)


def goal(points, names=JOINTS, **rest):
    rest.setdefault("key", "goal")
    return TrajectoryGoal(names, [TrajectoryPoint(*point) for point in points], **rest)


def follow(controller, start, end, lag=0.0):
    """Updates as if the joints followed, `lag` short; returns times, positions and velocities."""
    times = np.arange(start, end, STEP)
    path = []
    for now in times:
        positions, velocities, _ = controller.update(now, controller.desired[0] - lag, np.zeros(3))
        path.append((positions.copy(), velocities.copy()))
    return times, np.array([p for p, _ in path]), np.array([v for _, v in path])


def ended(controller):
    (outcome,) = controller.outcomes
    controller.outcomes.clear()
    return outcome


# --- interpolation ----------------------------------------------------------------------------


def test_positions_alone_are_joined_by_lines(controller):
    controller.start(goal([(1.0, [1, 0, 0]), (2.0, [1, 2, 0])]), 0.0)
    _, positions, velocities = follow(controller, 0.0, 2.0)
    assert np.allclose(positions[250], [0.5, 0, 0])
    assert np.allclose(positions[750], [1, 1, 0])
    assert np.allclose(velocities[250], [1, 0, 0])
    assert np.allclose(velocities[750], [0, 2, 0])


def test_velocities_make_cubics(controller):
    zero = [0.0] * 3
    controller.start(goal([(1.0, [1, 0, 0], [0.5, 0, 0]), (2.0, [2, 0, 0], zero)]), 0.0)
    times, positions, velocities = follow(controller, 0.0, 2.0)
    assert np.allclose(positions[250, 0], 0.5 - 0.5 * 0.125)  # Hermite at the middle
    assert np.allclose(velocities[500], [0.5, 0, 0], atol=1e-9)
    assert np.allclose(np.gradient(positions[:, 0], times)[1:-1], velocities[1:-1, 0], atol=6e-3)


def test_accelerations_make_quintics(controller):
    zero = [0.0] * 3
    controller.start(goal([(1.0, [1, 0, 0], zero, zero)]), 0.0)
    times, positions, velocities = follow(controller, 0.0, 1.0)
    assert np.allclose(positions[:, 0], 10 * times**3 - 15 * times**4 + 6 * times**5)
    assert velocities[:, 0].max() == pytest.approx(1.875, abs=1e-3)


def test_a_start_time_in_the_future_is_waited_for(controller):
    controller.start(goal([(0.0, [0] * 3), (1.0, [1] * 3)], start_time=5.0), 4.0)
    _, positions, _ = follow(controller, 4.0, 6.0)
    assert np.allclose(positions[499], 0.0)
    assert np.allclose(positions[750], 0.5)


def test_a_start_time_in_the_past_joins_the_trajectory_where_it_is(controller):
    controller.start(goal([(0.0, [0] * 3), (2.0, [2] * 3)], start_time=4.0), 5.0)
    positions, _, _ = controller.update(5.0, np.zeros(3), np.zeros(3))
    assert np.allclose(positions, 1.0)


def test_joints_that_are_not_named_hold(controller):
    controller.reset([0.1, 0.2, 0.3])
    controller.start(goal([(1.0, [1.0, 2.0])], names=("c", "a")), 0.0)
    _, positions, velocities = follow(controller, 0.0, 1.1)
    assert np.allclose(positions[:, 1], 0.2)
    assert np.allclose(positions[-1], [2.0, 0.2, 1.0])
    assert np.allclose(velocities[-1], 0.0)
    assert ended(controller).status is Status.SUCCEEDED


def test_reached_goal_is_held(controller):
    controller.start(goal([(0.5, [1, 1, 1])]), 0.0)
    follow(controller, 0.0, 0.6)
    assert ended(controller).code is ErrorCode.SUCCESSFUL
    assert controller.active is None
    _, positions, velocities = follow(controller, 0.6, 5.0)
    assert np.allclose(positions, 1.0)
    assert np.allclose(velocities, 0.0)


# --- what is refused ---------------------------------------------------------------------------

ONE = [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("bad", "code", "reason"),
    [
        (goal([], key=1), ErrorCode.INVALID_GOAL, "Empty trajectory"),
        (goal([(1.0, [])], names=()), ErrorCode.INVALID_JOINTS, "Empty joint names"),
        (goal([(1.0, ONE)], names=("a", "b", "x")), ErrorCode.INVALID_JOINTS, "joint x"),
        (goal([(1.0, ONE)], names=("a", "b", "a")), ErrorCode.INVALID_JOINTS, "named twice"),
        (goal([(1.0, [1.0])]), ErrorCode.INVALID_GOAL, "Mismatch"),
        (goal([(1.0, ONE, [0.0])]), ErrorCode.INVALID_GOAL, "Mismatch"),
        (goal([(1.0, ONE, ONE[:0], ONE)]), ErrorCode.INVALID_GOAL, "no velocities"),
        (goal([(1.0, [])]), ErrorCode.INVALID_GOAL, "Mismatch"),
        (goal([(1.0, [NAN, 0, 0])]), ErrorCode.INVALID_GOAL, "not finite"),
        (goal([(1.0, ONE, [np.inf, 0, 0])]), ErrorCode.INVALID_GOAL, "not finite"),
        (goal([(1.0, [3.1, 0, 0])]), ErrorCode.INVALID_GOAL, "outside its limits"),
        (goal([(1.0, ONE, [0.1, 0, 0])]), ErrorCode.INVALID_GOAL, "Velocity of last"),
        (goal([(1.0, ONE), (1.0, ONE)]), ErrorCode.INVALID_GOAL, "not strictly increasing"),
        (goal([(2.0, ONE), (1.0, ONE)]), ErrorCode.INVALID_GOAL, "not strictly increasing"),
        (goal([(-1.0, ONE)]), ErrorCode.INVALID_GOAL, "is negative"),
        (goal([(1.0, ONE)], start_time=8.0), ErrorCode.OLD_HEADER_TIMESTAMP, "in the past"),
        (goal([(1.0, ONE)], goal_time_tolerance=-2.0), ErrorCode.INVALID_GOAL, "must not be"),
        (goal([(1.0, ONE)], goal_time_tolerance=NAN), ErrorCode.INVALID_GOAL, "must not be"),
        (
            goal([(1.0, ONE)], path_tolerance=[JointTolerance("x", 1.0)]),
            ErrorCode.INVALID_JOINTS,
            "joint 'x' specified in goal.path_tolerance",
        ),
        (
            goal([(1.0, ONE)], goal_tolerance=[JointTolerance("a", -0.5)]),
            ErrorCode.INVALID_GOAL,
            "invalid tolerance",
        ),
        (
            goal([(1.0, ONE)], path_tolerance=[JointTolerance("a", 0.0, NAN)]),
            ErrorCode.INVALID_GOAL,
            "invalid tolerance",
        ),
    ],
)
def test_bad_goal_is_refused_and_the_running_one_goes_on(controller, bad, code, reason):
    controller.start(goal([(20.0, [2] * 3)], key="running"), 0.0)
    follow(controller, 0.0, 10.0)
    with pytest.raises(GoalError, match=reason) as refused:
        controller.start(bad, 10.0)
    assert refused.value.code is code
    assert controller.active == "running"
    follow(controller, 10.0, 20.1)
    assert ended(controller).status is Status.SUCCEEDED


def test_rounding_at_a_limit_is_no_violation(controller):
    controller.start(goal([(1.0, [3.0 + 1e-9, 0, 0])]), 0.0)
    assert controller.active == "goal"


# --- tolerances --------------------------------------------------------------------------------


def test_path_tolerance_aborts_and_holds_the_late_joint_where_it_is(controller):
    controller.start(goal([(1.0, ONE)], path_tolerance=[JointTolerance("b", 0.05)]), 0.0)
    stuck = np.zeros(3)
    now = 0.0
    while not controller.outcomes:
        stuck[[0, 2]] = controller.desired[0][[0, 2]]
        controller.update(now, stuck, np.zeros(3))
        now += STEP
    outcome = ended(controller)
    assert outcome.status is Status.ABORTED
    assert outcome.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert "b is off by" in outcome.message
    assert 0.05 < now < 0.06
    _, positions, velocities = follow(controller, now, now + 1.0)
    assert positions[-1, 1] == 0.0
    assert positions[-1, 0] > 0.05, "the joints that followed come to rest beyond"
    assert np.allclose(velocities[-1], 0.0)


def test_path_tolerance_of_minus_one_is_no_tolerance(controller):
    controller.start(goal([(1.0, ONE)], path_tolerance=[JointTolerance("b", -1.0, -1.0)]), 0.0)
    follow(controller, 0.0, 1.1, lag=0.5)
    assert ended(controller).status is Status.SUCCEEDED


def test_velocity_tolerance_is_honoured(controller):
    controller.start(goal([(1.0, ONE)], path_tolerance=[JointTolerance("b", 0.0, 0.5)]), 0.0)
    follow(controller, 0.0, 0.1)
    assert ended(controller).code is ErrorCode.PATH_TOLERANCE_VIOLATED


def test_goal_tolerance_without_a_time_waits_until_it_is_met(controller):
    controller.start(goal([(1.0, ONE)], goal_tolerance=[JointTolerance("a", 0.01)]), 0.0)
    follow(controller, 0.0, 30.0, lag=0.02)
    assert controller.active == "goal"
    follow(controller, 30.0, 30.01, lag=0.005)
    assert ended(controller).status is Status.SUCCEEDED


def test_goal_tolerance_is_given_up_after_its_time(controller):
    controller.start(goal([(1.0, ONE)], goal_tolerance=[JointTolerance("a", 0.01)], goal_time_tolerance=0.5), 0.0)
    follow(controller, 0.0, 1.49, lag=0.02)
    assert not controller.outcomes
    follow(controller, 1.49, 1.51, lag=0.02)
    outcome = ended(controller)
    assert outcome.status is Status.ABORTED
    assert outcome.code is ErrorCode.GOAL_TOLERANCE_VIOLATED
    assert "a is off by 0.0200" in outcome.message


def test_goal_met_within_its_time_succeeds(controller):
    controller.start(goal([(1.0, ONE)], goal_tolerance=[JointTolerance("a", 0.01)], goal_time_tolerance=0.5), 0.0)
    follow(controller, 0.0, 1.2, lag=0.02)
    follow(controller, 1.2, 1.3, lag=0.0)
    assert ended(controller).status is Status.SUCCEEDED


# --- cancel, preemption, reset -----------------------------------------------------------------


def test_cancel_brings_the_joints_to_rest(controller):
    controller.start(goal([(1.0, [2.0, 1.0, 0.0])]), 0.0)
    _, before, _ = follow(controller, 0.0, 0.5)
    controller.cancel("goal", 0.5)
    assert not controller.outcomes, "not before the joints stopped"
    times, positions, velocities = follow(controller, 0.5, 1.0)
    outcome = ended(controller)
    assert (outcome.key, outcome.status) == ("goal", Status.CANCELED)
    still = np.flatnonzero(np.abs(velocities).max(axis=1) < 1e-9)[0]
    assert times[still] - 0.5 == pytest.approx(0.2, abs=0.01)  # 2 rad/s at 10 rad/s^2
    deceleration = np.abs(np.diff(velocities[: still + 1], axis=0)) / STEP
    assert deceleration.max() < 10.0 + 1e-6
    assert np.allclose(positions[-1, 0], before[-1, 0] + 2.0 * (0.1 + STEP), atol=5e-3)
    assert np.allclose(positions[-1, 0], 2 * positions[-1, 1]), "along the path"


def test_cancel_of_another_goal_changes_nothing(controller):
    controller.start(goal([(1.0, ONE)]), 0.0)
    controller.cancel("other", 0.0)
    follow(controller, 0.0, 1.1)
    assert ended(controller).status is Status.SUCCEEDED


def test_new_goal_preempts_without_a_jump(controller):
    controller.start(goal([(1.0, [2.0, 2.0, 0.0])], key="old"), 0.0)
    _, before, _ = follow(controller, 0.0, 0.5)
    zero = [0.0]
    controller.start(goal([(1.0, [0.0], zero)], names=("a",), key="new"), 0.5)
    outcome = ended(controller)
    assert (outcome.key, outcome.status) == ("old", Status.ABORTED)
    assert outcome.code is ErrorCode.INVALID_GOAL
    assert "preempted" in outcome.message
    _, positions, velocities = follow(controller, 0.5, 1.6)
    both = np.vstack([before[-1:], positions])
    assert np.abs(np.diff(both, axis=0)).max() < 2.5 * STEP
    assert np.allclose(positions[-1], [0.0, positions[400, 1], 0.0])
    assert positions[-1, 1] < 1.4, "a joint that the new goal does not name comes to rest"
    assert ended(controller).key == "new"
    assert np.allclose(velocities[-1], 0.0)


def test_goal_during_a_cancel_takes_over(controller):
    controller.start(goal([(1.0, ONE)], key="old"), 0.0)
    follow(controller, 0.0, 0.5)
    controller.cancel("old", 0.5)
    controller.start(goal([(1.0, ONE)], key="new"), 0.51)
    assert ended(controller).key == "old"
    follow(controller, 0.51, 1.6)
    assert ended(controller).status is Status.SUCCEEDED


def test_reset_aborts_and_holds(controller):
    controller.start(goal([(1.0, ONE)]), 0.0)
    follow(controller, 0.0, 0.5)
    controller.reset([0.5, 0.5, 0.5])
    assert ended(controller).status is Status.ABORTED
    _, positions, _ = follow(controller, 0.5, 1.0)
    assert np.allclose(positions, 0.5)
