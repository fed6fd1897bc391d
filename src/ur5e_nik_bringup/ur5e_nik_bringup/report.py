"""What the demo reports: the task's own word beside the simulation's ground truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ur5e_nik_bringup.waypoints import Spot

# A cube counts as placed when it rests this near to where it was meant to be [m].
PLACE_RADIUS = 0.02
PLACE_HEIGHT = 0.005


@dataclass(frozen=True)
class Pick:
    """One cube as the task tells it."""

    succeeded: bool
    message: str
    detected: Spot
    place: Spot
    attempts: int
    cycle_s: float
    solvers: tuple[str, ...]
    colour: str = ""


def build_report(
    seed: int, cubes: int, picks: Sequence[Pick], before: Sequence[Spot], after: Sequence[Spot]
) -> dict[str, Any]:
    """Judge picks by the true cubes before and after the run, one each, in the same order."""
    rows = [{**asdict(pick), **_judge(pick, before, after)} for pick in picks]
    placed = [row for row in rows if row["placed"]]
    return {
        "seed": seed,
        "cubes": cubes,
        "placed": len({row["cube"] for row in placed}),
        "place_error_mm": _summary([row["place_error_mm"] for row in placed]),
        "yaw_error_deg": _summary([row["yaw_error_deg"] for row in placed]),
        "detect_error_mm": _summary([row["detect_error_mm"] for row in rows if row["attempts"]]),
        "cycle_s": _summary([row["cycle_s"] for row in placed]),
        "solver_counts": dict(Counter(solver for pick in picks for solver in pick.solvers)),
        "picks": rows,
    }


def _judge(pick: Pick, before: Sequence[Spot], after: Sequence[Spot]) -> dict[str, Any]:
    """Which cube was meant, how well it was seen, and where it lies in the end."""
    if not before or not pick.attempts:
        return {"cube": None, "placed": False} | dict.fromkeys(("place_error_mm", "yaw_error_deg", "detect_error_mm"))
    seen = [cube.distance(pick.detected) for cube in before]
    cube = int(np.argmin(seen))
    rests, place = after[cube], pick.place
    distance = float(np.hypot(rests.x - place.x, rests.y - place.y))
    return {
        "cube": cube,
        "placed": distance < PLACE_RADIUS and abs(rests.z - place.z) < PLACE_HEIGHT,
        "place_error_mm": 1000 * distance,
        "yaw_error_deg": float(np.degrees(rests.turn(place))),
        "detect_error_mm": 1000 * seen[cube],
    }


def _summary(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and largest; None where there is nothing to tell."""
    if not values:
        return {"mean": None, "max": None}
    return {"mean": float(np.mean(values)), "max": float(np.max(values))}
