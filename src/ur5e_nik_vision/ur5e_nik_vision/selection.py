"""Which of several cubes is the one to pick."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .detection import Cube

# Widths that differ by less than this share are equal: no cube is larger by noise alone.
EQUAL_SHARE = 0.1
# A cube seen within this distance of the last choice is the same one [m].
SAME_CUBE = 0.02


class Selector:
    """Chooses the largest cube, and stays with its choice from picture to picture.

    Cubes whose width is within 10 % of the largest count as equal. Among equals the last choice
    is kept; without one, the cube nearest to the origin (the robot's base) is taken.
    """

    def __init__(self) -> None:
        self._last: Cube | None = None

    def choose(self, cubes: Sequence[Cube]) -> Cube | None:
        """The cube to pick, or None when there is none."""
        largest = max((cube.width for cube in cubes), default=0.0)
        equals = [cube for cube in cubes if cube.width >= (1 - EQUAL_SHARE) * largest]
        kept = [cube for cube in equals if self._is_last(cube)]
        self._last = min(kept or equals, key=_distance_from_base, default=None)
        return self._last

    def _is_last(self, cube: Cube) -> bool:
        return self._last is not None and math.dist(cube.position[:2], self._last.position[:2]) < SAME_CUBE


def _distance_from_base(cube: Cube) -> float:
    return math.hypot(cube.position[0], cube.position[1])
