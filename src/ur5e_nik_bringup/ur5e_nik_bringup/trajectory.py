"""Joint trajectories with jerk-limited time laws.

A trajectory is what a joint trajectory controller interpolates: quintic Hermite pieces between knots that carry
position, velocity and acceleration. A knot stands at every jump of the time law's jerk, so what the controller
interpolates is what was planned. Angles in radians, times in seconds; joints along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
# Position and its first two derivatives by the path parameter s in [0, 1], each (len(s), J).
Path = Callable[[Array], tuple[Array, Array, Array]]

LONGEST_STEP = 0.04  # between two knots of a curved path [s]
SHORTEST_STEP = 2e-4  # closer knots are merged: rounding would show as jerk [s]
SAMPLING_SLACK = 1e-3  # peaks may lie between the samples by which they are found


@dataclass(frozen=True)
class Limits:
    """Largest magnitudes of each joint, (J,) each [rad/s, rad/s^2, rad/s^3]."""

    velocity: Array
    acceleration: Array
    jerk: Array


@dataclass(frozen=True)
class Trajectory:
    """Knots of a joint trajectory: times (N,) from 0, strictly increasing; the rest (N, J)."""

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array

    @property
    def duration(self) -> float:
        """From the first knot to the last [s]."""
        return float(self.times[-1])

    def sample(self, times: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Position, velocity, acceleration and jerk, (M, J) each, at ``times`` (M,); held outside the ends."""
        t = np.clip(np.atleast_1d(np.asarray(times, dtype=float)), 0.0, self.duration)
        piece = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2)
        return self._evaluate(piece, t - self.times[piece])

    def slower(self, factor: float) -> Trajectory:
        """The same path in ``factor`` times the time."""
        return Trajectory(
            self.times * factor,
            self.positions,
            self.velocities / factor,
            self.accelerations / factor**2,
        )

    def in_nanoseconds(self) -> Trajectory:
        """The same motion with its knots at whole nanoseconds, as messages carry them."""
        times = np.round(self.times, 9)
        # Moving a knot without its state would show as jerk.
        q, dq, ddq, _ = self.sample(times)
        q[-1], dq[-1], ddq[-1] = self.positions[-1], self.velocities[-1], self.accelerations[-1]
        return Trajectory(times, q, dq, ddq)

    def peaks(self, samples: int = 12) -> Limits:
        """Largest magnitudes of velocity, acceleration and jerk per joint, sampled in every piece."""
        pieces = np.repeat(np.arange(len(self.times) - 1), samples)
        share = np.tile(np.linspace(0.0, 1.0, samples), len(self.times) - 1)
        _, velocity, acceleration, jerk = self._evaluate(pieces, share * np.diff(self.times)[pieces])
        return Limits(*(np.abs(values).max(axis=0) for values in (velocity, acceleration, jerk)))

    def _evaluate(self, piece: NDArray[np.intp], tau: Array) -> tuple[Array, Array, Array, Array]:
        h = np.diff(self.times)[piece, None]
        p0, p1 = self.positions[piece], self.positions[piece + 1]
        v0, v1 = self.velocities[piece], self.velocities[piece + 1]
        a0, a1 = self.accelerations[piece], self.accelerations[piece + 1]
        # What the quintic has to add to the parabola of the first knot.
        dp = p1 - p0 - v0 * h - a0 * h**2 / 2
        dv = v1 - v0 - a0 * h
        da = a1 - a0
        c3 = (10 * dp - 4 * dv * h + da * h**2 / 2) / h**3
        c4 = (-15 * dp + 7 * dv * h - da * h**2) / h**4
        c5 = (6 * dp - 3 * dv * h + da * h**2 / 2) / h**5
        t = tau[:, None]
        return (
            p0 + t * (v0 + t * (a0 / 2 + t * (c3 + t * (c4 + t * c5)))),
            v0 + t * (a0 + t * (3 * c3 + t * (4 * c4 + t * 5 * c5))),
            a0 + t * (6 * c3 + t * (12 * c4 + t * 20 * c5)),
            6 * c3 + t * (24 * c4 + t * 60 * c5),
        )


