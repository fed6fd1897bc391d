"""Forward kinematics, Jacobian and pose error, batch-first. Everything is in base_link."""

import numpy as np

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.rotations import rotation_vector


def link_frames(q: np.ndarray, dh: DhParameters) -> np.ndarray:
    """Return base_link and the six DH frames as poses in base_link, (..., 7, 4, 4).

    Args:
        q: joints in DH order (..., 6) [rad].
        dh: the arm.
    """
    q = np.asarray(q, dtype=float)
    theta = q + np.asarray(dh.offset)
    cos, sin = np.cos(theta), np.sin(theta)
    cos_alpha, sin_alpha = np.cos(dh.alpha), np.sin(dh.alpha)
    link = np.zeros(q.shape + (4, 4))
    link[..., 0, 0] = cos
    link[..., 0, 1] = -sin * cos_alpha
    link[..., 0, 2] = sin * sin_alpha
    link[..., 0, 3] = cos * dh.a
    link[..., 1, 0] = sin
    link[..., 1, 1] = cos * cos_alpha
    link[..., 1, 2] = -cos * sin_alpha
    link[..., 1, 3] = sin * dh.a
    link[..., 2, 1] = sin_alpha
    link[..., 2, 2] = cos_alpha
    link[..., 2, 3] = dh.d
    link[..., 3, 3] = 1.0
    frames = np.empty(q.shape[:-1] + (7, 4, 4))
    frames[..., 0, :, :] = np.eye(4)
    for k in range(6):
        frames[..., k + 1, :, :] = frames[..., k, :, :] @ link[..., k, :, :]
    return frames


def fk(q: np.ndarray, dh: DhParameters) -> np.ndarray:
    """Return the pose of tool0 in base_link (..., 4, 4) of the joints q (..., 6) [rad]."""
    return link_frames(q, dh)[..., 6, :, :]


def jacobian(q: np.ndarray, dh: DhParameters) -> np.ndarray:
    """Return the geometric Jacobian of tool0 in base_link (..., 6, 6).

    Rows: linear [m/rad], then angular velocity [rad/rad]; one column a joint.
    """
    frames = link_frames(q, dh)
    axis = frames[..., :6, :3, 2]
    arm = frames[..., 6:, :3, 3] - frames[..., :6, :3, 3]
    columns = np.concatenate([np.cross(axis, arm), axis], axis=-1)
    return np.swapaxes(columns, -2, -1)


def pose_error(actual: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return what leads from actual to target, both (..., 4, 4), in base_link (..., 6).

    Translation [m], then rotation vector [rad]: jacobian(q) @ dq = pose_error closes it.
    """
    actual, target = np.asarray(actual, dtype=float), np.asarray(target, dtype=float)
    translation = target[..., :3, 3] - actual[..., :3, 3]
    rotation = target[..., :3, :3] @ np.swapaxes(actual[..., :3, :3], -2, -1)
    translation, turn = np.broadcast_arrays(translation, rotation_vector(rotation))
    return np.concatenate([translation, turn], axis=-1)
