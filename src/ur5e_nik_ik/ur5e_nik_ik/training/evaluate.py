"""What a network is worth on held-out targets: raw, by the numpy FK, and as the solver uses it."""

import numpy as np

from ur5e_nik_ik.closed_form import BRANCHES, branch_of, closed_form
from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.newton import polish
from ur5e_nik_ik.compiled.search import NEWTON_STEPS
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.network import Network

# A polished answer meets its target when it is this near [m] and [rad].
TOLERANCE = 1e-6


def raw_metrics(network: Network, target: np.ndarray, dh: DhParameters) -> dict:
    """Return the errors of unpolished predictions over targets (N, 4, 4) and the branches each one has."""
    row, branch = _questions(network, target, dh)
    error = pose_error(fk(network.predict(target[row], branch), dh), target[row])
    return {
        "targets": len(target),
        "answers": len(row),
        "position_mm": _summary(np.linalg.norm(error[:, :3], axis=-1) * 1e3),
        "orientation_deg": _summary(np.rad2deg(np.linalg.norm(error[:, 3:], axis=-1))),
    }


def polished_metrics(network: Network, target: np.ndarray, dh: DhParameters) -> dict:
    """Return what NEWTON_STEPS Newton steps make of the predictions.

    solved: share of the answers that meet the tolerance, in the branch that was asked for.
    branches_of_8: solved branches of a target that has all eight, on average; None if none has.
    """
    row, branch = _questions(network, target, dh)
    joints = network.predict(target[row], branch)
    frames, error, matrix, arm = np.empty((8, 3)), np.empty(6), np.empty((6, 7)), pack(dh)
    near = np.empty(len(row), dtype=bool)
    for k, (q, pose) in enumerate(zip(joints, target[row], strict=True)):
        _, length, angle = polish(q, pose, arm, TOLERANCE, TOLERANCE, NEWTON_STEPS, frames, error, matrix)
        near[k] = length <= TOLERANCE and angle <= TOLERANCE
    solved = near & (branch_of(joints, dh) == branch)
    full = np.bincount(row, minlength=len(target)) == BRANCHES
    found = np.bincount(row, weights=solved, minlength=len(target))
    return {
        "solved": float(solved.mean()),
        "targets_with_8_branches": int(full.sum()),
        "branches_of_8": float(found[full].mean()) if full.any() else None,
    }


def metrics(network: Network, target: np.ndarray, dh: DhParameters) -> dict:
    """Return raw_metrics and polished_metrics in one."""
    return raw_metrics(network, target, dh) | polished_metrics(network, target, dh)


def _questions(network: Network, target: np.ndarray, dh: DhParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return target index and branch of all that the network can be asked."""
    _, valid = closed_form(target, dh)
    row, column = np.nonzero(valid[:, network.branches])
    return row, np.array(network.branches)[column]


def _summary(errors: np.ndarray) -> dict:
    return {
        "mean": float(errors.mean()),
        "median": float(np.median(errors)),
        "p99": float(np.quantile(errors, 0.99)),
        "max": float(errors.max()),
    }
