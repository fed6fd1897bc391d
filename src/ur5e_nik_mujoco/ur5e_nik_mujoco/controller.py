"""A joint trajectory controller that behaves as ros2_controllers' does, without ROS.

One goal at a time over all joints: a valid new goal preempts the running one, also when it names
other joints; joints that it does not name come to rest. Radians, seconds, simulated time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LIMIT_SLACK = 1e-6  # [rad]; rounding in a message is no violation
_ERASED = -1.0  # control_msgs/JointTolerance: no limit, whatever the default is


class ErrorCode(IntEnum):
    """The error codes of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class GoalError(ValueError):
    """A goal that is refused: `code` and one line that says why."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class TrajectoryPoint:
    """Where the goal's joints are to be at a time; empty velocities or accelerations: not given."""

    time_from_start: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True)
class JointTolerance:
    """Largest allowed error of one joint; 0 is the controller's default (none), -1 no limit."""

    name: str
    position: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True)
class TrajectoryGoal:
    """What a client asks for; `start_time` 0 is now, `goal_time_tolerance` 0 waits for ever."""

    joint_names: Sequence[str]
    points: Sequence[TrajectoryPoint]
    start_time: float = 0.0
    path_tolerance: Sequence[JointTolerance] = ()
    goal_tolerance: Sequence[JointTolerance] = ()
    goal_time_tolerance: float = 0.0
    key: Hashable = None


class Status(Enum):
    """How a goal ended."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


@dataclass(frozen=True)
class Outcome:
    """The end of the goal with this key."""

    key: Hashable
    status: Status
    code: ErrorCode
    message: str


class _Spline:
    """A polynomial per segment for some joints, linear, cubic or quintic by what the points give."""

    def __init__(self, times: list[float], states: list[tuple[Array, Array | None, Array | None]]):
        self._times = np.array(times)
        self._coefficients = [
            _segment(states[i], states[i + 1], times[i + 1] - times[i]) for i in range(len(times) - 1)
        ]
        self._last = states[-1][0]
        self._index = 0

    @property
    def end(self) -> float:
        return float(self._times[-1])

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration at a time that never goes back from call to call."""
        if time >= self._times[-1]:
            rest = np.zeros_like(self._last)
            return self._last, rest, rest
        while time >= self._times[self._index + 1]:
            self._index += 1
        t = time - self._times[self._index]
        coefficients = self._coefficients[self._index]
        powers = np.array([1.0, t, t**2, t**3, t**4, t**5])
        speed = np.array([0.0, 1.0, 2 * t, 3 * t**2, 4 * t**3, 5 * t**4])
        change = np.array([0.0, 0.0, 2.0, 6 * t, 12 * t**2, 20 * t**3])
        return powers @ coefficients, speed @ coefficients, change @ coefficients


@dataclass
class _Active:
    """The goal at work."""

    goal: TrajectoryGoal
    columns: NDArray[np.intp]
    spline: _Spline
    path_limits: Array  # (2, joints): position, velocity; inf where unchecked
    goal_limits: Array


@dataclass
class _Stop:
    """All joints come to rest together, each with a constant deceleration."""

    start: float
    duration: float
    positions: Array
    velocities: Array

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        t = min(time - self.start, self.duration)
        if self.duration == 0.0:
            return self.positions, self.velocities, np.zeros_like(self.positions)
        slowing = -self.velocities / self.duration
        positions = self.positions + self.velocities * t + slowing * t**2 / 2
        if t == self.duration:
            return positions, np.zeros_like(positions), np.zeros_like(positions)
        return positions, self.velocities + slowing * t, slowing


