"""The verified solve of one pose: the nearest answer first, by a network where there is one."""

import math

import numpy as np

from ur5e_nik_ik.compiled.branches import COLUMNS, SINGULAR, bend_elbow, branch_code, branch_of, exists, fill_rows
from ur5e_nik_ik.compiled.choice import (
    HOLD,
    HOLD_BONUS,
    LOWEST,
    ORIENTATION,
    POSITION,
    inside,
    lower_bounds,
    margins,
    turn_joints,
)
from ur5e_nik_ik.compiled.kernel import kernel
from ur5e_nik_ik.compiled.newton import polish
from ur5e_nik_ik.compiled.packing import LIMITS, NETWORKS, OPTIONS, assign, predict
from ur5e_nik_ik.compiled.pose import RIGID, repair

# Which solver may answer (all three), and which one did (the last two).
AUTO, NETWORK, CLOSED_FORM = range(3)

# What came of it: SOLVED, what else pose.repair says, or the gravest of these.
SOLVED = RIGID
WRONG_SHAPE, BAD_SEED, UNREACHABLE, OUTSIDE_LIMITS, NOT_COVERED, TOO_LOW, UNVERIFIED = range(3, 10)

NEWTON_STEPS = 3

# A seed may lie this much outside of +-2 pi: noise of an encoder [rad].
SEED_LIMIT = 2.0 * math.pi + 0.1

# Seed and pose, one after the other: what a search was asked, once it was checked.
QUESTION = 6 + 16

# The scratch of a search: one array, a block of its rows a purpose.
_ROWS, _CANDIDATES, _FRAMES, _MATRIX, _POSE = 0, 4, 12, 20, 26
_COST, _PENALTY, _ERROR = 30, 31, 32
SCRATCH = (33, COLUMNS)


@kernel
def lowest(frames: np.ndarray) -> float:
    """Return the height of the lowest joint centre or tool0 [m]."""
    height = frames[0, 2]
    for k in range(1, 5):
        height = min(height, frames[k, 2])
    return height


@kernel
def verify(
    q: np.ndarray,
    seed: np.ndarray,
    limits: np.ndarray,
    branch: int,
    solver: int,
    pose: np.ndarray,
    arm: np.ndarray,
    options: np.ndarray,
    frames: np.ndarray,
    error: np.ndarray,
    matrix: np.ndarray,
) -> tuple[bool, int, float, float]:
    """Polish a network's joints q (6,) in place, and judge the joints that come out.

    Returns:
        whether they meet the pose inside the limits, Newton steps, position and orientation error.
    """
    position, orientation = options[POSITION], options[ORIENTATION]
    steps = NEWTON_STEPS if solver == NETWORK else 0
    steps, length, angle = polish(q, pose, arm, position, orientation, steps, frames, error, matrix)
    good = length <= position and angle <= orientation
    if good and solver == NETWORK:
        # Polishing may have led to another branch, or across a limit.
        theta1 = q[0] + arm[6]
        x = math.cos(theta1) * frames[3, 0] + math.sin(theta1) * frames[3, 1]
        good = branch_code(x, q, arm) == branch
        if good and not inside(q, limits):
            _, _, joint = turn_joints(q, seed, limits)
            _, length, angle = polish(q, pose, arm, position, orientation, 0, frames, error, matrix)
            good = joint < 0 and length <= position and angle <= orientation
    return good, steps, length, angle


