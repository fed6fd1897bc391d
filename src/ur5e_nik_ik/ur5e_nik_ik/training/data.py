"""Training and held-out targets, drawn on the fly and labelled by the closed form."""

from dataclasses import dataclass

import numpy as np

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.training.configs import TrainingConfig

HELD_OUT = 2021
HELD_OUT_SEED = 20210


@dataclass(frozen=True)
class Samples:
    """Canonical training samples, one row a branch.

    Attributes:
        features: (B, N, I).
        target: poses that the outputs must reach by FK (B, N, 4, 4).
        joints: labels of the closed form (B, N, 6) [rad].
    """

    features: np.ndarray
    target: np.ndarray
    joints: np.ndarray


def tool_down_pose(radius, height, azimuth=0.0, yaw=0.0) -> np.ndarray:
    """Return poses of tool0 pointing straight down (..., 4, 4), x axis at yaw [rad]."""
    radius, height, azimuth, yaw = np.broadcast_arrays(radius, height, azimuth, yaw)
    pose = np.zeros(radius.shape + (4, 4))
    cos, sin = np.cos(yaw), np.sin(yaw)
    pose[..., 0, 0], pose[..., 0, 1] = cos, sin
    pose[..., 1, 0], pose[..., 1, 1] = sin, -cos
    pose[..., 2, 2] = -1.0
    pose[..., 3, 3] = 1.0
    pose[..., 0, 3], pose[..., 1, 3] = radius * np.cos(azimuth), radius * np.sin(azimuth)
    pose[..., 2, 3] = height
    return pose


def training_samples(config: TrainingConfig, dh: DhParameters, rng: np.random.Generator, count: int) -> Samples:
    """Draw `count` canonical targets a branch: at azimuth 0 and yaw 0."""
    radius, height = (
        rng.uniform(low - config.margin, high + config.margin, (len(config.branches), count))
        for low, high in (config.domain["radius"], config.domain["height"])
    )
    target = tool_down_pose(radius, height)
    joints = label(target, config, dh)
    return Samples(np.stack([radius, height], axis=-1), target, joints)


def label(target: np.ndarray, config: TrainingConfig, dh: DhParameters) -> np.ndarray:
    """Return the joints (B, N, 6) of canonical targets (B, N, 4, 4), free of jumps by 2 pi."""
    low, high = config.domain["radius"]
    reference = tool_down_pose((low + high) / 2, config.domain["height"][0])[None]
    joints = np.empty(target.shape[:2] + (6,))
    for row, branch in enumerate(config.branches):
        solution, valid = closed_form(target[row], dh)
        if not valid[:, branch].all():
            raise ValueError(f"branch {branch} does not exist in the whole domain of {config.name}")
        middle = closed_form(reference, dh)[0][0, branch]
        turn = solution[:, branch] - middle
        joints[row] = middle + turn - 2.0 * np.pi * np.round(turn / (2.0 * np.pi))
    return joints


def held_out_targets(config: TrainingConfig, count: int = HELD_OUT) -> np.ndarray:
    """Return poses of tool0 in base_link (count, 4, 4) that training never draws from."""
    rng = np.random.default_rng(HELD_OUT_SEED)
    radius, height = (rng.uniform(*config.domain[axis], count) for axis in ("radius", "height"))
    azimuth, yaw = rng.uniform(-np.pi, np.pi, (2, count))
    return tool_down_pose(radius, height, azimuth, yaw)
