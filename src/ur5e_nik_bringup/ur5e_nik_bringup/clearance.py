"""How near the arm comes to the table, to obstacles and to itself on a motion: distances of capsules. No ROS here.

The arm is a set of capsules, each fixed to a link; an obstacle is an upright box. Distances are taken from points
along a capsule's axis, close enough that what lies between two of them is missed by a few millimetres at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ur5e_nik_bringup.kinematics import link_frames

Array = NDArray[np.float64]

SPACING = 0.03  # between two points of an axis [m]


@dataclass(frozen=True)
class Capsule:
    """From ``start`` to ``end`` in the DH frame of a link (0: the base), all in metres."""

    name: str
    link: int
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float

    @property
    def points(self) -> Array:
        """Points (P, 3) along the axis, ends included."""
        start, end = np.array(self.start), np.array(self.end)
        count = max(2, int(np.ceil(np.linalg.norm(end - start) / SPACING)) + 1)
        return start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)


# Of the collision model of MuJoCo's menagerie, in DH frames.
ARM = (
    Capsule("base", 0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.10), 0.075),
    Capsule("shoulder", 1, (0.0, -0.10, 0.0), (0.0, 0.02, 0.0), 0.06),
    Capsule("upper arm", 2, (0.425, 0.0, 0.138), (0.025, 0.0, 0.138), 0.05),
    Capsule("upper arm", 2, (0.425, 0.0, 0.158), (0.425, 0.0, 0.038), 0.06),
    Capsule("forearm", 3, (0.392, 0.0, 0.147), (0.392, 0.0, 0.027), 0.055),
    Capsule("forearm", 3, (0.382, 0.0, 0.007), (0.002, 0.0, 0.007), 0.038),
    Capsule("wrist 1", 4, (0.0, -0.006, 0.0), (0.0, -0.146, 0.0), 0.04),
    Capsule("wrist 2", 5, (0.0, 0.12, 0.0), (0.0, 0.0, 0.0), 0.04),
    Capsule("wrist 2", 5, (0.0, 0.0, 0.06), (0.0, 0.0, -0.02), 0.04),
    Capsule("wrist 3", 6, (0.0, 0.0, 0.0), (0.0, 0.0, -0.04), 0.04),
)


def gripper(tcp_offset: float) -> tuple[Capsule, ...]:
    """An open two-finger gripper, as wide as a Robotiq 2F-85, whose pinch point is ``tcp_offset`` [m] past tool0."""
    knuckles, tips = tcp_offset - 0.045, tcp_offset - 0.005
    return (
        Capsule("gripper", 6, (0.0, 0.0, 0.03), (0.0, 0.0, knuckles - 0.02), 0.055),
        Capsule("gripper", 6, (-0.05, 0.0, knuckles), (0.05, 0.0, knuckles), 0.035),
        Capsule("gripper", 6, (-0.055, 0.0, knuckles), (-0.055, 0.0, tips), 0.02),
        Capsule("gripper", 6, (0.055, 0.0, knuckles), (0.055, 0.0, tips), 0.02),
    )


# Links that can never meet, as they are neighbours or share one, are not compared.
NEIGHBOURS = 2


@dataclass(frozen=True)
class Box:
    """An upright box: centre and edge lengths in base_link [m]."""

    centre: tuple[float, float, float]
    size: tuple[float, float, float]


@dataclass(frozen=True)
class Gap:
    """The narrowest place: how far [m], and between what."""

    distance: float
    between: str


class Surroundings:
    """What a motion must keep away from: a table's plane at z = ``table`` [m], boxes, and the arm itself."""

    def __init__(self, table: float, boxes: list[Box], tcp_offset: float) -> None:
        self._table = table
        self._boxes = [(np.reshape(box.centre, (3, 1, 1)), np.reshape(box.size, (3, 1, 1)) / 2) for box in boxes]
        self._capsules = (*ARM, *gripper(tcp_offset))
        self._axes = [capsule.points for capsule in self._capsules]

    def narrowest(self, joints: ArrayLike) -> Gap:
        """The smallest distance on a path of joints (N, 6); negative inside of something."""
        frames = link_frames(joints)
        placed = [
            _placed(axis, frames[:, capsule.link]) for capsule, axis in zip(self._capsules, self._axes, strict=True)
        ]
        gaps = []
        for capsule, points in zip(self._capsules, placed, strict=True):
            if capsule.link > 1:  # base and shoulder stand on the table
                gaps.append(Gap(float(points[2].min()) - capsule.radius - self._table, f"{capsule.name} and table"))
            for number, (centre, half) in enumerate(self._boxes):
                beyond = np.maximum(np.abs(points - centre) - half, 0.0)
                gaps.append(Gap(_shortest(beyond) - capsule.radius, f"{capsule.name} and obstacle {number}"))
        for i, (one, here) in enumerate(zip(self._capsules, placed, strict=True)):
            for other, there in zip(self._capsules[i + 1 :], placed[i + 1 :], strict=True):
                if other.link - one.link > NEIGHBOURS:
                    distance = _shortest(here[:, :, :, None] - there[:, :, None]) - one.radius - other.radius
                    gaps.append(Gap(distance, f"{one.name} and {other.name}"))
        return min(gaps, key=lambda gap: gap.distance)


def _placed(axis: Array, pose: Array) -> Array:
    """Points (P, 3) of an axis in base_link, (3, N, P) as that is quicker, for the link's poses (N, 4, 4)."""
    return pose[:, :3, :3].transpose(1, 0, 2) @ axis.T + pose[:, :3, 3].T[:, :, None]


def _shortest(vectors: Array) -> float:
    """Length of the shortest of vectors (3, ...)."""
    return float(np.sqrt(np.einsum("i...,i...->...", vectors, vectors).min()))
