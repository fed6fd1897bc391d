"""The exact inverse of the UR arm: eight branches, in a fixed order.

branch = 4 * shoulder + 2 * wrist + elbow, and a bit is 1 when
  shoulder: the wrist centre (origin of DH frame 5) lies on the +x side of DH frame 1,
  wrist:    sin(q5) > 0,
  elbow:    q3 < 0 (q3 wrapped to (-pi, pi]).
The rest posture (0, -90, 90, -90, -90, 0) deg is in branch 0.
"""

import math

import numpy as np

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import link_frames

BRANCHES = 8

# Below this |sin(q5)| the axes of joints 4 and 6 are one line and q6 is free.
SINGULAR = 1e-9


def wrap(angle: np.ndarray) -> np.ndarray:
    """Wrap angles [rad] to (-pi, pi]."""
    return math.pi - np.mod(math.pi - np.asarray(angle, dtype=float), 2.0 * math.pi)


def branch_of(q: np.ndarray, dh: DhParameters) -> np.ndarray:
    """Return the branch code 0..7 (...) of the joints q (..., 6) [rad]."""
    q = np.asarray(q, dtype=float)
    frames = link_frames(q, dh)
    x1 = frames[..., 1, :3, 0]
    shoulder = (frames[..., 5, :3, 3] * x1).sum(axis=-1) > 0.0
    wrist = np.sin(q[..., 4]) > 0.0
    elbow = wrap(q[..., 2]) < 0.0
    return 4 * shoulder + 2 * wrist + elbow


def closed_form(
    target: np.ndarray, dh: DhParameters, slack: float = 1e-9
) -> tuple[np.ndarray, np.ndarray]:
    """Solve poses of tool0 in base_link (N, 4, 4) for all branches.

    Args:
        target: rigid poses (N, 4, 4).
        dh: the arm.
        slack: a shoulder or elbow that lacks this much to reach is taken as straight [m].

    Returns:
        joints (N, 8, 6) [rad], each in (-pi, pi], 0 where there is no solution, and
        which of them are solutions, bool (N, 8). Where q6 is free (q5 is 0 or pi) it is 0.
    """
    target = np.asarray(target, dtype=float)
    d1, d4, d5, d6 = (dh.d[k] for k in (0, 3, 4, 5))
    a2, a3 = dh.a[1], dh.a[2]
    x6, y6, z6 = (target[:, None, :3, k] for k in range(3))
    p5 = target[:, None, :3, 3] - d6 * z6
    branch = np.arange(BRANCHES)
    shoulder, wrist, elbow = branch & 4, branch & 2, branch & 1

    # Shoulder: the wrist centre lies d4 beside the plane of the arm.
    radius = np.hypot(p5[..., 0], p5[..., 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = np.arcsin(np.clip(d4 / radius, -1.0, 1.0))
    theta1 = np.arctan2(p5[..., 1], p5[..., 0]) + np.where(shoulder, tilt, math.pi - tilt)
    valid = radius >= d4 - slack
    cos1, sin1 = np.cos(theta1), np.sin(theta1)

    # Wrist: the axis of joint 2, seen from tool0, is (s5 c6, -s5 s6, c5).
    along = [sin1 * axis[..., 0] - cos1 * axis[..., 1] for axis in (x6, y6, z6)]
    sign5 = np.where(wrist, 1.0, -1.0)
    sin5 = sign5 * np.hypot(along[0], along[1])
    q5 = np.arctan2(sin5, along[2])
    q6 = np.where(np.abs(sin5) < SINGULAR, 0.0, np.arctan2(-sign5 * along[1], sign5 * along[0]))

    # Elbow: a triangle of both links in the plane of the arm.
    z4 = -np.sin(q6)[..., None] * x6 - np.cos(q6)[..., None] * y6
    p4 = p5 - d5 * z4
    x, y = cos1 * p4[..., 0] + sin1 * p4[..., 1], p4[..., 2] - d1
    reach = np.hypot(x, y)
    valid = valid & (reach <= abs(a2 + a3) + slack) & (reach >= abs(a2 - a3) - slack)
    cos3 = (reach * reach - a2 * a2 - a3 * a3) / (2.0 * a2 * a3)
    q3 = np.arccos(np.clip(cos3, -1.0, 1.0)) * np.where(elbow, -1.0, 1.0)
    # From the sign of q3 itself: the shoulder side does not decide where the elbow is.
    q2 = np.arctan2(y, x) - np.arctan2(a3 * np.sin(q3), a2 + a3 * np.cos(q3))
    q234 = np.arctan2(cos1 * z4[..., 0] + sin1 * z4[..., 1], -z4[..., 2])
    q4 = q234 - q2 - q3

    joints = np.stack(np.broadcast_arrays(theta1, q2, q3, q4, q5, q6), axis=-1)
    joints = wrap(joints - np.asarray(dh.offset))
    return np.where(valid[..., None], joints, 0.0), valid
