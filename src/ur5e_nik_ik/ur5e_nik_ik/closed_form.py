"""The exact inverse of the UR arm: eight branches, in a fixed order.

branch = 4 * shoulder + 2 * wrist + elbow, and a bit is 1 when
  shoulder: the wrist centre (origin of DH frame 5) lies on the +x side of DH frame 1,
  wrist:    q5 > 0 (q5 wrapped to (-pi, pi]),
  elbow:    q3 < 0 (q3 wrapped to (-pi, pi]).
The rest posture (0, -90, 90, -90, -90, 0) deg is in branch 0.
"""

import math

import numpy as np

from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.branches import COLUMNS, all_branches, all_branches_of_poses
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import link_frames

BRANCHES = 8

# Up to this |sin(q5)| the axes of joints 4 and 6 count as one line, and q6 as free: rounding makes
# q6 uncertain by 1e-16 / |sin(q5)|, and that moves wrist 1, which must stay within the slack.
SINGULAR = 1e-8

# A shoulder or elbow that lacks this much to reach is taken as straight [m].
SLACK = 1e-8


def wrap(angle: np.ndarray) -> np.ndarray:
    """Wrap angles [rad] to (-pi, pi]."""
    return math.pi - np.mod(math.pi - np.asarray(angle, dtype=float), 2.0 * math.pi)


def branch_of(q: np.ndarray, dh: DhParameters) -> np.ndarray:
    """Return the branch code 0..7 (...) of the joints q (..., 6) [rad]."""
    q = np.asarray(q, dtype=float)
    frames = link_frames(q, dh)
    shoulder = (frames[..., 5, :3, 3] * frames[..., 1, :3, 0]).sum(axis=-1) > 0.0
    wrist = wrap(q[..., 4]) > 0.0
    elbow = wrap(q[..., 2]) < 0.0
    return 4 * shoulder + 2 * wrist + elbow


def closed_form(target: np.ndarray, dh: DhParameters, slack: float = SLACK) -> tuple[np.ndarray, np.ndarray]:
    """Solve one pose of tool0 in base_link (4, 4), or many (N, 4, 4), for all branches.

    Args:
        target: rigid poses; nothing is checked.
        dh: the arm.
        slack: a shoulder or elbow that lacks this much to reach is taken as straight [m].

    Returns:
        joints (8, 6) or (N, 8, 6) [rad], each in (-pi, pi], 0 where there is no solution, and
        which of them are solutions, bool (8,) or (N, 8). Where q6 is free (q5 is 0 or pi) it is 0,
        or as near to 0 as can be reached.
    """
    target = np.array(target, dtype=float, order="C")
    arm, rows = pack(dh), np.empty((4, COLUMNS))
    joints = np.empty(target.shape[:-2] + (BRANCHES, 6))
    valid = np.empty(target.shape[:-2] + (BRANCHES,), dtype=bool)
    solve = all_branches if target.ndim == 2 else all_branches_of_poses
    solve(target, arm, slack, SINGULAR, rows, joints, valid)
    return joints, valid
