"""Whether the arm can take a pose at all, and if not, why."""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ur5e_nik_ik.closed_form import SINGULAR, SLACK
from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.branches import COLUMNS, FAR, NEAR, fill_rows
from ur5e_nik_ik.dh import DhParameters

# Nobody asks a UR5e for this in metres [m].
_NOT_METRES = 10.0


class Reach(Enum):
    """What keeps a pose from being reached."""

    REACHABLE = "reachable"
    TOO_FAR = "too far"
    TOO_NEAR = "too near"
    DEAD_CYLINDER = "inside the dead cylinder"


@dataclass(frozen=True)
class Reachability:
    """Attributes: what it is, how far the best branch is from reaching [m], and a line that says it."""

    reach: Reach
    missing: float
    message: str


def reachability(target: np.ndarray, dh: DhParameters, slack: float = SLACK) -> Reachability:
    """Judge a rigid pose of tool0 in base_link (4, 4), apart from joint limits.

    Args:
        target: the pose.
        dh: the arm.
        slack: what a shoulder or elbow may lack and still count as straight [m].
    """
    target = np.array(target, dtype=float, order="C")
    distance = math.hypot(*target[:3, 3])
    if distance > _NOT_METRES:
        return Reachability(
            Reach.TOO_FAR,
            distance,
            f"unreachable: the target is {distance:.4g} m away; are these millimetres? Positions are in metres",
        )
    rows = np.zeros((4, COLUMNS))
    lack = fill_rows(target, pack(dh), slack, SINGULAR, dh.offset[5], rows)
    if lack > slack:
        return Reachability(
            Reach.DEAD_CYLINDER,
            lack,
            f"unreachable: the wrist centre is {_length(lack)} inside the dead cylinder of radius "
            f"{dh.d[3]:.4f} m around the base axis",
        )
    missing = rows[:, [FAR, NEAR]].max(axis=1)
    best = int(np.argmin(missing))
    if missing[best] <= slack:
        return Reachability(Reach.REACHABLE, 0.0, "")
    if rows[best, FAR] >= rows[best, NEAR]:
        return Reachability(
            Reach.TOO_FAR,
            float(missing[best]),
            f"unreachable: too far, the straight elbow is {_length(missing[best])} short",
        )
    return Reachability(
        Reach.TOO_NEAR,
        float(missing[best]),
        f"unreachable: too near to the shoulder by {_length(missing[best])}, the elbow cannot fold any further",
    )


def _length(metres: float) -> str:
    return f"{metres:.4f} m" if metres >= 1e-3 else f"{metres * 1e3:.2g} mm"
