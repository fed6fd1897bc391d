"""Levenberg-Marquardt for small perceptrons: full batch, float64, over all processes."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.func import jacfwd, vmap

from ur5e_nik_ik.training.model import Perceptrons

# Samples whose Jacobian is held at once.
CHUNK = 1000
_TRIES = 8

Residuals = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class LevenbergMarquardt:
    """Minimises the sum of squared residuals of every perceptron by itself.

    With the outputs o and the parameters p, J = dr/do do/dp. dr/do has more rows than there are
    outputs, so its product with itself is factored, and J gets one row an output.
    """

    def __init__(self, model: Perceptrons, residuals: Residuals):
        """Take residuals(outputs (..., O), target (..., 4, 4), label (..., 6)) -> (..., R)."""
        self.model = model
        self.residuals = residuals
        self.damping = [1e-3] * len(model.weight[0])
        self._by_output = vmap(jacfwd(residuals))

    @torch.no_grad()
    def step(self, features: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> float:
        """Take one step on samples (B, N, ...); return the mean squared residual after it."""
        costs = [self._step_row(row, features[row], target[row], label[row]) for row in range(len(features))]
        return sum(costs) / len(costs)

    def _step_row(self, row: int, features: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> float:
        start = self.model.flat(row)
        normal = start.new_zeros(len(start), len(start))
        gradient = start.new_zeros(len(start))
        outputs = self.model.one(row, features)
        for k in range(0, len(features), CHUNK):
            part = slice(k, k + CHUNK)
            residual = self.residuals(outputs[part], target[part], label[part])
            by_output = self._by_output(outputs[part], target[part], label[part])
            by_parameter = self.model.output_jacobian(row, features[part])
            factor = torch.linalg.cholesky_ex(by_output.mT @ by_output)[0]
            stacked = (factor.mT @ by_parameter).flatten(0, 1)
            normal += stacked.T @ stacked
            slope = (by_output.mT @ residual[..., None])[..., 0]
            gradient += torch.einsum("nop,no->p", by_parameter, slope)
        cost = self._cost(outputs, target, label)
        _sum_over_processes(normal, gradient, cost)
        for _ in range(_TRIES):
            ridge = self.damping[row] * normal.diagonal().mean()
            damped = normal + ridge * torch.eye(len(start), dtype=start.dtype, device=start.device)
            change, failed = torch.linalg.solve_ex(damped, gradient)
            if not failed:
                self.model.set_flat(row, start - change)
                new_cost = self._cost(self.model.one(row, features), target, label)
                _sum_over_processes(new_cost)
                if new_cost < cost:
                    self.damping[row] = max(self.damping[row] / 3.0, 1e-12)
                    return float(new_cost) / self._count(features)
            self.damping[row] *= 4.0
        self.model.set_flat(row, start)
        return float(cost) / self._count(features)

    def _cost(self, outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return self.residuals(outputs, target, label).square().sum()

    @staticmethod
    def _count(features: torch.Tensor) -> int:
        return len(features) * (dist.get_world_size() if dist.is_initialized() else 1)


def _sum_over_processes(*tensors: torch.Tensor) -> None:
    if dist.is_initialized():
        for tensor in tensors:
            dist.all_reduce(tensor)
