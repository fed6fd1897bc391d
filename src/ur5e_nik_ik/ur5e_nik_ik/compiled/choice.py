"""Which answer: turns inside the limits, the distance to the seed, the posture that is preferred."""

import math

import numpy as np

from ur5e_nik_ik.compiled.branches import (
    SINGULAR,
    THETA1,
    THETA3,
    THETA5,
    THETA6,
    THETA234,
    X,
    exists,
    wrap,
)
from ur5e_nik_ik.compiled.kernel import kernel

# Columns of the options. The tolerances [m, rad]; the height [m] that no joint centre may be below;
# the branch bits that are preferred, -1 for either (ELBOW_UP: 1 up, 0 down).
POSITION, ORIENTATION, LOWEST, SHOULDER, WRIST, ELBOW_UP = range(6)
OPTIONS = 6

# The branch of the seed is kept while no joint moves further than this [rad].
HOLD = 0.5

# More than any two joint vectors inside the limits are apart, squared [rad^2].
HOLD_BONUS = 1e3
# More than that again: a preference that is not met.
PREFERENCE = 1e6


@kernel
def nearest_turn(angle: float, seed: float, low: float, high: float) -> float:
    """Return the turn of angle (angle + 2 pi k) inside [low, high] nearest to seed, or NaN."""
    full = 2.0 * math.pi
    turned = angle + full * math.floor((seed - angle) / full + 0.5)
    if turned > high:
        turned = angle + full * math.floor((high - angle) / full)
    elif turned < low:
        turned = angle + full * math.ceil((low - angle) / full)
    return turned if low <= turned <= high else math.nan


@kernel
def turn_joints(q: np.ndarray, seed: np.ndarray, limits: np.ndarray) -> tuple[float, float, int]:
    """Replace the joints q (6,) by their turns inside limits (12,) nearest to the seed (6,).

    Returns:
        the squared distance to the seed [rad^2], the largest change of a joint [rad], and the
        first joint without such a turn, -1 if all have one.
    """
    distance, largest = 0.0, 0.0
    for k in range(6):
        turned = nearest_turn(q[k], seed[k], limits[k], limits[6 + k])
        if math.isnan(turned):
            return math.inf, math.inf, k
        change = abs(turned - seed[k])
        distance += change * change
        largest = max(largest, change)
        q[k] = turned
    return distance, largest, -1


@kernel
def margins(options: np.ndarray) -> tuple[float, float]:
    """Return what may be lacking and still be met within the tolerances.

    Namely how far a straight shoulder or elbow may be from reaching [m], and |sin(q5)| up to which
    q6 may be chosen freely.
    """
    return 0.9 * options[POSITION], min(0.5 * options[ORIENTATION], 2.0 * options[POSITION], 1e-6)


@kernel
def inside(q: np.ndarray, limits: np.ndarray) -> bool:
    """Tell whether the joints q (6,) lie inside limits (12,)."""
    for k in range(6):  # noqa: SIM110, numba knows no generators
        if not limits[k] <= q[k] <= limits[6 + k]:
            return False
    return True


@kernel
def lower_bounds(
    rows: np.ndarray,
    seed: np.ndarray,
    own: int,
    limits: np.ndarray,
    arm: np.ndarray,
    options: np.ndarray,
    slack: float,
    cost: np.ndarray,
    penalty: np.ndarray,
) -> int:
    """Write what each branch costs at least (8,): inf where it does not exist.

    The cost is the squared distance to the seed, less HOLD_BONUS for the seed's own branch, plus
    the penalty (8,) of preferences that are not met.

    Returns:
        the last joint that has no turn inside the limits, -1 if there is none.
    """
    blame = -1
    for row in range(4):
        cost[2 * row] = cost[2 * row + 1] = math.inf
        # A free wrist has the same answers for both signs of q5.
        twin = row & 1 == 1 and rows[row, SINGULAR] == 1.0
        if twin or not exists(rows, row, slack):
            continue
        distance = 0.0
        for k, column in ((0, THETA1), (4, THETA5), (5, THETA6)):
            angle = wrap(rows[row, column] - arm[6 + k])
            turned = nearest_turn(angle, seed[k], limits[k], limits[6 + k])
            if math.isnan(turned):
                blame = k
            distance += (turned - seed[k]) ** 2
        unmet = 0.0
        if options[SHOULDER] >= 0.0 and options[SHOULDER] != row >> 1:
            unmet += PREFERENCE
        if options[WRIST] >= 0.0 and options[WRIST] != row & 1:
            unmet += PREFERENCE
        for elbow in range(2):
            branch = 2 * row + elbow
            theta3 = -rows[row, THETA3] if elbow == 1 else rows[row, THETA3]
            turned = nearest_turn(wrap(theta3 - arm[8]), seed[2], limits[2], limits[8])
            if math.isnan(turned):
                blame = 2
            # Joints 2 and 4 are only known by their sum; at best both change by half of it.
            rest = wrap(rows[row, THETA234] - theta3 - arm[7] - arm[9] - seed[1] - seed[3])
            least = distance + (turned - seed[2]) ** 2 + 0.5 * rest * rest
            if math.isnan(least):
                continue
            penalty[branch] = unmet
            up = (rows[row, X] > 0.0) == (elbow == 1)
            if options[ELBOW_UP] >= 0.0 and (options[ELBOW_UP] == 1.0) != up:
                penalty[branch] += PREFERENCE
            cost[branch] = penalty[branch] + least
            if branch == own:
                cost[branch] -= HOLD_BONUS
    return blame