class JointTrajectoryController:
    """Turns goals into joint commands; call `update` once per control step, with time going on.

    Ended goals collect in `outcomes`, for the caller to take out. Not thread-safe.
    """

    def __init__(
        self,
        joints: Sequence[str],
        lower: Array,
        upper: Array,
        positions: Sequence[float] | Array,
        deceleration: float,
    ) -> None:
        """Holds `positions` within the limits `lower` and `upper`, all in the order of `joints`.

        `deceleration` [rad/s^2] is the largest one of a joint when a motion is cut short.
        """
        self.joints = tuple(joints)
        self.lower, self.upper = lower, upper
        self.deceleration = deceleration
        self.outcomes: list[Outcome] = []
        self._active: _Active | None = None
        self.reset(positions)

    @property
    def active(self) -> Hashable | None:
        """Key of the goal at work, or None."""
        return self._active.goal.key if self._active else None

    @property
    def desired(self) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations that the last update commanded."""
        return self._desired

    def reset(self, positions: Sequence[float] | Array) -> None:
        """Holds these positions from now on; a goal at work is aborted."""
        if self._active:
            self._finish(Status.ABORTED, ErrorCode.INVALID_GOAL, "the controller was reset")
        rest = np.zeros(len(self.joints))
        self._canceling = False
        self._stop = _Stop(0.0, 0.0, np.array(positions, dtype=float), rest)
        self._desired = (self._stop.positions, rest, rest)

    def start(self, goal: TrajectoryGoal, now: float) -> None:
        """Takes a goal up and preempts the one at work; raises GoalError and changes nothing."""
        columns = self._check(goal, now)
        path_limits = self._limits(goal.path_tolerance, "path_tolerance")
        goal_limits = self._limits(goal.goal_tolerance, "goal_tolerance")
        if self._active:
            self._finish(
                Status.ABORTED,
                ErrorCode.INVALID_GOAL,
                "Current goal preempted by new incoming action.",
            )
        self._halt(now, *self._desired[:2])
        position, velocity, acceleration = (value[columns] for value in self._desired)
        start = goal.start_time or now
        times = [start + point.time_from_start for point in goal.points]
        states = [_state(point) for point in goal.points]
        if times[0] > now:
            times.insert(0, now)
            states.insert(0, (position, velocity, acceleration))
        self._active = _Active(goal, columns, _Spline(times, states), path_limits, goal_limits)
        self._canceling = False

    def cancel(self, key: Hashable, now: float) -> None:
        """Brings the joints to rest if this goal is at work; it ends as canceled once they are."""
        if self._active and self._active.goal.key == key and not self._canceling:
            self._halt(now, *self._desired[:2])
            self._canceling = True

    def update(self, now: float, positions: Array, velocities: Array) -> tuple[Array, Array, Array]:
        """The commanded positions, velocities and accelerations of all joints for their measured state."""
        self._desired = self._stop.sample(now)
        if self._active and self._canceling:
            if now >= self._stop.start + self._stop.duration:
                self._finish(Status.CANCELED, ErrorCode.SUCCESSFUL, "canceled, the joints stopped")
        elif self._active:
            position, velocity, acceleration = (value.copy() for value in self._desired)
            columns = self._active.columns
            position[columns], velocity[columns], acceleration[columns] = self._active.spline.sample(now)
            self._desired = position, velocity, acceleration
            self._judge(self._active, now, positions, velocities)
        return self._desired

    def _judge(self, active: _Active, now: float, positions: Array, velocities: Array) -> None:
        """Ends the goal when it is reached or a tolerance is violated."""
        errors = np.abs([self._desired[0] - positions, self._desired[1] - velocities])
        late = now - active.spline.end
        limits = active.path_limits if late < 0.0 else active.goal_limits
        violated: NDArray[np.bool_] = np.logical_or.reduce(errors > limits, axis=0)
        if late < 0.0 and violated.any():
            code = ErrorCode.PATH_TOLERANCE_VIOLATED
            message = "Aborted due to path tolerance violation"
        elif late >= 0.0 and not violated.any():
            self._halt(now, *self._desired[:2])
            self._finish(Status.SUCCEEDED, ErrorCode.SUCCESSFUL, "Goal successfully reached!")
            return
        elif 0.0 < active.goal.goal_time_tolerance < late:
            code = ErrorCode.GOAL_TOLERANCE_VIOLATED
            excess = late - active.goal.goal_time_tolerance
            message = f"Aborted due to goal_time_tolerance exceeding by {excess:.3f} seconds"
        else:
            return
        # Joints that violate stay where they are, the others come to rest.
        self._halt(
            now,
            np.where(violated, positions, self._desired[0]),
            np.where(violated, velocities, self._desired[1]),
        )
        details = [
            f"{joint} is off by {position:.4f} rad, {velocity:.4f} rad/s"
            for joint, position, velocity, bad in zip(self.joints, *errors, violated, strict=True)
            if bad
        ]
        self._finish(Status.ABORTED, code, f"{message}: {', '.join(details)}")

    def _halt(self, now: float, positions: Array, velocities: Array) -> None:
        duration = float(np.abs(velocities).max()) / self.deceleration
        self._stop = _Stop(now, duration, positions, velocities)

    def _finish(self, status: Status, code: ErrorCode, message: str) -> None:
        assert self._active is not None
        self.outcomes.append(Outcome(self._active.goal.key, status, code, message))
        self._active = None
        self._canceling = False

    def _check(self, goal: TrajectoryGoal, now: float) -> NDArray[np.intp]:
        """The goal's joints as indices of ours; raises GoalError for what cannot be executed."""
        names = list(goal.joint_names)
        if not names:
            raise GoalError(ErrorCode.INVALID_JOINTS, "Empty joint names on incoming trajectory.")
        for name in names:
            if name not in self.joints:
                raise GoalError(
                    ErrorCode.INVALID_JOINTS,
                    f"Incoming joint {name} doesn't match the controller's joints: {', '.join(self.joints)}",
                )
            if names.count(name) > 1:
                raise GoalError(ErrorCode.INVALID_JOINTS, f"Joint {name} is named twice.")
        if not goal.points:
            raise GoalError(ErrorCode.INVALID_GOAL, "Empty trajectory received.")
        columns = np.array([self.joints.index(name) for name in names])
        for index, point in enumerate(goal.points):
            self._check_point(goal, index, point, columns)
        last = goal.points[-1]
        for name, velocity in zip(names, last.velocities, strict=False):
            if abs(velocity) > np.finfo(np.float32).eps:
                raise GoalError(
                    ErrorCode.INVALID_GOAL,
                    f"Velocity of last trajectory point of joint {name} is not zero: {velocity:g}",
                )
        end = goal.start_time + last.time_from_start
        if goal.start_time != 0.0 and end < now:
            raise GoalError(
                ErrorCode.OLD_HEADER_TIMESTAMP,
                f"Received trajectory with non-zero start time ({goal.start_time:f}) that ends in "
                f"the past ({end:f}, now is {now:f})",
            )
        if not goal.goal_time_tolerance >= 0.0 and goal.goal_time_tolerance != _ERASED:
            raise GoalError(
                ErrorCode.INVALID_GOAL,
                f"goal_time_tolerance must not be negative: {goal.goal_time_tolerance:g}",
            )
        return columns

    def _check_point(self, goal: TrajectoryGoal, index: int, point: TrajectoryPoint, columns: NDArray[np.intp]) -> None:
        count = len(goal.joint_names)
        for name, values in (
            ("positions", point.positions),
            ("velocities", point.velocities),
            ("accelerations", point.accelerations),
        ):
            if len(values) != count and (len(values) or name == "positions"):
                raise GoalError(
                    ErrorCode.INVALID_GOAL,
                    f"Mismatch between joint_names size ({count}) and {name} ({len(values)}) at point #{index}.",
                )
            if not np.isfinite(values).all():
                raise GoalError(ErrorCode.INVALID_GOAL, f"{name} of point #{index} are not finite.")
        if len(point.accelerations) and not len(point.velocities):
            raise GoalError(ErrorCode.INVALID_GOAL, f"Point #{index} has accelerations but no velocities.")
        previous = goal.points[index - 1].time_from_start if index else -np.inf
        if point.time_from_start <= previous or point.time_from_start < 0.0:
            raise GoalError(
                ErrorCode.INVALID_GOAL,
                f"Time between points {index - 1} and {index} is not strictly increasing, it is "
                f"{previous:f} and {point.time_from_start:f} respectively"
                if index
                else f"time_from_start of the first point is negative: {point.time_from_start:f}",
            )
        for name, value, low, high in zip(
            goal.joint_names,
            point.positions,
            self.lower[columns],
            self.upper[columns],
            strict=True,
        ):
            if not low - _LIMIT_SLACK <= value <= high + _LIMIT_SLACK:
                raise GoalError(
                    ErrorCode.INVALID_GOAL,
                    f"Position {value:g} of joint {name} at point #{index} is outside its limits [{low:g}, {high:g}].",
                )

    def _limits(self, tolerances: Sequence[JointTolerance], where: str) -> Array:
        """Tolerances as (2, joints), position and velocity; inf where nothing is to be checked."""
        limits = np.full((2, len(self.joints)), np.inf)
        for tolerance in tolerances:
            if tolerance.name not in self.joints:
                raise GoalError(
                    ErrorCode.INVALID_JOINTS,
                    f"joint '{tolerance.name}' specified in goal.{where} does not exist.",
                )
            for row, value in enumerate((tolerance.position, tolerance.velocity)):
                if value > 0.0:
                    limits[row, self.joints.index(tolerance.name)] = value
                elif value not in (0.0, _ERASED):
                    raise GoalError(
                        ErrorCode.INVALID_GOAL,
                        f"joint '{tolerance.name}' specified in goal.{where} has an invalid tolerance: {value:g}",
                    )
        return limits


