"""Which of the arm's postures is preferred, and which singular ones it is near to."""

import math
from dataclasses import dataclass

import numpy as np

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import link_frames

SHOULDERS = ("any", "front", "back")
ELBOWS = ("any", "down", "up")
WRISTS = ("any", "negative", "positive")


@dataclass(frozen=True)
class Posture:
    """A preference among the branches: others are taken only where no preferred one exists.

    Attributes:
        shoulder: "front" if the arm reaches to where shoulder_pan points, "back" if over its back.
        elbow: "up" or "down": the elbow above or below the line from the shoulder to wrist 1.
        wrist: the sign of wrist_2_joint, "negative" or "positive".
    """

    shoulder: str = "any"
    elbow: str = "any"
    wrist: str = "any"

    def __post_init__(self) -> None:
        for name, choices in (("shoulder", SHOULDERS), ("elbow", ELBOWS), ("wrist", WRISTS)):
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(f"{name} {value!r} is none of {', '.join(choices)}")

    def bits(self) -> tuple[int, int, int]:
        """Return shoulder, wrist and elbow as branch bits (elbow: 1 up), -1 for any."""
        return (
            SHOULDERS.index(self.shoulder) - 1,
            WRISTS.index(self.wrist) - 1,
            ELBOWS.index(self.elbow) - 1,
        )


ANY_POSTURE = Posture()


def singularities(q: np.ndarray, dh: DhParameters, threshold: float = 1e-3) -> tuple[str, ...]:
    """Return which of "shoulder", "elbow" and "wrist" are singular at the joints q (6,) [rad].

    Args:
        q: joints [rad].
        dh: the arm.
        threshold: how near counts, as the sine of an angle; for the shoulder as metres.
    """
    frames = link_frames(q, dh)
    # The wrist centre over the base axis: turning joint 1 does not move it in the arm's plane.
    beside = float(frames[5, :3, 3] @ frames[1, :3, 0])
    near = {
        "shoulder": abs(beside) < threshold,
        "elbow": abs(math.sin(q[2])) < threshold,
        "wrist": abs(math.sin(q[4])) < threshold,
    }
    return tuple(name for name, is_near in near.items() if is_near)
