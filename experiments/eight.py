"""Tool-down targets for which all eight branches exist, with their joints, for the experiments on branches."""

from __future__ import annotations

import dataclasses

import numpy as np

from ur5e_nik_ik.closed_form import BRANCHES, closed_form, wrap
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.training.configs import REFERENCE
from ur5e_nik_ik.training.data import tool_down_pose

# The reference network's box without the corners that half of the branches do not reach.
CONFIG = dataclasses.replace(
    REFERENCE, domain=REFERENCE.domain | {"x": [0.30, 0.55], "y": [-0.30, 0.30], "z": [0.05, 0.40]}
)
_LOW, _HIGH = np.array(CONFIG.intervals).T

# The three bits of every branch's code as -1 and 1 (8, 3).
CODES = 2.0 * ((np.arange(BRANCHES)[:, None] >> np.array([2, 1, 0])) & 1) - 1.0


def draw(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions (count, 3), their poses (count, 4, 4) and the joints of all branches (count, 8, 6), without jumps."""
    position = random.uniform(_LOW, _HIGH, (count, 3))
    pose = tool_down_pose(*position.T, 0.0)
    middle = closed_form(tool_down_pose(*np.mean([_LOW, _HIGH], axis=0), 0.0), UR5E)[0]
    joints, valid = closed_form(pose, UR5E)
    if not valid.all():
        raise ValueError("a branch does not exist in the whole box")
    return position, pose, middle + wrap(joints - middle)


def draw_mixed(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same with the joints (count, 6) of one branch, drawn for each, and its code (count,)."""
    position, pose, joints = draw(random, count)
    branch = random.integers(BRANCHES, size=count)
    return position, pose, joints[np.arange(count), branch], branch
