"""Everything a solver is made of as two flat arrays, because a call pays for every argument.

settings (S,) float64: the arm (arm.pack), limits (12,), options (6,), then what networks need.
index (n, ...) int64: a row for each network, with its columns here.
"""

from collections.abc import Sequence

import numpy as np

from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.kernel import kernel
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.network import Network, covers_pose, predict_pose

# Where the parts of the settings start.
LIMITS, OPTIONS, NETWORKS = 12, 24, 30

# Columns of the index: kind, number of sizes, where domain and weights start in the settings,
# weights a branch, then eight slots and the sizes.
KIND, LAYERS, DOMAIN, WEIGHTS, PARAMETERS, SLOTS, SIZES = 0, 1, 2, 3, 4, 5, 13


# Networks of one solver at most: `assign` has four bits for each branch.
MOST = 15


def pack_solver(
    dh: DhParameters, limits: np.ndarray, options: np.ndarray, networks: Sequence[Network]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return settings, index and work (2, W), the scratch of the widest network.

    Args:
        dh: the arm.
        limits: lowest and highest joints (2, 6) [rad].
        options: (6,), columns of choice.
        networks: in the order in which they are asked, MOST at most; none at all is fine.
    """
    layers = max((len(network.sizes) for network in networks), default=1)
    index = np.zeros((len(networks), SIZES + layers), dtype=np.int64)
    parts = [pack(dh), np.ravel(limits), options]
    start = NETWORKS
    for row, network in zip(index, networks, strict=True):
        parts.append(network.limits)
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
def assign(settings: np.ndarray, index: np.ndarray, pose: np.ndarray) -> int:
    """Return which network answers each branch of a pose (4, 4): the first that covers it and has it.

    Four bits a branch, from branch 0 in the lowest: 1 + the network, or 0 where there is none.
    """
    assigned = 0
    for network in range(len(index)):
        if covers_pose(index[network, KIND], settings[index[network, DOMAIN] :], pose):
            for branch in range(8):
                if index[network, SLOTS + branch] >= 0 and (assigned >> 4 * branch) & 15 == 0:
                    assigned |= (network + 1) << 4 * branch
    return assigned


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
    sizes = row[SIZES : SIZES + row[LAYERS]]
    predict_pose(row[KIND], branch, settings[:LIMITS], weights, sizes, pose, work, joints)
