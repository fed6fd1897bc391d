"""Where the tool is: forward kinematics of the UR5e, to check what the IK service answered and to lift the tool.

The inverse belongs to the IK node; this page only holds what the task must know to trust it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Standard DH parameters of the UR5e [m, rad]; Webots' rounded lengths move tool0 by 1.5 mm at most.
D = (0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996)
A = (0.0, -0.425, -0.3922, 0.0, 0.0, 0.0)
ALPHA = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)

JOINT_LIMITS = np.array([2.0, 2.0, 1.0, 2.0, 2.0, 2.0]) * np.pi  # magnitudes [rad]


def tool_pose(joints: ArrayLike) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation matrix (3, 3) of tool0 in base_link for joints (6,) [rad] in DH order."""
    pose = np.diag([-1.0, -1.0, 1.0, 1.0])  # base_link is the DH base turned by pi about z
    for q, d, a, alpha in zip(np.asarray(joints, dtype=float), D, A, ALPHA, strict=True):
        cq, sq, ca, sa = np.cos(q), np.sin(q), np.cos(alpha), np.sin(alpha)
        pose = pose @ np.array(
            [
                [cq, -sq * ca, sq * sa, a * cq],
                [sq, cq * ca, -cq * sa, a * sq],
                [0.0, sa, ca, d],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
    return pose[:3, 3], pose[:3, :3]


def tilt(rotation: Array) -> float:
    """Angle [rad] between the tool's z axis and straight down."""
    return float(np.arccos(np.clip(-rotation[2, 2], -1.0, 1.0)))
