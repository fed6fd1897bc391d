"""What the demo reports: the task's own word beside the simulation's ground truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

# A cube counts as placed when it rests this near to where it was meant to be [m].
PLACE_RADIUS = 0.02
PLACE_HEIGHT = 0.005

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Pick:
    """One cube as the task tells it: positions of the cube's centre in base_link [m]."""

    succeeded: bool
    message: str
    detected: Point
    place: Point
    attempts: int
    cycle_s: float
    solvers: tuple[str, ...]


def build_report(
    seed: int, cubes: int, picks: Sequence[Pick], before: Sequence[Point], after: Sequence[Point]
) -> dict[str, Any]:
    """Judge picks by the true cube centres before and after the run.

    before, after: one centre per cube, in the same order, base_link [m].
    """
    rows = [{**asdict(pick), **_judge(pick, before, after)} for pick in picks]
    placed = [row for row in rows if row["placed"]]
    return {
        "seed": seed,
        "cubes": cubes,
        "placed": len({row["cube"] for row in placed}),
        "place_error_mm": _summary([row["place_error_mm"] for row in placed]),
        "detect_error_mm": _summary([row["detect_error_mm"] for row in rows if row["attempts"]]),
        "cycle_s": _summary([row["cycle_s"] for row in placed]),
        "solver_counts": dict(Counter(solver for pick in picks for solver in pick.solvers)),
        "picks": rows,
    }


def _judge(pick: Pick, before: Sequence[Point], after: Sequence[Point]) -> dict[str, Any]:
    """Which cube was meant, how well it was seen, and where it lies in the end."""
    if not before or not pick.attempts:
        return {"cube": None, "placed": False, "place_error_mm": None, "detect_error_mm": None}
    seen = np.linalg.norm(np.asarray(before) - pick.detected, axis=1)
    cube = int(np.argmin(seen))
    offset = np.subtract(after[cube], pick.place)
    distance = float(np.hypot(offset[0], offset[1]))
    return {
        "cube": cube,
        "placed": distance < PLACE_RADIUS and abs(float(offset[2])) < PLACE_HEIGHT,
        "place_error_mm": 1000 * distance,
        "detect_error_mm": 1000 * float(seen[cube]),
    }


def _summary(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and largest; None where there is nothing to tell."""
    if not values:
        return {"mean": None, "max": None}
    return {"mean": float(np.mean(values)), "max": float(np.max(values))}
