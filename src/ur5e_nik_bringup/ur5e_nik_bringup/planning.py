"""Joints for every waypoint of a cube before anything moves. The IK solver is a function given by the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ur5e_nik_bringup.kinematics import JOINT_LIMITS, tool_pose
from ur5e_nik_bringup.states import Code, Fault
from ur5e_nik_bringup.waypoints import (
    Hand,
    Spot,
    ToolPose,
    approach_pose,
    carry_pose,
    grasp_pose,
    line,
    nearest_turn,
    release_pose,
    tool_yaws,
)

Array = NDArray[np.float64]

LARGEST_STEP = 0.5  # of a joint between two neighbouring points of a line; more is another branch [rad]
AT_ONCE = 5  # points of a line that are asked for together; a ROS service keeps no more than ten questions


class Unreachable(Exception):
    """No joints reach a waypoint; the message says which and why."""


@dataclass(frozen=True)
class Answer:
    """Joints (6,) [rad] in DH order, and which solver they came from."""

    joints: Array
    solver: str


# For each tool pose the joints nearest to a seed (6,), or Unreachable when there are none.
Solve = Callable[[Sequence[ToolPose], Array], Sequence[Answer | Unreachable]]


@dataclass(frozen=True)
class Down:
    """A straight way down: joints (K, 6) at `line_nodes(K)`, the tool's yaw [rad], the solver of each point."""

    points: Array
    yaw: float
    solvers: list[str]

    @property
    def top(self) -> Array:
        """Joints (6,) at the upper end."""
        return self.points[0]


@dataclass(frozen=True)
class Planner:
    """Plans with ``solve``; an answer that misses its pose by more than the tolerances is refused as a fault."""

    solve: Solve
    hand: Hand
    line_step: float
    position_tolerance: float
    angle_tolerance: float

    def pick(self, cube: Spot, seed: Array, attempt: int = 0) -> Down:
        """From above the cube to the grasp; a later attempt takes another yaw. Raises Unreachable."""
        ways = [(approach_pose(cube, yaw, self.hand), grasp_pose(cube, yaw, self.hand)) for yaw in tool_yaws(cube.yaw)]
        return self._down(ways, seed, attempt)

    def place(self, place: Spot, seed: Array) -> Down:
        """From above the place to where the cube is let go. Raises Unreachable."""
        ways = [
            (carry_pose(place, yaw, self.hand), release_pose(place, yaw, self.hand)) for yaw in tool_yaws(place.yaw)
        ]
        return self._down(ways, seed, 0)

    def up(self, start: ToolPose, height: float, seed: Array) -> Array:
        """Straight up from where the tool is: joints (K, 6). Raises Unreachable."""
        poses = line(start, start.raised(height), self.line_step)
        (first,) = self._checked(poses[:1], seed)
        if isinstance(first, Unreachable):
            raise first
        return self._along(poses, first)[0]

    def _down(self, ways: list[tuple[ToolPose, ToolPose]], seed: Array, attempt: int) -> Down:
        reached: list[tuple[float, Answer, tuple[ToolPose, ToolPose]]] = []
        reason = Unreachable("no yaw was tried")
        for way, answer in zip(ways, self._checked([top for top, _ in ways], seed), strict=True):
            if isinstance(answer, Unreachable):
                reason = answer
            else:
                reached.append((abs(answer.joints[5] - seed[5]), answer, way))
        reached.sort(key=lambda candidate: candidate[0])
        turned = attempt % len(reached) if reached else 0
        for _, answer, (top, bottom) in reached[turned:] + reached[:turned]:
            try:
                points, solvers = self._along(line(top, bottom, self.line_step), answer)
            except Unreachable as unreachable:
                reason = unreachable
            else:
                return Down(points, top.yaw, solvers)
        raise reason

    def _along(self, poses: list[ToolPose], first: Answer) -> tuple[Array, list[str]]:
        """Joints and solvers of all poses; ``first`` is the answer for the first of them."""
        answers = [first]
        for begin in range(1, len(poses), AT_ONCE):
            group = poses[begin : begin + AT_ONCE]
            for pose, answer in zip(group, self._checked(group, answers[-1].joints), strict=True):
                if isinstance(answer, Unreachable):
                    raise answer
                if np.max(np.abs(answer.joints - answers[-1].joints)) > LARGEST_STEP:
                    raise Unreachable(f"the arm cannot follow a straight line through {_where(pose)}")
                answers.append(answer)
        return np.array([answer.joints for answer in answers]), [answer.solver for answer in answers]

    def _checked(self, poses: Sequence[ToolPose], seed: Array) -> list[Answer | Unreachable]:
        return [
            answer if isinstance(answer, Unreachable) else self._check(answer, pose, seed)
            for pose, answer in zip(poses, self.solve(poses, seed), strict=True)
        ]

    def _check(self, answer: Answer, pose: ToolPose, seed: Array) -> Answer:
        position, rotation = tool_pose(answer.joints)
        miss = float(np.linalg.norm(position - pose.position))
        turn = float(np.arccos(np.clip((np.trace(rotation.T @ pose.rotation) - 1) / 2, -1.0, 1.0)))
        # Written so that NaN is refused as well.
        if not (miss <= self.position_tolerance and turn <= self.angle_tolerance):
            raise Fault(
                Code.FAILURE,
                f"the IK answer for {_where(pose)} misses it by {1e3 * miss:.1f} mm and {np.degrees(turn):.1f} deg",
            )
        return Answer(nearest_turn(answer.joints, seed, JOINT_LIMITS), answer.solver)


def _where(pose: ToolPose) -> str:
    return f"tool0 at ({pose.x:.3f}, {pose.y:.3f}, {pose.z:.3f})"
