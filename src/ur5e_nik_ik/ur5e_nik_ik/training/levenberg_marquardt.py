"""Levenberg-Marquardt for perceptrons: one batch a step, float64, over all processes."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.func import jacfwd, vmap

from ur5e_nik_ik.training.model import Linearisation, Perceptrons

# Samples whose Jacobian is held at once.
_CHUNK = 1000
_TRIES = 8

Residuals = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
Change = list[tuple[torch.Tensor, torch.Tensor]]


class LevenbergMarquardt:
    """Minimises the sum of squared residuals of every perceptron by itself.

    With the outputs o, the residuals r and the parameters p, the Jacobian is dr/do do/dp. dr/do has
    more rows than there are outputs, so its Gram matrix is factored, L L^T, and J = L^T do/dp has as
    many rows as there are outputs. Few parameters: solve (J^T J + ridge) change = J^T r. More
    parameters than rows: change = J^T (J J^T + ridge)^-1 r is the same with the smaller matrix.
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
        costs = [self._step_one(row, *samples) for row, samples in enumerate(zip(features, target, label, strict=True))]
        return sum(costs) / (len(costs) * features.shape[1] * _processes())

    def _step_one(self, row: int, features: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> float:
        linear = self.model.linearise(row, features)
        residual = self.residuals(linear.outputs, target, label)
        by_output = self._by_output(linear.outputs, target, label)
        factor = torch.linalg.cholesky_ex(by_output.mT @ by_output)[0]
        white = torch.linalg.solve_triangular(factor, by_output.mT @ residual[..., None], upper=False)[..., 0]
        leaving = [factor.mT @ block for block in linear.leaving]
        linear = Linearisation(linear.outputs, linear.entering, leaving)
        system = (_Kernel if white.numel() < self._parameters() else _Normal)(linear, white)
        cost = _total(residual.square().sum())
        before = self.model.layers_of(row)
        for _ in range(_TRIES):
            change = system.solve(self.damping[row])
            self.model.set_layers(row, [(w - dw, b - db) for (w, b), (dw, db) in zip(before, change, strict=True)])
            new_cost = _total(self.residuals(self.model.one(row, features), target, label).square().sum())
            if new_cost < cost:
                self.damping[row] = max(self.damping[row] / 3.0, 1e-12)
                return float(new_cost)
            self.damping[row] *= 4.0
        self.model.set_layers(row, before)
        return float(cost)

    def _parameters(self) -> int:
        return sum(weight[0].numel() + bias[0].numel() for weight, bias in self.model.layers)


class _Normal:
    """J^T J, exact over all processes."""

    def __init__(self, linear: Linearisation, white: torch.Tensor):
        self.shapes = [(x.shape[1], y.shape[2]) for x, y in zip(linear.entering, linear.leaving, strict=True)]
        size = sum((inputs + 1) * outputs for inputs, outputs in self.shapes)
        self.matrix, self.gradient = white.new_zeros(size, size), white.new_zeros(size)
        for start in range(0, len(white), _CHUNK):
            part = slice(start, start + _CHUNK)
            blocks = []
            for x, y in zip(linear.entering, linear.leaving, strict=True):
                blocks += [(x[part, None, :, None] * y[part, :, None, :]).flatten(2), y[part]]
            jacobian = torch.cat(blocks, dim=-1).flatten(0, 1)
            self.matrix += jacobian.T @ jacobian
            self.gradient += jacobian.T @ white[part].flatten()
        _total(self.matrix)
        _total(self.gradient)

    def solve(self, damping: float) -> Change:
        flat = _solve(self.matrix, damping, self.gradient)
        change = []
        for inputs, outputs in self.shapes:
            by_weight, by_bias, flat = flat.split([inputs * outputs, outputs, len(flat) - (inputs + 1) * outputs])
            change.append((by_weight.view(inputs, outputs), by_bias))
        return change


class _Kernel:
    """J J^T over this process' samples; the change is the mean of all processes'."""

    def __init__(self, linear: Linearisation, white: torch.Tensor):
        self.linear, self.white = linear, white
        samples, outputs = white.shape
        self.matrix = white.new_zeros(samples, outputs, samples, outputs)
        for x, y in zip(linear.entering, linear.leaving, strict=True):
            flat = y.flatten(0, 1)
            gram = (flat @ flat.T).view_as(self.matrix)
            self.matrix += gram.mul_((x @ x.T + 1.0)[:, None, :, None])
        self.matrix = self.matrix.view(white.numel(), white.numel())

    def solve(self, damping: float) -> Change:
        dual = _solve(self.matrix, damping, self.white.flatten()).view_as(self.white)
        change = []
        for x, y in zip(self.linear.entering, self.linear.leaving, strict=True):
            by_bias = torch.einsum("nk,nko->no", dual, y)
            change.append((_total(x.T @ by_bias) / _processes(), _total(by_bias.sum(dim=0)) / _processes()))
        return change


def _solve(matrix: torch.Tensor, damping: float, right: torch.Tensor) -> torch.Tensor:
    """Return (matrix + damping * its mean diagonal)^-1 right; NaN if it is not positive definite."""
    damped = matrix.clone()
    damped.diagonal().add_(damping * matrix.diagonal().mean())
    factor, failed = torch.linalg.cholesky_ex(damped)
    if failed:
        return torch.full_like(right, torch.nan)
    return torch.cholesky_solve(right[:, None], factor)[:, 0]


def _processes() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def _total(tensor: torch.Tensor) -> torch.Tensor:
    """Sum over all processes, in place."""
    if dist.is_initialized():
        dist.all_reduce(tensor)
    return tensor
