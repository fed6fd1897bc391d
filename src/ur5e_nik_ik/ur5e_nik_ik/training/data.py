"""Training and held-out targets, drawn on the fly and labelled by the closed form."""

from dataclasses import dataclass

import numpy as np

from ur5e_nik_ik.closed_form import branch_of, closed_form
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import fk
from ur5e_nik_ik.network import KINDS, features_of
from ur5e_nik_ik.training.configs import TrainingConfig

HELD_OUT = 2021
HELD_OUT_SEED = 20210

# The branch that the mirror images of an any-pose network lead to (network.canonicalise).
CANONICAL_BRANCH = 6


@dataclass(frozen=True)
class Samples:
    """Training samples, one row a perceptron.

    Attributes:
        features: what the perceptrons see (B, N, F).
        target: poses of tool0 that their outputs must reach (B, N, 4, 4).
        joints: labels (B, N, 6) [rad].
    """

    features: np.ndarray
    target: np.ndarray
    joints: np.ndarray


def tool_down_pose(x: np.ndarray, y: np.ndarray | float, z: np.ndarray, yaw: np.ndarray | float) -> np.ndarray:
    """Return poses of tool0 pointing straight down (..., 4, 4), its x axis at yaw [rad]."""
    x, y, z, yaw = np.broadcast_arrays(x, y, z, yaw)
    pose = np.zeros(x.shape + (4, 4))
    cos, sin = np.cos(yaw), np.sin(yaw)
    pose[..., 0, 0], pose[..., 0, 1], pose[..., 0, 3] = cos, sin, x
    pose[..., 1, 0], pose[..., 1, 1], pose[..., 1, 3] = sin, -cos, y
    pose[..., 2, 2], pose[..., 2, 3] = -1.0, z
    pose[..., 3, 3] = 1.0
    return pose


def training_samples(config: TrainingConfig, dh: DhParameters, rng: np.random.Generator, count: int) -> Samples:
    """Draw `count` samples for each perceptron."""
    kind = KINDS[config.kind]
    if config.kind == "any_pose":
        joints = _canonical_joints(dh, rng, count)
        target = fk(joints, dh)
        branch = np.full(count, CANONICAL_BRANCH)
        return Samples(features_of(kind, target, branch, dh)[None], target[None], joints[None])
    low, high = np.array(config.intervals).T
    shape = (len(config.branches), count, len(low))
    target = _domain_pose(config, rng.uniform(low - config.margin, high + config.margin, shape))
    branches = [np.full(count, branch) for branch in config.branches]
    features = [features_of(kind, *row, dh) for row in zip(target, branches, strict=True)]
    return Samples(np.stack(features), target, _labels(target, config, dh))


def held_out_targets(config: TrainingConfig, dh: DhParameters, count: int = HELD_OUT) -> np.ndarray:
    """Return poses of tool0 in base_link (count, 4, 4) from a seed that training never uses.

    They fill the domain; any pose: forward kinematics of joints drawn evenly from a full turn.
    """
    rng = np.random.default_rng(HELD_OUT_SEED)
    if config.kind == "any_pose":
        return fk(rng.uniform(-np.pi, np.pi, (count, 6)), dh)
    low, high = np.array(config.intervals).T
    pose = _domain_pose(config, rng.uniform(low, high, (count, len(low))))
    if config.kind == "tool_down":
        azimuth, yaw = rng.uniform(-np.pi, np.pi, (2, count))
        radius = pose[:, 0, 3]
        pose = tool_down_pose(radius * np.cos(azimuth), radius * np.sin(azimuth), pose[:, 2, 3], yaw)
    return pose


def _domain_pose(config: TrainingConfig, point: np.ndarray) -> np.ndarray:
    """Return the tool-down poses of points of the domain: x, y, z, or radius and height."""
    if config.kind == "tool_down":
        return tool_down_pose(point[..., 0], 0.0, point[..., 1], 0.0)
    return tool_down_pose(point[..., 0], point[..., 1], point[..., 2], 0.0)


def _labels(target: np.ndarray, config: TrainingConfig, dh: DhParameters) -> np.ndarray:
    """Return the joints (B, N, 6) of targets (B, N, 4, 4), without jumps by 2 pi."""
    middle = closed_form(_domain_pose(config, np.mean(config.intervals, axis=1)[None]), dh)[0][0]
    joints = np.empty(target.shape[:2] + (6,))
    for row, branch in enumerate(config.branches):
        solution, valid = closed_form(target[row], dh)
        if not valid[:, branch].all():
            raise ValueError(f"branch {branch} does not exist in the whole domain of {config.name} for {dh.name}")
        turn = solution[:, branch] - middle[branch]
        joints[row] = middle[branch] + turn - 2.0 * np.pi * np.round(turn / (2.0 * np.pi))
    return joints


def _canonical_joints(dh: DhParameters, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return joints (count, 6) in the canonical branch; joints 1 and 6, which do not matter, are 0."""
    found = np.empty((0, 6))
    while len(found) < count:
        q = rng.uniform(-np.pi, np.pi, (2 * count, 6))
        q[:, [2, 4]] = np.abs(q[:, [2, 4]])
        q[:, [0, 5]] = 0.0
        found = np.concatenate([found, q[branch_of(q, dh) == CANONICAL_BRANCH]])
    return found[:count]
