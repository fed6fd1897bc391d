"""Forward kinematics in PyTorch, batch-first and differentiable: base_link to tool0."""

import torch

from ur5e_nik_ik.dh import DhParameters


def fk(q: torch.Tensor, dh: DhParameters) -> torch.Tensor:
    """Return the pose of tool0 in base_link (..., 4, 4) of the joints q (..., 6) [rad].

    The result has the dtype and the device of q.
    """
    d, a, alpha, offset = (
        torch.tensor(values, dtype=q.dtype, device=q.device) for values in (dh.d, dh.a, dh.alpha, dh.offset)
    )
    theta = q + offset
    cos, sin = torch.cos(theta), torch.sin(theta)
    cos_alpha, sin_alpha = torch.cos(alpha), torch.sin(alpha)
    zero, one = torch.zeros_like(cos), torch.ones_like(cos)
    rows = (
        (cos, -sin * cos_alpha, sin * sin_alpha, a * cos),
        (sin, cos * cos_alpha, -cos * sin_alpha, a * sin),
        (zero, one * sin_alpha, one * cos_alpha, one * d),
        (zero, zero, zero, one),
    )
    # (..., 6, 4, 4): one matrix a joint.
    link = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    pose = link[..., 0, :, :]
    for joint in range(1, 6):
        pose = pose @ link[..., joint, :, :]
    return pose
