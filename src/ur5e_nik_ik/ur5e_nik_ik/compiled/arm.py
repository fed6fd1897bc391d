"""The arm as a flat array, its forward kinematics and its Jacobian."""

import math
from functools import cache

import numpy as np

from ur5e_nik_ik.compiled.kernel import kernel
from ur5e_nik_ik.dh import DhParameters


@cache
def pack(dh: DhParameters) -> np.ndarray:
    """Return d1, a2, a3, d4, d5, d6 and the six joint offsets (12,)."""
    lengths = (dh.d[0], dh.a[1], dh.a[2], dh.d[3], dh.d[4], dh.d[5])
    arm = np.array(lengths + tuple(dh.offset))
    arm.flags.writeable = False
    return arm


@kernel
def forward(q: np.ndarray, arm: np.ndarray, frames: np.ndarray) -> tuple[float, float, float, float]:
    """Write where the links end and how tool0 stands into frames (8, 3), in base_link.

    Rows: the origins of the DH frames 2 to 6 (elbow, wrist 1, 2 and 3, tool0) [m], then the axes
    x, y and z of tool0. Returns what the Jacobian needs: cosine and sine of theta1 and of theta234.
    """
    d1, a2, a3, d4, d5, d6 = arm[0], arm[1], arm[2], arm[3], arm[4], arm[5]
    theta1 = q[0] + arm[6]
    theta2 = q[1] + arm[7]
    theta23 = theta2 + q[2] + arm[8]
    theta234 = theta23 + q[3] + arm[9]
    theta5 = q[4] + arm[10]
    theta6 = q[5] + arm[11]
    c1, s1 = math.cos(theta1), math.sin(theta1)
    c234, s234 = math.cos(theta234), math.sin(theta234)
    c5, s5 = math.cos(theta5), math.sin(theta5)
    c6, s6 = math.cos(theta6), math.sin(theta6)
    # In the plane of the arm: along x of DH frame 1, and up.
    x2, y2 = a2 * math.cos(theta2), d1 + a2 * math.sin(theta2)
    x3, y3 = x2 + a3 * math.cos(theta23), y2 + a3 * math.sin(theta23)
    x5, y5 = x3 + d5 * s234, y3 - d5 * c234
    # Joint 2's axis is (s1, -c1, 0); the plane's x axis is (c1, s1, 0).
    frames[0, 0], frames[0, 1], frames[0, 2] = c1 * x2, s1 * x2, y2
    frames[1, 0], frames[1, 1], frames[1, 2] = c1 * x3, s1 * x3, y3
    frames[2, 0], frames[2, 1], frames[2, 2] = c1 * x3 + s1 * d4, s1 * x3 - c1 * d4, y3
    frames[3, 0], frames[3, 1], frames[3, 2] = c1 * x5 + s1 * d4, s1 * x5 - c1 * d4, y5
    zx, zy, zz = s5 * -c234 * c1 + c5 * s1, s5 * -c234 * s1 - c5 * c1, s5 * -s234
    frames[7, 0], frames[7, 1], frames[7, 2] = zx, zy, zz
    frames[4, 0], frames[4, 1] = frames[3, 0] + d6 * zx, frames[3, 1] + d6 * zy
    frames[4, 2] = y5 + d6 * zz
    # x and y of frame 5, turned by q6.
    ux, uy, uz = c5 * c234 * c1 + s5 * s1, c5 * c234 * s1 - s5 * c1, c5 * s234
    vx, vy, vz = -s234 * c1, -s234 * s1, c234
    frames[5, 0], frames[5, 1], frames[5, 2] = c6 * ux + s6 * vx, c6 * uy + s6 * vy, c6 * uz + s6 * vz
    frames[6, 0], frames[6, 1], frames[6, 2] = c6 * vx - s6 * ux, c6 * vy - s6 * uy, c6 * vz - s6 * uz
    return c1, s1, c234, s234
