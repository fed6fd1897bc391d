"""Rotation matrices, quaternions (x, y, z, w) and rotation vectors, batch-first."""

import numpy as np


def matrix_from_quaternion(quaternion: np.ndarray) -> np.ndarray:
    """Turn quaternions xyzw (..., 4), of any norm but 0, into rotation matrices (..., 3, 3)."""
    quaternion = np.asarray(quaternion, dtype=float)
    x, y, z, w = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrix_from_rpy(rpy: np.ndarray) -> np.ndarray:
    """Turn roll, pitch, yaw (3,) about the fixed axes x, y, z [rad] into a rotation matrix (3, 3)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    yaw = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return yaw @ pitch @ roll


def quaternion_from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Turn rotation matrices (..., 3, 3) into unit quaternions xyzw (..., 4) with w >= 0."""
    m = np.asarray(matrix, dtype=float)
    # Four ways to write the same quaternion; the one with the greatest divisor is the exact one.
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    yz, zx, xy = m[..., 2, 1], m[..., 0, 2], m[..., 1, 0]
    zy, xz, yx = m[..., 1, 2], m[..., 2, 0], m[..., 0, 1]
    candidates = np.stack(
        [
            np.stack([1 + xx - yy - zz, yx + xy, zx + xz, yz - zy], axis=-1),
            np.stack([yx + xy, 1 - xx + yy - zz, zy + yz, zx - xz], axis=-1),
            np.stack([zx + xz, zy + yz, 1 - xx - yy + zz, xy - yx], axis=-1),
            np.stack([yz - zy, zx - xz, xy - yx, 1 + xx + yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.stack([xx - yy - zz, yy - xx - zz, zz - xx - yy, xx + yy + zz], -1), -1)
    quaternion = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion)


def rotation_vector(matrix: np.ndarray) -> np.ndarray:
    """Turn rotation matrices (..., 3, 3) into axis times angle (..., 3), angle in [0, pi]."""
    quaternion = quaternion_from_matrix(matrix)
    vector, w = quaternion[..., :3], quaternion[..., 3:]
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, w)
    small = sine < 1e-12
    return vector * np.where(small, 2.0, angle / np.where(small, 1.0, sine))


def rotation_fault(matrix: np.ndarray, tolerance: float = 1e-6) -> str:
    """Return what keeps a matrix (3, 3) from being a rotation, "" if it is one."""
    m = np.asarray(matrix, dtype=float)
    if not np.isfinite(m).all():
        return "holds NaN or Inf"
    if np.abs(m).max() > 1e6:
        return "has entries far above 1"
    lengths = np.linalg.norm(m, axis=0)
    if np.abs(m.T @ m - np.eye(3)).max() > tolerance:
        if np.ptp(lengths) <= tolerance:
            return f"is scaled by {lengths.mean():.6g}"
        return "is not orthonormal"
    return "" if np.linalg.det(m) > 0.0 else "is reflected"
