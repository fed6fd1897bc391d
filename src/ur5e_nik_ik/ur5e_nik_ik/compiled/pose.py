"""Poses: what makes one usable, and how far two of them are apart."""

import math

import numpy as np

from ur5e_nik_ik.compiled.kernel import kernel

# Rounding to three or four decimals is repaired; what is further from a rotation is refused.
RIGID_TOLERANCE = 1e-3

RIGID, NOT_FINITE, NOT_RIGID = range(3)


@kernel
def repair(target: np.ndarray, pose: np.ndarray) -> int:
    """Copy target (4, 4) into pose with the nearest rotation; return RIGID or what is wrong."""
    for i in range(3):
        for j in range(4):
            if not math.isfinite(target[i, j]):
                return NOT_FINITE
            pose[i, j] = target[i, j]
    for j in range(4):
        pose[3, j] = 1.0 if j == 3 else 0.0
        # Also false for NaN.
        if not abs(target[3, j] - pose[3, j]) <= 1e-9:
            return NOT_RIGID
    # R (3 - R^T R) / 2 leads to the nearest rotation, each time with the square of the deviation.
    for _ in range(4):
        xx = pose[0, 0] * pose[0, 0] + pose[1, 0] * pose[1, 0] + pose[2, 0] * pose[2, 0]
        yy = pose[0, 1] * pose[0, 1] + pose[1, 1] * pose[1, 1] + pose[2, 1] * pose[2, 1]
        zz = pose[0, 2] * pose[0, 2] + pose[1, 2] * pose[1, 2] + pose[2, 2] * pose[2, 2]
        xy = pose[0, 0] * pose[0, 1] + pose[1, 0] * pose[1, 1] + pose[2, 0] * pose[2, 1]
        yz = pose[0, 1] * pose[0, 2] + pose[1, 1] * pose[1, 2] + pose[2, 1] * pose[2, 2]
        zx = pose[0, 2] * pose[0, 0] + pose[1, 2] * pose[1, 0] + pose[2, 2] * pose[2, 0]
        deviation = max(max(abs(xx - 1.0), abs(yy - 1.0), abs(zz - 1.0)), max(abs(xy), abs(yz), abs(zx)))
        if deviation > RIGID_TOLERANCE:
            return NOT_RIGID
        if deviation < 1e-15:
            break
        for i in range(3):
            x, y, z = pose[i, 0], pose[i, 1], pose[i, 2]
            pose[i, 0] = x - 0.5 * (x * (xx - 1.0) + y * xy + z * zx)
            pose[i, 1] = y - 0.5 * (x * xy + y * (yy - 1.0) + z * yz)
            pose[i, 2] = z - 0.5 * (x * zx + y * yz + z * (zz - 1.0))
    determinant = (
        pose[0, 0] * (pose[1, 1] * pose[2, 2] - pose[1, 2] * pose[2, 1])
        + pose[0, 1] * (pose[1, 2] * pose[2, 0] - pose[1, 0] * pose[2, 2])
        + pose[0, 2] * (pose[1, 0] * pose[2, 1] - pose[1, 1] * pose[2, 0])
    )
    return RIGID if determinant > 0.0 else NOT_RIGID


@kernel
def pose_error(frames: np.ndarray, pose: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Write what leads from tool0 in frames (arm.forward) to pose into error (6,).

    Returns:
        its length [m] and its angle [rad].
    """
    cosine = -1.0
    error[3] = error[4] = error[5] = 0.0
    for j in range(3):
        x, y, z = frames[5 + j, 0], frames[5 + j, 1], frames[5 + j, 2]
        u, v, w = pose[0, j], pose[1, j], pose[2, j]
        error[j] = pose[j, 3] - frames[4, j]
        error[3] += 0.5 * (y * w - z * v)
        error[4] += 0.5 * (z * u - x * w)
        error[5] += 0.5 * (x * v - y * u)
        cosine += x * u + y * v + z * w
    length = math.sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2])
    sine = math.sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
    angle = math.atan2(sine, 0.5 * cosine)
    if sine > 0.0:
        for j in range(3, 6):
            error[j] *= angle / sine
    return length, angle