def joint_move(start: ArrayLike, goal: ArrayLike, limits: Limits) -> Trajectory:
    """Straight in joint space, at rest at both ends, as fast as the limits allow.

    start, goal: (J,). Raises ValueError when they are equal: there is nothing to move.
    """
    start, goal = np.asarray(start, dtype=float), np.asarray(goal, dtype=float)
    way = goal - start
    if not np.any(way):
        raise ValueError("start and goal are the same posture: there is nothing to move")

    def path(s: Array) -> tuple[Array, Array, Array]:
        q = start + s[:, None] * way
        q[-1] = goal
        return q, np.broadcast_to(way, q.shape), np.zeros_like(q)

    return _timed(path, limits, longest_step=np.inf)


def line_nodes(count: int) -> Array:
    """Path parameters (count,) in [0, 1], ends included, at which `line_move` wants a line's joint positions."""
    return (1.0 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2.0


def line_move(points: ArrayLike, limits: Limits, largest_rate: float = np.inf) -> Trajectory:
    """Along a smooth joint path, at rest at both ends.

    points: (K, J) with K >= 2, joint positions at ``line_nodes(K)`` of a straight line of the tool; a polynomial
    runs through them. largest_rate bounds the share of the line done in a second: tool speed / length [1/s].
    """
    points = np.asarray(points, dtype=float)
    nodes = line_nodes(len(points))
    joints = [Chebyshev.fit(nodes, q, len(points) - 1, domain=[0, 1]) for q in points.T]
    slopes = [p.deriv(1) for p in joints]
    curvatures = [p.deriv(2) for p in joints]

    def path(s: Array) -> tuple[Array, Array, Array]:
        q, dq, ddq = (np.stack([p(s) for p in ps], axis=-1) for ps in (joints, slopes, curvatures))
        q[0], q[-1] = points[0], points[-1]
        return q, dq, ddq

    return _timed(path, limits, LONGEST_STEP, largest_rate)


def chain(parts: list[Trajectory], limits: Limits, cut: float) -> tuple[Trajectory, list[float]]:
    """One move out of parts that meet at rest, and the times at which it passes from each to the next.

    A part starts before the one in front of it has ended, and their motions add up: the corner is rounded. ``cut``,
    at most 0.5, is the share of either part's path length that may be rounded. The quickest of several overlaps is
    taken; 0 stops at every corner.
    """
    whole = parts[0]
    passed: list[float] = []
    for before, part in zip(parts[:-1], parts[1:], strict=True):
        longest = min(before.duration - _time_at_share(before, 1.0 - cut), _time_at_share(part, cut))
        options = []
        for overlap in longest * np.linspace(0.0, 1.0, 9):
            joined = _superposed(whole, part, whole.duration - overlap)
            factor = _slow_down(joined, limits)
            options.append((joined.duration * factor, factor, overlap, joined))
        _, factor, overlap, joined = min(options, key=lambda option: option[0])
        passed = [factor * time for time in [*passed, whole.duration - overlap / 2]]
        whole = joined.slower(factor)
    return whole, passed


@dataclass(frozen=True)
class _TimeLaw:
    """The quickest way of s from rest at 0 to rest at 1, by the times at which its jerk jumps, (8,)."""

    knots: Array
    jerk: float

    @classmethod
    def within(cls, velocity: float, acceleration: float, jerk: float) -> _TimeLaw:
        """Raises ValueError for limits that are not positive."""
        if not min(velocity, acceleration, jerk) > 0.0:
            raise ValueError(f"limits must be positive, not {velocity:g}, {acceleration:g}, {jerk:g}")
        rise = min(acceleration / jerk, (velocity / jerk) ** (1 / 2), (1 / (2 * jerk)) ** (1 / 3))
        slope = jerk * rise  # acceleration that is reached
        hold = min(velocity / slope - rise, (-3 * rise + (rise**2 + 4 / slope) ** (1 / 2)) / 2)
        hold = max(hold, 0.0)
        speed = slope * (rise + hold)
        cruise = max(1 / speed - 2 * rise - hold, 0.0)
        return cls(np.cumsum([0.0, rise, hold, rise, cruise, rise, hold, rise]), jerk)

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """S and its first two derivatives, (N,) each."""
        end = self.knots[-1]
        # The second half is the first one backwards, which makes the end as exact as the start.
        late = times > end / 2
        t = np.where(late, end - times, times)
        s, ds, dds = np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)
        for knot, jump in zip(self.knots, self.jerk * np.array([1, -1, -1, 1]), strict=False):
            past = np.maximum(t - knot, 0.0)
            s += jump * past**3 / 6
            ds += jump * past**2 / 2
            dds += jump * past
        return np.where(late, 1.0 - s, s), ds, np.where(late, -dds, dds)


