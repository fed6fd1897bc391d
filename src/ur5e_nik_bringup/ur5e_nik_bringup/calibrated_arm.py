"""A real arm's own lengths: its kinematics file, as ur_calibration writes it, as DH parameters for the IK node.

A calibrated arm is not exactly a UR arm: its axes are tilted by a little. The DH parameters keep its lengths and drop
the rest; how far that moves tool0 is measured, so that it can be said.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

Array = NDArray[np.float64]

LINKS = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")
NUMBERS = ("x", "y", "z", "roll", "pitch", "yaw")
# More than any factory calibration differs from the nominal arm [m].
LARGEST_CHANGE = 0.02
NOMINAL_D = (0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996)
NOMINAL_A = (0.0, -0.425, -0.3922, 0.0, 0.0, 0.0)
ALPHA = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)


class CalibratedArmError(ValueError):
    """A kinematics file that cannot be used; the message is one line."""


@dataclass(frozen=True)
class CalibratedArm:
    """Standard DH parameters d and a [m].

    deviation: greatest distance between their tool0 and the calibrated chain's, of 1000 random postures [m].
    """

    d: tuple[float, ...]
    a: tuple[float, ...]
    deviation: float

    def write(self, path: Path) -> None:
        """Write the file that the IK node's parameter `dh` can name."""
        path.write_text(yaml.safe_dump({"name": path.stem, "d": list(self.d), "a": list(self.a)}))


def read_kinematics(path: Path) -> CalibratedArm:
    """The arm of a kinematics file. Raises CalibratedArmError."""
    try:
        content = yaml.safe_load(path.read_text())
        origins = [_origin(content["kinematics"][link]) for link in LINKS]
    except OSError as error:
        raise CalibratedArmError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise CalibratedArmError(f"{path} is not YAML") from None
    except (KeyError, TypeError, ValueError):
        raise CalibratedArmError(
            f"{path} must hold kinematics: with {', '.join(LINKS)}, each with {', '.join(NUMBERS)}, as ur_calibration"
            " writes it"
        ) from None
    (_, _, forearm, wrist_1, wrist_2, wrist_3) = origins
    d = (origins[0][2, 3], 0.0, 0.0, wrist_1[2, 3], -wrist_2[1, 3], wrist_3[1, 3])
    a = (0.0, forearm[0, 3], wrist_1[0, 3], 0.0, 0.0, 0.0)
    change = max(np.abs(np.subtract(d, NOMINAL_D)).max(), np.abs(np.subtract(a, NOMINAL_A)).max())
    if not change < LARGEST_CHANGE:
        raise CalibratedArmError(
            f"{path}: a length differs by {1e3 * change:.0f} mm from a UR5e's: another arm's file?"
        )
    postures = np.random.default_rng(0).uniform(-np.pi, np.pi, (1000, 6))
    deviation = max(float(np.linalg.norm(_chain(origins, q) - _dh_chain(d, a, q))) for q in postures)
    return CalibratedArm(tuple(map(float, d)), tuple(map(float, a)), deviation)


def _origin(numbers: dict[str, Any]) -> Array:
    """Pose (4, 4) of a joint in the link before it."""
    x, y, z, roll, pitch, yaw = (float(numbers[name]) for name in NUMBERS)
    if not np.all(np.isfinite([x, y, z, roll, pitch, yaw])):
        raise ValueError
    cr, sr, cp, sp, cy, sy = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch), np.cos(yaw), np.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, x],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, y],
            [-sp, cp * sr, cp * cr, z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def _chain(origins: list[Array], joints: Array) -> Array:
    """Position (3,) of tool0 by the calibrated chain, in `base`."""
    total = np.eye(4)
    for origin, q in zip(origins, joints, strict=True):
        c, s = np.cos(q), np.sin(q)
        turn = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        total = total @ origin @ turn
    return total[:3, 3]


def _dh_chain(d: tuple[float, ...], a: tuple[float, ...], joints: Array) -> Array:
    """The same by DH parameters."""
    total = np.eye(4)
    for q, offset, length, alpha in zip(joints, d, a, ALPHA, strict=True):
        cq, sq, ca, sa = np.cos(q), np.sin(q), np.cos(alpha), np.sin(alpha)
        total = total @ np.array(
            [
                [cq, -sq * ca, sq * sa, length * cq],
                [sq, cq * ca, -cq * sa, length * sq],
                [0.0, sa, ca, offset],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
    return total[:3, 3]
