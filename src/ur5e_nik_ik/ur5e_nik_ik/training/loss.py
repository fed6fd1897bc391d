"""The loss: position and orientation through the FK, and a small term that holds the branch."""

import math

import torch

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.torch_kinematics import fk
from ur5e_nik_ik.training.configs import TrainingConfig


def outputs_of(joints: torch.Tensor, config: TrainingConfig, dh: DhParameters) -> torch.Tensor:
    """Return the outputs (..., O) that stand for the labels (..., 6) [rad]."""
    if config.kind != "any_pose":
        return joints
    theta2, theta3 = joints[..., 1] + dh.offset[1], joints[..., 2] + dh.offset[2]
    return torch.stack([torch.cos(theta2), torch.sin(theta2), theta3], dim=-1)


def joints_of(outputs: torch.Tensor, label: torch.Tensor, config: TrainingConfig, dh: DhParameters) -> torch.Tensor:
    """Return the joints (..., 6) [rad] that outputs (..., O) stand for; what is not learned is the label's."""
    if config.kind != "any_pose":
        return outputs
    q1, q2, q3, q4, q5, q6 = label.unbind(dim=-1)
    total = q2 + q3 + q4
    q2 = torch.atan2(outputs[..., 1], outputs[..., 0]) - dh.offset[1]
    q3 = outputs[..., 2] - dh.offset[2]
    return torch.stack([q1, q2, q3, total - q2 - q3, q5, q6], dim=-1)


def residuals(
    outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor, config: TrainingConfig, dh: DhParameters
) -> torch.Tensor:
    """Return what the sum of squares is taken of (..., 12 + O).

    Args:
        outputs: of the perceptron (..., O).
        target: pose of tool0 (..., 4, 4).
        label: the joints that are wanted (..., 6) [rad].
        config: kind and weights.
        dh: the arm.
    """
    pose = fk(joints_of(outputs, label, config, dh), dh)
    position = (pose[..., :3, 3] - target[..., :3, 3]) * config.position_weight
    # |R - R'| = 2 sqrt(2) sin(angle / 2): unlike the rotation vector, smooth at every angle.
    rotation = (pose[..., :3, :3] - target[..., :3, :3]).flatten(-2) * (config.orientation_weight / math.sqrt(2.0))
    data = (outputs - outputs_of(label, config, dh)) * config.data_weight
    return torch.cat([position, rotation, data], dim=-1)
