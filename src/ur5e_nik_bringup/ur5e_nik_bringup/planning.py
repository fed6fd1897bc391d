"""Joints for every waypoint of a cube before anything moves. The IK solver is a function given by the caller."""

from __future__ import annotations

from collections.abc import Callable
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


class Unreachable(Exception):
    """No joints reach a waypoint; the message says which and why."""


@dataclass(frozen=True)
class Answer:
    """Joints (6,) [rad] in DH order, and which solver they came from."""

    joints: Array
    solver: str


# Joints of a tool pose, nearest to a seed (6,). Raises Unreachable when there are none.
Solve = Callable[[ToolPose, Array], Answer]


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
        return self._along(line(start, start.raised(height), self.line_step), seed)[0]

    def _down(self, ways: list[tuple[ToolPose, ToolPose]], seed: Array, attempt: int) -> Down:
        reached: list[tuple[float, Answer, tuple[ToolPose, ToolPose]]] = []
        reason = Unreachable("no yaw was tried")
        for way in ways:
            try:
                answer = self._checked(way[0], seed)
            except Unreachable as unreachable:
                reason = unreachable
            else:
                reached.append((abs(answer.joints[5] - seed[5]), answer, way))
        reached.sort(key=lambda candidate: candidate[0])
        turned = attempt % len(reached) if reached else 0
        for _, answer, (top, bottom) in reached[turned:] + reached[:turned]:
            try:
                points, solvers = self._along(line(top, bottom, self.line_step), answer.joints)
            except Unreachable as unreachable:
                reason = unreachable
            else:
                return Down(points, top.yaw, solvers)
        raise reason

    def _along(self, poses: list[ToolPose], seed: Array) -> tuple[Array, list[str]]:
        points: list[Array] = []
        solvers: list[str] = []
        for pose in poses:
            answer = self._checked(pose, seed)
            if points and np.max(np.abs(answer.joints - seed)) > LARGEST_STEP:
                raise Unreachable(f"the arm cannot follow a straight line through {_where(pose)}")
            points.append(answer.joints)
            solvers.append(answer.solver)
            seed = answer.joints
        return np.array(points), solvers

    def _checked(self, pose: ToolPose, seed: Array) -> Answer:
        answer = self.solve(pose, seed)
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
