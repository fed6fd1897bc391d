"""The exact geometry of the eight branches (their order is closed_form's).

A row is what a pair (shoulder, wrist) fixes; each row has the two elbows of one triangle.
"""

import math

import numpy as np

from ur5e_nik_ik.compiled.kernel import kernel

# Columns of a row. FAR and NEAR are what the elbow triangle lacks to close [m], <= 0 if it does;
# X and Y place wrist 1 in the plane of the arm, seen from the shoulder; the angles are theta, that is
# with the joints' offsets, and THETA3 is that of elbow 0; SINGULAR is 1 where q6 is free.
# A row that the shoulder cannot reach has FAR = inf.
FAR, NEAR, X, Y, SIN3, COS3, THETA1, THETA3, THETA5, THETA6, THETA234, SINGULAR = range(12)
COLUMNS = 12


@kernel
def wrap(angle: float) -> float:
    """Wrap an angle of a few turns at most to (-pi, pi] [rad]; never past pi by rounding."""
    while angle > math.pi:
        angle -= 2.0 * math.pi
    while angle <= -math.pi:
        angle += 2.0 * math.pi
    return angle


@kernel
def half_turn(angle: float) -> float:
    """Turn an angle in (-pi, pi] by pi and stay there."""
    return angle - math.pi if angle > 0.0 else angle + math.pi


@kernel
def free_wrist(
    ex: float, ey: float, fx: float, fy: float, px: float, py: float, arm: np.ndarray, wish: float
) -> tuple[float, float]:
    """Choose q6 where it is free (q5 = 0 or pi): the angle nearest `wish` that can be reached.

    The axes of joints 4 and 6 are one line there, so q6 swings wrist 1 on a circle around the
    wrist centre, and only a part of that circle may lie within reach of the elbow.

    (ex, ey) and (fx, fy) are the axes x and y of tool0 in the plane of the arm, (px, py) is the wrist
    centre in it, seen from the shoulder. Returns the cosine and sine of theta6.
    """
    c6, s6 = math.cos(wish), math.sin(wish)
    distance = math.sqrt(px * px + py * py)
    if distance < 1e-9:
        return c6, s6
    d5 = arm[4]
    longest, shortest = arm[1] + arm[2], arm[1] - arm[2]
    ux, uy = -s6 * ex - c6 * fx, -s6 * ey - c6 * fy
    gamma = math.atan2(px * uy - py * ux, px * ux + py * uy)
    base, scale = distance * distance + d5 * d5, 2.0 * d5 * distance
    least = math.acos(min(1.0, max(-1.0, (base - shortest * shortest) / scale)))
    most = math.acos(min(1.0, max(-1.0, (base - longest * longest) / scale)))
    bent = min(max(abs(gamma), least), most)
    if bent == abs(gamma):
        return c6, s6
    if gamma < 0.0:
        bent = -bent
    cos, sin = math.cos(bent) / distance, math.sin(bent) / distance
    ux, uy = px * cos - py * sin, py * cos + px * sin
    return -(ux * fx + uy * fy), -(ux * ex + uy * ey)


@kernel
def close_triangle(rows: np.ndarray, row: int, arm: np.ndarray) -> None:
    """Fill what belongs to the elbow from X and Y."""
    a2, a3 = arm[1], arm[2]
    reach = math.sqrt(rows[row, X] * rows[row, X] + rows[row, Y] * rows[row, Y])
    far, near = reach + a2 + a3, abs(a2 - a3) - reach
    # 1 - cos and 1 + cos from what the elbow lacks: exact where it is straight or folded.
    straight = max(0.0, -far * (reach - a2 - a3)) / (2.0 * a2 * a3)
    folded = max(0.0, -near * (reach + abs(a2 - a3))) / (2.0 * a2 * a3)
    rows[row, FAR], rows[row, NEAR] = far, near
    rows[row, SIN3], rows[row, COS3] = math.sqrt(straight * folded), 0.5 * (folded - straight)
    rows[row, THETA3] = math.atan2(rows[row, SIN3], rows[row, COS3])


