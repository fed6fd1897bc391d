"""Newton's method on the pose error, with the analytic Jacobian."""

import numpy as np

from ur5e_nik_ik.compiled.arm import forward
from ur5e_nik_ik.compiled.kernel import kernel
from ur5e_nik_ik.compiled.pose import pose_error

# A joint never moves further than this in one step [rad].
LONGEST_STEP = 0.5


@kernel
def jacobian(
    frames: np.ndarray, cosines: tuple[float, float, float, float], arm: np.ndarray, matrix: np.ndarray
) -> None:
    """Write the geometric Jacobian of tool0 into the left six columns of matrix (6, 7).

    Frames and cosines are what arm.forward wrote and returned.
    """
    c1, s1, c234, s234 = cosines
    x, y, z = frames[4, 0], frames[4, 1], frames[4, 2]
    matrix[0, 0], matrix[1, 0], matrix[2, 0] = -y, x, 0.0
    matrix[3, 0], matrix[4, 0], matrix[5, 0] = 0.0, 0.0, 1.0
    for k in range(1, 6):
        if k == 1:
            rx, ry, rz = x, y, z - arm[0]
        else:
            rx, ry, rz = x - frames[k - 2, 0], y - frames[k - 2, 1], z - frames[k - 2, 2]
        if k < 4:
            ax, ay, az = s1, -c1, 0.0
        elif k == 4:
            ax, ay, az = s234 * c1, s234 * s1, -c234
        else:
            ax, ay, az = frames[7, 0], frames[7, 1], frames[7, 2]
        matrix[0, k] = ay * rz - az * ry
        matrix[1, k] = az * rx - ax * rz
        matrix[2, k] = ax * ry - ay * rx
        matrix[3, k], matrix[4, k], matrix[5, k] = ax, ay, az


@kernel
def solve6(matrix: np.ndarray) -> bool:
    """Solve the system of matrix (6, 7) in place; the answer is its last column.

    Returns:
        whether it could be solved.
    """
    for k in range(6):
        best = k
        for i in range(k + 1, 6):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if not abs(matrix[best, k]) > 1e-9:
            return False
        if best != k:
            for j in range(k, 7):
                matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, 6):
            factor = matrix[i, k] * inverse
            for j in range(k + 1, 7):
                matrix[i, j] -= factor * matrix[k, j]
    for k in range(5, -1, -1):
        value = matrix[k, 6]
        for j in range(k + 1, 6):
            value -= matrix[k, j] * matrix[j, 6]
        matrix[k, 6] = value / matrix[k, k]
    return True


@kernel
def polish(
    q: np.ndarray,
    pose: np.ndarray,
    arm: np.ndarray,
    position_tolerance: float,
    orientation_tolerance: float,
    steps: int,
    frames: np.ndarray,
    error: np.ndarray,
    matrix: np.ndarray,
) -> tuple[int, float, float]:
    """Move the joints q (6,) in place until tool0 is at pose, in at most so many steps.

    Frames (8, 3), error (6,) and matrix (6, 7) are scratch; frames end up as those of q. Returns the
    steps taken, and the position [m] and orientation error [rad] of q as it is returned.
    """
    taken = 0
    while True:
        cosines = forward(q, arm, frames)
        length, angle = pose_error(frames, pose, error)
        if length <= position_tolerance and angle <= orientation_tolerance:
            return taken, length, angle
        if taken == steps:
            return taken, length, angle
        jacobian(frames, cosines, arm, matrix)
        for i in range(6):
            matrix[i, 6] = error[i]
        if not solve6(matrix):
            return taken, length, angle
        largest = 0.0
        for i in range(6):
            largest = max(largest, abs(matrix[i, 6]))
        scale = min(1.0, LONGEST_STEP / largest)
        for i in range(6):
            q[i] += scale * matrix[i, 6]
        taken += 1