def _state(point: TrajectoryPoint) -> tuple[Array, Array | None, Array | None]:
    position, velocity, acceleration = (
        np.array(values, dtype=float) if len(values) else None
        for values in (point.positions, point.velocities, point.accelerations)
    )
    assert position is not None
    return position, velocity, acceleration


def _segment(
    start: tuple[Array, Array | None, Array | None],
    end: tuple[Array, Array | None, Array | None],
    duration: float,
) -> Array:
    """Coefficients (6, joints) of rising powers of the time in the segment."""
    (p0, v0, a0), (p1, v1, a1) = start, end
    coefficients = np.zeros((6, len(p0)))
    coefficients[0] = p0
    if v0 is None or v1 is None:
        coefficients[1] = (p1 - p0) / duration
    elif a0 is None or a1 is None:
        coefficients[1] = v0
        coefficients[2] = (3 * (p1 - p0) - (2 * v0 + v1) * duration) / duration**2
        coefficients[3] = (2 * (p0 - p1) + (v0 + v1) * duration) / duration**3
    else:
        rest = p1 - p0
        coefficients[1] = v0
        coefficients[2] = a0 / 2
        coefficients[3] = (20 * rest - (8 * v1 + 12 * v0) * duration - (3 * a0 - a1) * duration**2) / (2 * duration**3)
        coefficients[4] = (-30 * rest + (14 * v1 + 16 * v0) * duration + (3 * a0 - 2 * a1) * duration**2) / (
            2 * duration**4
        )
        coefficients[5] = (12 * rest - 6 * (v1 + v0) * duration + (a1 - a0) * duration**2) / (2 * duration**5)
    return coefficients
