"""The loss: position and orientation through the FK, and a small term that holds the branch."""

import math

import torch

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.torch_kinematics import fk
from ur5e_nik_ik.training.configs import TrainingConfig


def residuals(
    joints: torch.Tensor,
    target: torch.Tensor,
    label: torch.Tensor,
    config: TrainingConfig,
    dh: DhParameters,
) -> torch.Tensor:
    """Return what the sum of squares is taken of (..., 18).

    Args:
        joints: (..., 6) [rad].
        target: pose of tool0 (..., 4, 4).
        label: the closed form's joints (..., 6) [rad].
    """
    pose = fk(joints, dh)
    position = (pose[..., :3, 3] - target[..., :3, 3]) * config.position_weight
    # |R - R'| = 2 sqrt(2) sin(angle / 2): unlike the rotation vector, smooth at every angle.
    rotation = (pose[..., :3, :3] - target[..., :3, :3]).flatten(-2) / math.sqrt(2.0)
    data = (joints - label) * config.data_weight
    return torch.cat([position, rotation * config.orientation_weight, data], dim=-1)
