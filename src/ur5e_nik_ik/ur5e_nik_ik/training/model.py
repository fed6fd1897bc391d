"""The trained part: one multilayer perceptron a branch, all of them in one module."""

import numpy as np
import torch
from torch import nn


def bend(x: torch.Tensor) -> torch.Tensor:
    """x / sqrt(1 + x^2), the activation that network.forward uses."""
    return x * torch.rsqrt(1.0 + x * x)


class Perceptrons(nn.Module):
    """B perceptrons of the same shape, (B, N, inputs) -> (B, N, outputs), float64.

    Features are shifted and scaled before, outputs after; `export` folds both into the weights.
    """

    def __init__(self, features: torch.Tensor, joints: torch.Tensor, hidden: tuple[int, ...]):
        """Draw weights; take the scales from sample features (B, N, I) and outputs (B, N, O)."""
        super().__init__()
        rows = len(features)
        self.register_buffer("shift_in", features.mean(dim=1, keepdim=True))
        self.register_buffer("scale_in", features.std(dim=1, keepdim=True).clamp_min(1e-3))
        self.register_buffer("shift_out", joints.mean(dim=1, keepdim=True))
        self.register_buffer("scale_out", joints.std(dim=1, keepdim=True).clamp_min(1e-3))
        sizes = (features.shape[-1], *hidden, joints.shape[-1])
        self.weight, self.bias = nn.ParameterList(), nn.ParameterList()
        for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False)):
            spread = (2.0 if layer == 0 else 1.0) / inputs**0.5
            weight = torch.randn(rows, inputs, outputs, dtype=torch.float64) * spread
            bias = torch.randn(rows, 1, outputs, dtype=torch.float64) * (1.0 if layer == 0 else 0.1)
            self.weight.append(nn.Parameter(weight))
            self.bias.append(nn.Parameter(bias))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = (features - self.shift_in) / self.scale_in
        for layer, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            if layer:
                x = bend(x)
            x = torch.baddbmm(bias, x, weight)
        return self.shift_out + self.scale_out * x

    def one(self, row: int, features: torch.Tensor) -> torch.Tensor:
        """Run one perceptron: (N, inputs) -> (N, outputs)."""
        x = (features - self.shift_in[row]) / self.scale_in[row]
        for layer, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            if layer:
                x = bend(x)
            x = x @ weight[row] + bias[row]
        return self.shift_out[row] + self.scale_out[row] * x

    def output_jacobian(self, row: int, features: torch.Tensor) -> torch.Tensor:
        """Return d outputs / d parameters of one perceptron: (N, I) -> (N, O, P)."""
        x = (features - self.shift_in[row]) / self.scale_in[row]
        entering, slope = [x], []
        for layer, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            if layer:
                slope.append((1.0 + x * x) ** -1.5)
                x = bend(x)
                entering.append(x)
            x = x @ weight[row] + bias[row]
        outputs = torch.diag(self.scale_out[row, 0])
        chain = outputs.expand(len(features), *outputs.shape)
        blocks: list[torch.Tensor] = []
        for layer in reversed(range(len(self.weight))):
            by_weight = entering[layer][:, None, :, None] * chain[:, :, None, :]
            blocks[:0] = [by_weight.flatten(2), chain]
            if layer:
                chain = (chain @ self.weight[layer][row].T) * slope[layer - 1][:, None, :]
        return torch.cat(blocks, dim=-1)

    def flat(self, row: int) -> torch.Tensor:
        """Return the parameters of one perceptron (P,), in the order of output_jacobian."""
        return torch.cat([p[row].flatten() for pair in zip(self.weight, self.bias, strict=True) for p in pair])

    def set_flat(self, row: int, values: torch.Tensor) -> None:
        """Overwrite the parameters of one perceptron."""
        start = 0
        for pair in zip(self.weight, self.bias, strict=True):
            for parameter in pair:
                size = parameter[row].numel()
                parameter.data[row] = values[start : start + size].view_as(parameter[row])
                start += size

    def export(self) -> np.ndarray:
        """Return the weights as network.forward wants them (B, P), scales folded in."""
        weights = [weight.detach() for weight in self.weight]
        biases = [bias.detach() for bias in self.bias]
        first = weights[0] / self.scale_in.mT
        biases[0] = biases[0] - self.shift_in @ first
        weights[0] = first
        weights[-1] = weights[-1] * self.scale_out
        biases[-1] = biases[-1] * self.scale_out + self.shift_out
        parts = [part.flatten(1) for pair in zip(weights, biases, strict=True) for part in pair]
        return torch.cat(parts, dim=1).cpu().numpy()