@kernel
def search(
    target: np.ndarray,
    seed: np.ndarray,
    mode: int,
    settings: np.ndarray,
    index: np.ndarray,
    scratch: np.ndarray,
    work: np.ndarray,
    joints: np.ndarray,
    question: np.ndarray,
) -> tuple[int, int, int, int, float, float]:
    """Find the joints (6,) of one pose, verified by their own forward kinematics.

    The branches are a queue, ordered by what each costs at least (choice.lower_bounds); the
    first is worked out until the cheapest one is also verified, so most are never worked out.

    Args:
        target: pose of tool0 in base_link (4, 4), not yet checked.
        seed: joints (6,) [rad], not yet checked.
        mode: AUTO, NETWORK or CLOSED_FORM.
        settings: packing.pack_solver.
        index: packing.pack_solver.
        scratch: of shape SCRATCH.
        work: packing.pack_solver.
        joints: the answer (6,), only meant if it is SOLVED.
        question: seed and pose (QUESTION,) are copied here, for search_others.

    Returns:
        what came of it, the branch, the solver that answered, Newton steps, position error [m],
        orientation error [rad]. Where it is not SOLVED the branch is the joint to blame, or -1.
    """
    arm, limits, options = settings[:LIMITS], settings[LIMITS:OPTIONS], settings[OPTIONS:NETWORKS]
    rows, candidates = scratch[_ROWS:_CANDIDATES], scratch[_CANDIDATES:_FRAMES]
    frames, matrix = scratch[_FRAMES:_MATRIX], scratch[_MATRIX:_POSE]
    pose, error = scratch[_POSE:_COST], scratch[_ERROR]
    cost, penalty = scratch[_COST], scratch[_PENALTY]

    if target.shape != (4, 4) or len(seed) != 6:
        return WRONG_SHAPE, -1, 0, 0, 0.0, 0.0
    outcome = repair(target, pose)
    if outcome != RIGID:
        return outcome, -1, 0, 0, 0.0, 0.0
    for k in range(6):
        # Also true for NaN.
        if not abs(seed[k]) <= SEED_LIMIT:
            return BAD_SEED, k, 0, 0, 0.0, 0.0
        question[k] = seed[k]
    for k in range(16):
        question[6 + k] = pose[k // 4, k % 4]

    slack, singular = margins(options)
    fill_rows(pose, arm, slack, singular, seed[5] + arm[11], rows)
    own = branch_of(seed, arm)
    blame = lower_bounds(rows, seed, own, limits, arm, options, slack, cost, penalty)
    outcome = UNREACHABLE
    for row in range(4):
        if exists(rows, row, slack):
            outcome = OUTSIDE_LIMITS
    assigned = 0 if mode == CLOSED_FORM else assign(settings, index, pose)
    # One bit a branch: its joints are worked out.
    known = 0

    while True:
        branch = 0
        for other in range(1, 8):
            if cost[other] < cost[branch]:
                branch = other
        if cost[branch] == math.inf:
            return outcome, blame, 0, 0, 0.0, 0.0
        q, bit = candidates[branch], 1 << branch
        network = ((assigned >> 4 * branch) & 15) - 1
        solver = NETWORK if network >= 0 else CLOSED_FORM
        if mode == AUTO and rows[branch >> 1, SINGULAR] == 1.0:
            # Where q6 is free it comes from the seed, of which a network knows nothing.
            solver = CLOSED_FORM
        if mode == NETWORK and solver != NETWORK:
            failure = NOT_COVERED
        elif not known & bit:
            if solver == NETWORK:
                predict(settings, index, network, branch, pose, work, q)
            else:
                bend_elbow(rows, branch >> 1, branch & 1, arm, q)
            distance, largest, joint = turn_joints(q, seed, limits)
            if joint < 0:
                known |= bit
                bonus = HOLD_BONUS if branch == own and largest <= HOLD else 0.0
                cost[branch] = penalty[branch] + distance - bonus
                continue
            blame, failure = joint, OUTSIDE_LIMITS
        else:
            good, steps, length, angle = verify(
                q, seed, limits, branch, solver, pose, arm, options, frames, error, matrix
            )
            if good and lowest(frames) >= options[LOWEST]:
                for k in range(6):
                    joints[k] = q[k]
                return SOLVED, branch, solver, steps, length, angle
            failure = TOO_LOW if good else UNVERIFIED
        if mode == AUTO and solver == NETWORK and failure != TOO_LOW:
            assigned &= ~(15 << 4 * branch)
            known &= ~bit
        else:
            cost[branch] = math.inf
            outcome = max(outcome, failure)


@kernel
def search_batch(
    targets: np.ndarray,
    seeds: np.ndarray,
    mode: int,
    settings: np.ndarray,
    index: np.ndarray,
    scratch: np.ndarray,
    work: np.ndarray,
    joints: np.ndarray,
    outcomes: np.ndarray,
    branches: np.ndarray,
    solvers: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Run `search` on poses (N, 4, 4), each with its own seed (N, 6).

    Writes joints (N, 6), 0 where there is no answer, outcomes (N,), branches (N,), -1 where there
    is no answer, solvers (N,), and position and orientation errors (N, 2).
    """
    question = np.empty(QUESTION)
    for n in range(len(targets)):
        outcome, branch, solver, _, length, angle = search(
            targets[n], seeds[n], mode, settings, index, scratch, work, joints[n], question
        )
        if outcome != SOLVED:
            joints[n] = 0.0
            branch = -1
        outcomes[n], branches[n], solvers[n] = outcome, branch, solver
        errors[n, 0], errors[n, 1] = length, angle


@kernel
def same(q: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two joint vectors (6,) are the same answer, but for rounding."""
    largest = 0.0
    for k in range(6):
        largest = max(largest, abs(q[k] - other[k]))
    return largest < 1e-6


@kernel
def search_others(
    question: np.ndarray,
    answer: np.ndarray,
    branch: int,
    settings: np.ndarray,
    scratch: np.ndarray,
    joints: np.ndarray,
    distances: np.ndarray,
) -> None:
    """Find the verified joints (8, 6) of every branch but one by the closed form.

    Writes their squared distances to the seed (8,) [rad^2] too, inf where there is no answer, or the
    same answer again: branches meet where the arm is singular. The question (QUESTION,) is one that
    `search` solved, with this answer (6,) in this branch.
    """
    arm, limits, options = settings[:LIMITS], settings[LIMITS:OPTIONS], settings[OPTIONS:NETWORKS]
    rows, frames, pose = scratch[_ROWS:_CANDIDATES], scratch[_FRAMES:_MATRIX], scratch[_POSE:_COST]
    matrix, error = scratch[_MATRIX:_POSE], scratch[_ERROR]
    slack, singular = margins(options)
    seed = question[:6]
    for k in range(16):
        pose[k // 4, k % 4] = question[6 + k]
    fill_rows(pose, arm, slack, singular, seed[5] + arm[11], rows)
    for other in range(8):
        distances[other] = math.inf
        row, q = other >> 1, joints[other]
        twin = row & 1 == 1 and rows[row, SINGULAR] == 1.0
        if other == branch or twin or not exists(rows, row, slack):
            continue
        bend_elbow(rows, row, other & 1, arm, q)
        distance, _, joint = turn_joints(q, seed, limits)
        if joint >= 0:
            continue
        good, _, _, _ = verify(q, seed, limits, other, CLOSED_FORM, pose, arm, options, frames, error, matrix)
        twin = same(q, answer)
        for earlier in range(other):
            twin = twin or (distances[earlier] < math.inf and same(q, joints[earlier]))
        if good and not twin and lowest(frames) >= options[LOWEST]:
            distances[other] = distance