@kernel
def fill_rows(pose: np.ndarray, arm: np.ndarray, slack: float, singular: float, wish: float, rows: np.ndarray) -> float:
    """Fill rows (4, COLUMNS), index 2 * shoulder + wrist; return what the shoulder lacks [m].

    Args:
        pose: rigid pose of tool0 in base_link (4, 4).
        arm: see arm.pack.
        slack: a shoulder that lacks this much is taken as straight [m].
        singular: q6 is taken as free where |sin(q5)| is not above this.
        wish: q6 that is wanted where it is free [rad].
        rows: what is written.
    """
    d1, d4, d5, d6 = arm[0], arm[3], arm[4], arm[5]
    px = pose[0, 3] - d6 * pose[0, 2]
    py = pose[1, 3] - d6 * pose[1, 2]
    pz = pose[2, 3] - d6 * pose[2, 2]
    radius = math.sqrt(px * px + py * py)
    lack = d4 - radius
    if lack > slack:
        for row in range(4):
            rows[row, FAR] = math.inf
        return lack
    # The wrist centre lies d4 beside the plane of the arm.
    along = math.sqrt(max(0.0, -lack * (radius + d4)))
    scale = 1.0 / (radius * math.sqrt(along * along + d4 * d4))
    for shoulder in range(2):
        h = along if shoulder == 1 else -along
        c1, s1 = (px * h - py * d4) * scale, (py * h + px * d4) * scale
        theta1 = math.atan2(s1, c1)
        # The axis of joint 2, seen from tool0, is (s5 c6, -s5 s6, c5).
        nx = s1 * pose[0, 0] - c1 * pose[1, 0]
        ny = s1 * pose[0, 1] - c1 * pose[1, 1]
        nz = s1 * pose[0, 2] - c1 * pose[1, 2]
        # Axes x and y of tool0 in the plane of the arm.
        ex, ey = c1 * pose[0, 0] + s1 * pose[1, 0], pose[2, 0]
        fx, fy = c1 * pose[0, 1] + s1 * pose[1, 1], pose[2, 1]
        s5 = math.sqrt(nx * nx + ny * ny)
        free = s5 <= singular
        if free:
            c6, s6 = free_wrist(ex, ey, fx, fy, h, pz - d1, arm, wish)
            theta5 = 0.0 if nz > 0.0 else math.pi
            theta6 = math.atan2(s6, c6)
        else:
            c6, s6 = nx / s5, -ny / s5
            theta5 = math.atan2(s5, nz)
            theta6 = math.atan2(-ny, nx)
        # z of DH frame 4 in the plane of the arm is (s234, -c234).
        s234, c234 = -s6 * ex - c6 * fx, s6 * ey + c6 * fy
        if free:
            norm = math.sqrt(s234 * s234 + c234 * c234)
            s234, c234 = s234 / norm, c234 / norm
        theta234 = math.atan2(s234, c234)
        for wrist in range(2):
            row = 2 * shoulder + wrist
            if wrist == 1 or free:
                rows[row, THETA5], rows[row, THETA6], rows[row, THETA234] = theta5, theta6, theta234
                x, y = h - d5 * s234, pz - d1 + d5 * c234
            else:
                rows[row, THETA5] = -theta5
                rows[row, THETA6], rows[row, THETA234] = half_turn(theta6), half_turn(theta234)
                x, y = h + d5 * s234, pz - d1 - d5 * c234
            rows[row, THETA1] = theta1
            rows[row, X], rows[row, Y] = x, y
            rows[row, SINGULAR] = 1.0 if free else 0.0
            close_triangle(rows, row, arm)
    return lack


@kernel
def exists(rows: np.ndarray, row: int, slack: float) -> bool:
    """Tell whether the triangle of a row closes, but for the slack [m]."""
    return rows[row, FAR] <= slack and rows[row, NEAR] <= slack


@kernel
def bend_elbow(rows: np.ndarray, row: int, elbow: int, arm: np.ndarray, joints: np.ndarray) -> None:
    """Write the joints (6,) of one branch, each in (-pi, pi]; its triangle must close."""
    x, y = rows[row, X], rows[row, Y]
    # From the sign of q3 itself: the shoulder side does not decide where the elbow is.
    sign = -1.0 if elbow == 1 else 1.0
    k1, k2 = arm[1] + arm[2] * rows[row, COS3], sign * arm[2] * rows[row, SIN3]
    theta2 = math.atan2(y * k1 - x * k2, x * k1 + y * k2)
    theta3 = sign * rows[row, THETA3]
    joints[0] = wrap(rows[row, THETA1] - arm[6])
    joints[1] = wrap(theta2 - arm[7])
    joints[2] = wrap(theta3 - arm[8])
    joints[3] = wrap(rows[row, THETA234] - theta2 - theta3 - arm[9])
    joints[4] = wrap(rows[row, THETA5] - arm[10])
    joints[5] = wrap(rows[row, THETA6] - arm[11])


@kernel
def all_branches(
    pose: np.ndarray,
    arm: np.ndarray,
    slack: float,
    singular: float,
    rows: np.ndarray,
    joints: np.ndarray,
    valid: np.ndarray,
) -> None:
    """Write the joints (8, 6) and validity (8,) of all branches of one pose."""
    fill_rows(pose, arm, slack, singular, arm[11], rows)
    for branch in range(8):
        row = branch >> 1
        valid[branch] = exists(rows, row, slack)
        if valid[branch]:
            bend_elbow(rows, row, branch & 1, arm, joints[branch])
        else:
            for k in range(6):
                joints[branch, k] = 0.0


@kernel
def all_branches_of_poses(
    poses: np.ndarray,
    arm: np.ndarray,
    slack: float,
    singular: float,
    rows: np.ndarray,
    joints: np.ndarray,
    valid: np.ndarray,
) -> None:
    """Write the joints (N, 8, 6) and validity (N, 8) of poses (N, 4, 4)."""
    for n in range(len(poses)):
        all_branches(poses[n], arm, slack, singular, rows, joints[n], valid[n])


@kernel
def branch_code(x: float, q: np.ndarray, arm: np.ndarray) -> int:
    """Return the branch code 0..7 of joints (6,) whose wrist centre is at x along DH frame 1 [m]."""
    code = 4 if x > 0.0 else 0
    if wrap(q[4] + arm[10]) > 0.0:
        code += 2
    if wrap(q[2] + arm[8]) < 0.0:
        code += 1
    return code


@kernel
def branch_of(q: np.ndarray, arm: np.ndarray) -> int:
    """Return the branch code 0..7 of joints (6,)."""
    theta2 = q[1] + arm[7]
    theta23 = theta2 + q[2] + arm[8]
    theta234 = theta23 + q[3] + arm[9]
    x = arm[1] * math.cos(theta2) + arm[2] * math.cos(theta23) + arm[4] * math.sin(theta234)
    return branch_code(x, q, arm)
