"""The poses of one pick and one place. Everything in base_link; metres and radians; the tool points down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ur5e_nik_bringup.trajectory import line_nodes

Array = NDArray[np.float64]

QUARTER = np.pi / 2


@dataclass(frozen=True)
class Spot:
    """A cube's centre and its yaw about z; a quarter turn makes no difference to a cube."""

    x: float
    y: float
    z: float
    yaw: float = 0.0

    def distance(self, other: Spot) -> float:
        """Between the centres [m]."""
        return float(np.hypot(np.hypot(self.x - other.x, self.y - other.y), self.z - other.z))

    def turn(self, other: Spot) -> float:
        """Smallest angle between the two cubes' faces, in [0, pi/4] [rad]."""
        return abs(nearest_quarter(self.yaw - other.yaw, 0.0))


ANY = "any"  # a place for every colour


@dataclass(frozen=True)
class Place(Spot):
    """Where a cube is to lie, and the colour of the cubes that it is for."""

    colour: str = ANY

    def takes(self, colour: str) -> bool:
        """Whether it is for cubes of this colour; one that nobody named may go anywhere."""
        return not colour or self.colour in (ANY, colour)


@dataclass(frozen=True)
class ToolPose:
    """tool0 with its z axis straight down and its x axis at ``yaw`` about base_link's z."""

    x: float
    y: float
    z: float
    yaw: float

    @property
    def position(self) -> Array:
        """(3,) [m]."""
        return np.array([self.x, self.y, self.z])

    @property
    def quaternion(self) -> Array:
        """xyzw: (1, 0, 0, 0) turned about z by the yaw."""
        return np.array([np.cos(self.yaw / 2), np.sin(self.yaw / 2), 0.0, 0.0])

    @property
    def rotation(self) -> Array:
        """(3, 3)."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return np.array([[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, -1.0]])

    def raised(self, height: float) -> ToolPose:
        """The pose straight above."""
        return ToolPose(self.x, self.y, self.z + height, self.yaw)


def tool_down(position: ArrayLike, rotation: ArrayLike) -> ToolPose:
    """The pose that points straight down, nearest to position (3,) and rotation (3, 3) of a tool that nearly does."""
    x, y, z = np.asarray(position, dtype=float)
    matrix = np.asarray(rotation, dtype=float)
    return ToolPose(x, y, z, float(np.arctan2(matrix[1, 0], matrix[0, 0])))


@dataclass(frozen=True)
class Hand:
    """What the poses depend on beside the cube.

    tcp_offset: pinch point past tool0 along its z axis. clearance: height of approach, lift, carry and retreat above
    grasp and release. release_gap: the cube is let go this much above its place.
    """

    tcp_offset: float
    clearance: float
    release_gap: float


def grasp_pose(cube: Spot, yaw: float, hand: Hand) -> ToolPose:
    """The pinch point at the cube's centre."""
    return ToolPose(cube.x, cube.y, cube.z + hand.tcp_offset, yaw)


def approach_pose(cube: Spot, yaw: float, hand: Hand) -> ToolPose:
    """Above the cube; the lift ends here as well."""
    return grasp_pose(cube, yaw, hand).raised(hand.clearance)


def release_pose(place: Spot, yaw: float, hand: Hand) -> ToolPose:
    """The held cube just above its place; lowering ends here."""
    return grasp_pose(place, yaw, hand).raised(hand.release_gap)


def carry_pose(place: Spot, yaw: float, hand: Hand) -> ToolPose:
    """Above the place; the retreat ends here as well."""
    return release_pose(place, yaw, hand).raised(hand.clearance)


def tool_yaws(cube_yaw: float) -> list[float]:
    """The four tool yaws that put the fingers on the faces of a cube with this yaw, each in (-pi, pi]."""
    return [wrapped(cube_yaw + k * QUARTER) for k in range(4)]


def line(start: ToolPose, end: ToolPose, step: float) -> list[ToolPose]:
    """Poses of a straight line at `line_nodes`, ends included, about ``step`` apart; both ends have the same yaw."""
    length = float(np.linalg.norm(end.position - start.position))
    nodes = line_nodes(max(2, int(np.ceil(length / step)) + 1))
    way = end.position - start.position
    x, y, z = start.position[:, None] + way[:, None] * nodes
    return [ToolPose(*point, start.yaw) for point in zip(x, y, z, strict=True)]


def wrapped(angle: float) -> float:
    """The same direction in (-pi, pi]."""
    return float(np.pi - (np.pi - angle) % (2 * np.pi))


def yaw_of(x: float, y: float, z: float, w: float) -> float:
    """Yaw about z [rad] of a unit quaternion that stands upright."""
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)))


def nearest_quarter(angle: float, to: float) -> float:
    """``angle`` plus the quarter turns that bring it nearest to ``to``."""
    return float(angle - np.round((angle - to) / QUARTER) * QUARTER)


def nearest_turn(joints: ArrayLike, to: ArrayLike, limits: ArrayLike) -> Array:
    """Joints (6,) with the full turns that bring each nearest to ``to`` (6,), where +-limits (6,) allow."""
    q = np.asarray(joints, dtype=float)
    near = q - np.round((q - np.asarray(to)) / (2 * np.pi)) * 2 * np.pi
    return np.where(np.abs(near) <= np.asarray(limits), near, q)
