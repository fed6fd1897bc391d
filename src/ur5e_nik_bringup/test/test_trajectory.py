"""Whatever is asked for: limits kept, times rising, rest at both ends, the path as planned."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ur5e_nik_bringup.trajectory import Limits, Trajectory, chain, joint_move, line_move, line_nodes

LIMITS = Limits(np.full(6, 1.88), np.full(6, 5.0), np.full(6, 50.0))

postures = arrays(float, 6, elements=st.floats(-6.0, 6.0, width=32))
small = arrays(float, 6, elements=st.floats(-0.25, 0.25, width=32))
limits = st.builds(
    lambda v, a, j: Limits(np.array(v), np.array(a), np.array(j)),
    st.lists(st.floats(0.1, 3.0), min_size=6, max_size=6),
    st.lists(st.floats(0.5, 40.0), min_size=6, max_size=6),
    st.lists(st.floats(5.0, 500.0), min_size=6, max_size=6),
)


def assert_sound(trajectory: Trajectory, bounds: Limits) -> None:
    """What must hold for every trajectory that is sent, sampled between its knots."""
    assert trajectory.times[0] == 0.0
    assert np.all(np.diff(trajectory.times) > 1e-6)
    for values in (trajectory.positions, trajectory.velocities, trajectory.accelerations):
        assert np.all(np.isfinite(values))
    assert np.all(trajectory.velocities[-1] == 0.0)
    assert np.all(trajectory.accelerations[-1] == 0.0)
    assert np.all(trajectory.velocities[0] == 0.0)
    peaks = trajectory.peaks(samples=41)
    assert np.all(peaks.velocity <= bounds.velocity)
    assert np.all(peaks.acceleration <= bounds.acceleration)
    assert np.all(peaks.jerk <= bounds.jerk)


def curved(start: np.ndarray, way: np.ndarray, bend: np.ndarray, count: int = 6) -> np.ndarray:
    """Joints at the nodes of a line, as a tool's straight way gives them: nearly straight, gently bent."""
    nodes = line_nodes(count)
    return start + np.outer(nodes, way) + np.outer(nodes * (1 - nodes), bend)


@settings(max_examples=200, deadline=None)
@given(postures, postures, limits)
def test_joint_move_keeps_every_limit_and_is_straight(start, goal, bounds):
    if np.max(np.abs(goal - start)) < 1e-3:
        goal = start + 0.01
    move = joint_move(start, goal, bounds)
    assert_sound(move, bounds)
    assert np.array_equal(move.positions[0], start)
    assert np.array_equal(move.positions[-1], goal)
    positions = move.sample(np.linspace(0, move.duration, 50))[0]
    way = goal - start
    share = (positions - start) @ way / (way @ way)
    assert np.allclose(positions, start + np.outer(share, way), atol=1e-9)
    assert np.all(np.diff(share) >= -1e-12)


@settings(max_examples=100, deadline=None)
@given(postures, postures)
def test_joint_move_touches_a_limit(start, goal):
    if np.max(np.abs(goal - start)) < 0.05:
        goal = start + 0.1  # where the acceleration's limit is just not reached
    peaks = joint_move(start, goal, LIMITS).peaks(samples=41)
    assert max(np.max(peaks.velocity / 1.88), np.max(peaks.acceleration / 5.0)) > 0.3
    assert np.max(peaks.jerk / 50.0) > 0.99


@settings(max_examples=100, deadline=None)
@given(postures, small, small, limits, st.integers(2, 9))
def test_line_keeps_every_limit_and_its_points(start, way, bend, bounds, count):
    way[2] += 0.4
    points = curved(start, way, 0.3 * bend, count)
    line = line_move(points, bounds)
    assert_sound(line, bounds)
    assert np.array_equal(line.positions[0], points[0])
    assert np.array_equal(line.positions[-1], points[-1])
    dense = line.sample(np.linspace(0, line.duration, 2000))[0]
    for point in points:
        assert np.min(np.max(np.abs(dense - point), axis=1)) < 2e-3


@settings(max_examples=60, deadline=None)
@given(postures, small, small, small, st.sampled_from([0.0, 0.1, 0.3, 0.5]), limits)
def test_chain_keeps_every_limit_and_never_takes_longer(start, first, second, bend, cut, bounds):
    first[0] += 0.7
    second[1] += 0.4
    corner = start + first
    points = curved(corner, second, 0.2 * bend)
    parts = [joint_move(start, corner, bounds), line_move(points, bounds), joint_move(points[-1], start, bounds)]
    whole, passed = chain(parts, bounds, cut)
    assert_sound(whole, bounds)
    assert np.allclose(whole.positions[0], start)
    assert np.allclose(whole.positions[-1], start, atol=1e-9)
    assert whole.duration <= 1.003 * sum(part.duration for part in parts)
    assert 0.0 < passed[0] < passed[1] < whole.duration


