"""Everything a solver is made of as two flat arrays, because a call pays for every argument.

settings (S,) float64: the arm (arm.pack), limits (12,), options (6,), then what networks need.
index (n, ...) int64: a row for each network, with its columns here.
"""

import math
from collections.abc import Sequence

import numpy as np

from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.kernel import kernel
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.network import TOOL_DOWN, Network, predict_pose

# Where the parts of the settings start.
LIMITS, OPTIONS, NETWORKS = 12, 24, 30

# Columns of the index: kind, number of sizes, where domain and weights start in the settings,
# weights a branch, then eight slots and the sizes.
KIND, LAYERS, DOMAIN, WEIGHTS, PARAMETERS, SLOTS, SIZES = 0, 1, 2, 3, 4, 5, 13


def pack_solver(
    dh: DhParameters, limits: np.ndarray, options: np.ndarray, networks: Sequence[Network]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return settings, index and work (2, W), the scratch of the widest network.

    Args:
        dh: the arm.
        limits: lowest and highest joints (2, 6) [rad].
        options: (6,), columns of choice.
        networks: in the order in which they are asked; none at all is fine.
    """
    layers = max((len(network.sizes) for network in networks), default=1)
    index = np.zeros((len(networks), SIZES + layers), dtype=np.int64)
    parts = [pack(dh), np.ravel(limits), options]
    start = NETWORKS
    for row, network in zip(index, networks, strict=True):
        domain = network.card["domain"]
        parts.append(np.array([*domain["radius"], *domain["height"], domain["tilt"]]))
        parts.append(network.weights.ravel())
        row[:SLOTS] = (
            network.kind,
            len(network.sizes),
            start,
            start + len(parts[-2]),
            network.weights.shape[1],
        )
        row[SLOTS:SIZES] = network.slots
        row[SIZES : SIZES + len(network.sizes)] = network.sizes
        start += len(parts[-2]) + len(parts[-1])
    width = max((network.width for network in networks), default=1)
    return np.concatenate(parts), index, np.zeros((2, width))


@kernel
def covering(settings: np.ndarray, index: np.ndarray, pose: np.ndarray) -> int:
    """Return the first network whose domain holds the pose (4, 4), -1 if there is none."""
    for network in range(len(index)):
        if index[network, KIND] != TOOL_DOWN:
            return network
        domain = settings[index[network, DOMAIN] :]
        radius = math.sqrt(pose[0, 3] * pose[0, 3] + pose[1, 3] * pose[1, 3])
        tilt = math.sqrt(pose[0, 2] * pose[0, 2] + pose[1, 2] * pose[1, 2])
        if (
            domain[0] <= radius <= domain[1]
            and domain[2] <= pose[2, 3] <= domain[3]
            and tilt <= domain[4]
            and pose[2, 2] < 0.0
        ):
            return network
    return -1


@kernel
def predict(
    settings: np.ndarray,
    index: np.ndarray,
    network: int,
    branch: int,
    pose: np.ndarray,
    work: np.ndarray,
    joints: np.ndarray,
) -> None:
    """Write the raw joints (6,) of one branch; the network must have it."""
    row = index[network]
    start = row[WEIGHTS] + row[SLOTS + branch] * row[PARAMETERS]
    weights = settings[start : start + row[PARAMETERS]]
    predict_pose(row[KIND], weights, row[SIZES : SIZES + row[LAYERS]], pose, work, joints)
