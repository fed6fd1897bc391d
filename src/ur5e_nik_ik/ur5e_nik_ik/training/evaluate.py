"""Raw errors of a network on held-out targets, by the numpy FK."""

import numpy as np

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.network import Network


def raw_errors(
    network: Network, target: np.ndarray, branch: np.ndarray, dh: DhParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Return the position [mm] and orientation [deg] errors (N,) of unpolished predictions."""
    error = pose_error(fk(network.predict(target, branch), dh), target)
    position = np.linalg.norm(error[:, :3], axis=-1) * 1e3
    return position, np.rad2deg(np.linalg.norm(error[:, 3:], axis=-1))


def evaluate(network: Network, target: np.ndarray, dh: DhParameters) -> dict:
    """Return the raw metrics of a network over targets (N, 4, 4) times its branches."""
    branch = np.tile(network.branches, len(target))
    position, orientation = raw_errors(network, np.repeat(target, len(network.branches), axis=0), branch, dh)
    return {
        "targets": len(target),
        "position_mm": _summary(position),
        "orientation_deg": _summary(orientation),
    }


def _summary(errors: np.ndarray) -> dict:
    return {
        "mean": float(errors.mean()),
        "median": float(np.median(errors)),
        "p99": float(np.quantile(errors, 0.99)),
        "max": float(errors.max()),
    }
