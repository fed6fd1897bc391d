"""How far off what was seen is from what is there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ur5e_nik_bringup.waypoints import Spot

# What is seen within this distance of a true cube is that cube, anything else is false [m].
SAME = 0.02


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

    def add(self, truth: Sequence[Spot], seen: Sequence[Spot]) -> None:
        """Judge one picture: every true cube is whole, and counts once."""
        self.pictures += 1
        self.whole += len(truth)
        free = list(truth)
        for place in seen:
            nearest = min(free, key=lambda cube: cube.distance(place), default=None)
            if nearest is None or nearest.distance(place) > SAME:
                self.false += 1
                continue
            free.remove(nearest)
            self.places.append((nearest.x, nearest.y))
            self.offsets.append((place.x - nearest.x, place.y - nearest.y))
            self.position_mm.append(1e3 * nearest.distance(place))
            self.yaw_deg.append(math.degrees(place.turn(nearest)))


def summary(values: Sequence[float] | NDArray[np.float64]) -> dict[str, float | None]:
    """Mean, 99th percentile and largest; None where there is nothing to tell."""
    if not len(values):
        return {"mean": None, "p99": None, "max": None}
    figures = {"mean": np.mean(values), "p99": np.percentile(values, 99), "max": np.max(values)}
    return {name: round(float(value), 4) for name, value in figures.items()}
