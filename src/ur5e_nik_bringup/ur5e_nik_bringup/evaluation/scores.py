"""How far off what was seen is from what is there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# What is seen within this distance of a true cube is that cube, anything else is false [m].
SAME = 0.02


@dataclass(frozen=True)
class Place:
    """Where a cube is, or is said to be: its centre [m] in base_link and its yaw [rad]."""

    x: float
    y: float
    z: float
    yaw: float

    @property
    def centre(self) -> tuple[float, float, float]:
        """As a point."""
        return self.x, self.y, self.z


@dataclass
class Tally:
    """Pictures judged so far: errors of the cubes that were found, and what was missed or false.

    places, offsets: true (x, y) of each cube found and how far from there it was seen [m].
    """

    pictures: int = 0
    whole: int = 0
    false: int = 0
    places: list[tuple[float, float]] = field(default_factory=list)
    offsets: list[tuple[float, float]] = field(default_factory=list)
    position_mm: list[float] = field(default_factory=list)
    yaw_deg: list[float] = field(default_factory=list)

    @property
    def found(self) -> int:
        """Cubes seen where they are."""
        return len(self.position_mm)

    def add(self, truth: Sequence[Place], seen: Sequence[Place]) -> None:
        """Judge one picture: every true cube is whole, and counts once."""
        self.pictures += 1
        self.whole += len(truth)
        free = list(truth)
        for place in seen:
            nearest = min(free, key=lambda cube: math.dist(cube.centre, place.centre), default=None)
            if nearest is None or math.dist(nearest.centre, place.centre) > SAME:
                self.false += 1
                continue
            free.remove(nearest)
            self.places.append((nearest.x, nearest.y))
            self.offsets.append((place.x - nearest.x, place.y - nearest.y))
            self.position_mm.append(1e3 * math.dist(nearest.centre, place.centre))
            self.yaw_deg.append(math.degrees(abs(square_turn(place.yaw - nearest.yaw))))


def square_turn(angle: float) -> float:
    """The smallest turn of a square with the same outcome, within +-pi/4 [rad]."""
    return (angle + math.pi / 4) % (math.pi / 2) - math.pi / 4


def summary(values: Sequence[float] | NDArray[np.float64]) -> dict[str, float | None]:
    """Mean, 99th percentile and largest; None where there is nothing to tell."""
    if not len(values):
        return {"mean": None, "p99": None, "max": None}
    figures = {"mean": np.mean(values), "p99": np.percentile(values, 99), "max": np.max(values)}
    return {name: round(float(value), 4) for name, value in figures.items()}