def _timed(path: Path, limits: Limits, longest_step: float, largest_rate: float = np.inf) -> Trajectory:
    _, slope, _ = path(np.linspace(0.0, 1.0, 33))
    steepest = np.maximum(np.abs(slope).max(axis=0), 1e-12)
    velocity, acceleration, jerk = (
        float(np.min(bound / steepest)) for bound in (limits.velocity, limits.acceleration, limits.jerk)
    )
    law = _TimeLaw.within(min(velocity, largest_rate), acceleration, jerk)
    knots = _apart(law.knots)
    pieces = [
        np.linspace(a, b, max(1, int(np.ceil((b - a) / longest_step))), endpoint=False)
        for a, b in zip(knots[:-1], knots[1:], strict=True)
    ]
    times = np.append(np.concatenate(pieces), knots[-1])
    s, ds, dds = law.at(times)
    q, dq, ddq = path(s)
    trajectory = Trajectory(times, q, dq * ds[:, None], dq * dds[:, None] + ddq * ds[:, None] ** 2)
    return trajectory.slower(_slow_down(trajectory, limits))


def _slow_down(trajectory: Trajectory, limits: Limits) -> float:
    """Factor >= 1 by which the trajectory must be slower to keep the limits."""
    peaks = trajectory.peaks()
    share = max(
        float(np.max(peaks.velocity / limits.velocity)),
        float(np.max(peaks.acceleration / limits.acceleration)) ** (1 / 2),
        float(np.max(peaks.jerk / limits.jerk)) ** (1 / 3),
    )
    return max(1.0, share * (1.0 + SAMPLING_SLACK))


def _superposed(first: Trajectory, second: Trajectory, start: float) -> Trajectory:
    """The sum of both motions, the second from ``start`` on; exact, as both are quintic between the joint knots."""
    end = start + second.duration
    times = _apart(np.sort(np.concatenate([first.times, second.times + start])), end)
    # Outside its own time a motion rests: the clipped samples are its ends.
    q, dq, ddq = (
        one + other for one, other in zip(first.sample(times)[:3], second.sample(times - start)[:3], strict=True)
    )
    q -= second.positions[0]
    # The ends without rounding: a controller refuses a last velocity that is not zero.
    q[0], q[-1] = first.positions[0], second.positions[-1]
    for rest in (dq, ddq):
        rest[0] = rest[-1] = 0.0
    return Trajectory(times, q, dq, ddq)


def _apart(times: Array, end: float | None = None) -> Array:
    """Sorted times without those that follow another too closely; the last one stays."""
    end = float(times[-1]) if end is None else end
    kept = [float(times[0])]
    for time in times[1:]:
        if time - kept[-1] >= SHORTEST_STEP and end - time >= SHORTEST_STEP:
            kept.append(float(time))
    return np.array([*kept, end])


def _time_at_share(trajectory: Trajectory, share: float) -> float:
    """Time at which ``share`` of the joint path's length lies behind."""
    times = np.linspace(0.0, trajectory.duration, 65)
    steps = np.linalg.norm(np.diff(trajectory.sample(times)[0], axis=0), axis=-1)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    return float(np.interp(share * length[-1], length, times))