def test_chain_saves_time_and_stays_near_the_corner():
    corner = np.array([0.8, -1.3, 1.2, -1.0, -1.5, 0.2])
    start = corner + [-0.8, 0.2, -0.3, 0.1, 0.0, 0.5]
    points = curved(corner, np.array([0.0, 0.15, 0.25, -0.4, 0.0, 0.0]), np.full(6, 0.02))
    parts = [joint_move(start, corner, LIMITS), line_move(points, LIMITS)]
    stopping, _ = chain(parts, LIMITS, 0.0)
    rounded, passed = chain(parts, LIMITS, 0.3)
    assert stopping.duration == pytest.approx(sum(part.duration for part in parts), rel=2e-3)
    assert rounded.duration < 0.9 * stopping.duration
    # Where more than the allowed share of the line is done, the arm is on the line.
    positions = rounded.sample(np.linspace(0, rounded.duration, 3000))[0]
    line = parts[1].sample(np.linspace(0, parts[1].duration, 3000))[0]
    below = positions[positions[:, 2] > corner[2] + 0.3 * (points[-1] - corner)[2] + 0.02]
    assert len(below) > 100
    assert max(np.min(np.max(np.abs(line - q), axis=1)) for q in below[::20]) < 2e-3
    assert np.min(np.abs(positions - corner).max(axis=1)) < 0.1
    assert abs(rounded.sample(passed[0])[0][0] - corner).max() < 0.2


def test_what_the_controller_interpolates_is_what_was_planned():
    move = joint_move(np.zeros(6), np.array([1.0, -0.5, 0.2, 0.0, 2.0, 0.01]), LIMITS)
    times = np.linspace(0, move.duration, 400)
    positions, velocities, accelerations, jerks = move.sample(times)
    step = times[1] - times[0]
    assert np.allclose(np.gradient(positions, step, axis=0)[1:-1], velocities[1:-1], atol=2e-3)
    assert np.allclose(np.gradient(velocities, step, axis=0)[1:-1], accelerations[1:-1], atol=0.2)
    assert set(np.round(np.unique(np.abs(jerks[:, 4])))) <= {0.0, 50.0}


@settings(max_examples=50, deadline=None)
@given(postures, small, st.sampled_from([0.1, 0.3]))
def test_whole_nanoseconds_change_nothing(start, way, cut):
    way[1] += 0.4
    corner = start + [0.7, 0.0, 0.1, 0.0, 0.0, 0.3]
    whole, _ = chain([joint_move(start, corner, LIMITS), line_move(curved(corner, way, way), LIMITS)], LIMITS, cut)
    rounded = whole.in_nanoseconds()
    assert np.array_equal(rounded.times, np.round(rounded.times, 9))
    assert_sound(rounded, LIMITS)
    times = np.linspace(0.0, whole.duration, 200)
    assert np.allclose(rounded.sample(times)[0], whole.sample(times)[0], atol=1e-8)


def test_slower_is_the_same_path():
    move = joint_move(np.zeros(6), np.linspace(0.1, 1.0, 6), LIMITS)
    slow = move.slower(2.0)
    assert slow.duration == 2 * move.duration
    times = np.linspace(0, move.duration, 20)
    assert np.allclose(slow.sample(2 * times)[0], move.sample(times)[0])
    assert np.allclose(slow.sample(2 * times)[1], move.sample(times)[1] / 2)


def test_sampling_outside_holds_the_ends():
    move = joint_move(np.zeros(6), np.ones(6), LIMITS)
    positions, velocities, _, _ = move.sample([-1.0, move.duration + 5.0])
    assert np.array_equal(positions[0], np.zeros(6))
    assert np.allclose(positions[1], np.ones(6))
    assert np.allclose(velocities, 0.0, atol=1e-9)


def test_line_rate_bounds_the_tools_speed():
    points = curved(np.zeros(6), np.full(6, 0.2), np.zeros(6))
    assert line_move(points, LIMITS, largest_rate=0.5).duration > 2.0
    assert line_move(points, LIMITS).duration < 1.0


def test_no_move_between_equal_postures():
    with pytest.raises(ValueError, match="nothing to move"):
        joint_move(np.ones(6), np.ones(6), LIMITS)


def test_bad_limits_are_refused():
    with pytest.raises(ValueError, match="must be positive"):
        joint_move(np.zeros(6), np.ones(6), Limits(np.zeros(6), np.ones(6), np.ones(6)))
