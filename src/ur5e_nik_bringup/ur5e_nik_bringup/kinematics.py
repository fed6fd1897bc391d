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


def link_frames(joints: ArrayLike) -> Array:
    """Poses (N, 7, 4, 4) of the DH frames in base_link, base first and tool0 last, for joints (N, 6) [rad]."""
    angles = np.atleast_2d(np.asarray(joints, dtype=float))
    # base_link is the DH base turned by pi about z.
    frames = [np.broadcast_to(np.diag([-1.0, -1.0, 1.0, 1.0]), (len(angles), 4, 4))]
    for q, d, a, alpha in zip(angles.T, D, A, ALPHA, strict=True):
        cq, sq, ca, sa = np.cos(q), np.sin(q), np.cos(alpha), np.sin(alpha)
        step = np.zeros((len(angles), 4, 4))
        step[:, 0] = np.stack([cq, -sq * ca, sq * sa, a * cq], axis=-1)
        step[:, 1] = np.stack([sq, cq * ca, -cq * sa, a * sq], axis=-1)
        step[:, 2] = [0.0, sa, ca, d]
        step[:, 3, 3] = 1.0
        frames.append(frames[-1] @ step)
    return np.stack(frames, axis=1)


def tool_pose(joints: ArrayLike) -> tuple[Array, Array]:
    """Position (3,) [m] and rotation matrix (3, 3) of tool0 in base_link for joints (6,) [rad] in DH order."""
    pose = link_frames(joints)[0, -1]
    return pose[:3, 3], pose[:3, :3]


def tilt(rotation: Array) -> float:
    """Angle [rad] between the tool's z axis and straight down."""
    return float(np.arccos(np.clip(-rotation[2, 2], -1.0, 1.0)))
