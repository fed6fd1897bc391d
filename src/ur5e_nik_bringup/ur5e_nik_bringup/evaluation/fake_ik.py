"""Inverse kinematics of the downward tool in a few lines, for a cell without an IK node. No ROS here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ur5e_nik_bringup.kinematics import JOINT_LIMITS, A, D
from ur5e_nik_bringup.waypoints import nearest_turn

Array = NDArray[np.float64]


def solve(target: Array, yaw: float, seed: Array, elbow: int = 1) -> Array | None:
    """Joints (6,) of tool0 at target (3,), pointing down at a yaw, full turns as in the seed; None out of reach.

    Of the eight branches the one of the look posture; ``elbow`` -1 gives its mirrored elbow.
    """
    # Seen from the turned shoulder the tool stands at (ahead, d4); upper arm and forearm reach for what is left of
    # ahead and height when wrist lengths are taken off, which at q2 + q3 + q4 = q5 = -90 deg are constants.
    distance = np.hypot(target[0], target[1])
    if distance < D[3]:
        return None
    ahead = np.sqrt(distance**2 - D[3] ** 2)
    pan = np.arctan2(target[1], target[0]) - np.arctan2(D[3], ahead)
    x, z = -(ahead - D[4]), target[2] + D[5] - D[0]
    cosine = (x**2 + z**2 - A[1] ** 2 - A[2] ** 2) / (2 * A[1] * A[2])
    if abs(cosine) > 1.0:
        return None
    q3 = elbow * np.arccos(cosine)
    q2 = np.arctan2(-z, -x) - np.arctan2(-A[2] * np.sin(q3), -A[1] - A[2] * np.cos(q3))
    joints = np.array([pan, q2, q3, -np.pi / 2 - q2 - q3, -np.pi / 2, pan - np.pi / 2 - yaw])
    return nearest_turn(joints, seed, JOINT_LIMITS)
