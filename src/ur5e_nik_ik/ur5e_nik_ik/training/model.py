"""The trained part: multilayer perceptrons of one shape, all of them in one module."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Linearisation:
    """How the outputs of one perceptron change with its parameters, layer by layer.

    d output / d weight of layer l is the outer product of entering[l] and leaving[l].

    Attributes:
        outputs: (N, O).
        entering: what goes into every layer (N, inputs).
        leaving: d output / d what comes out of every layer, before its activation (N, O, outputs).
    """

    outputs: torch.Tensor
    entering: list[torch.Tensor]
    leaving: list[torch.Tensor]


class Perceptrons(nn.Module):
    """B perceptrons of the same shape, (B, N, inputs) -> (B, N, outputs).

    Features are shifted and scaled before, outputs after; `export` folds both into the weights.
    The activations are those of network.forward.
    """

    shift_in: torch.Tensor
    scale_in: torch.Tensor
    shift_out: torch.Tensor
    scale_out: torch.Tensor

    def __init__(self, features: torch.Tensor, outputs: torch.Tensor, hidden: tuple[int, ...], silu: bool):
        """Draw the weights.

        Args:
            features: sample features (B, N, inputs), float64, for shift and scale.
            outputs: sample outputs (B, N, outputs), likewise.
            hidden: width of every hidden layer.
            silu: the activation is x / (1 + exp(-x)), else x / sqrt(1 + x^2).
        """
        super().__init__()
        self.silu = silu
        for name, values in (("in", features), ("out", outputs)):
            self.register_buffer(f"shift_{name}", values.mean(dim=1, keepdim=True))
            self.register_buffer(f"scale_{name}", values.std(dim=1, keepdim=True).clamp_min(1e-3))
        self.sizes = (features.shape[-1], *hidden, outputs.shape[-1])
        self.weight, self.bias = nn.ParameterList(), nn.ParameterList()
        for layer, (width, after) in enumerate(zip(self.sizes[:-1], self.sizes[1:], strict=True)):
            # Wide enough in the first layer that the bends of its units lie all over the domain.
            spread, offset = (2.0, 1.0) if layer == 0 else (1.0, 0.1)
            weight = torch.randn(len(features), width, after, dtype=features.dtype) * spread / width**0.5
            self.weight.append(nn.Parameter(weight))
            self.bias.append(nn.Parameter(torch.randn(len(features), 1, after, dtype=features.dtype) * offset))

    @property
    def layers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Weight (B, inputs, outputs) and bias (B, 1, outputs) of every layer."""
        return list(zip(self.weight, self.bias, strict=True))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the outputs (B, N, outputs) of features (B, N, inputs)."""
        x = (features - self.shift_in) / self.scale_in
        for layer, (weight, bias) in enumerate(self.layers):
            if layer:
                x = self._activate(x)
            x = torch.baddbmm(bias, x, weight)
        return self.shift_out + self.scale_out * x

    def one(self, row: int, features: torch.Tensor) -> torch.Tensor:
        """Run one perceptron: (N, inputs) -> (N, outputs)."""
        x = (features - self.shift_in[row]) / self.scale_in[row]
        for layer, (weight, bias) in enumerate(self.layers):
            if layer:
                x = self._activate(x)
            x = x @ weight[row] + bias[row]
        return self.shift_out[row] + self.scale_out[row] * x

    def linearise(self, row: int, features: torch.Tensor) -> Linearisation:
        """Run one perceptron on (N, inputs) and differentiate its outputs."""
        x = (features - self.shift_in[row]) / self.scale_in[row]
        entering, slopes = [x], []
        for layer, (weight, bias) in enumerate(self.layers):
            if layer:
                slopes.append(self._slope(x))
                x = self._activate(x)
                entering.append(x)
            x = x @ weight[row] + bias[row]
        outputs = self.shift_out[row] + self.scale_out[row] * x
        by_last = torch.diag(self.scale_out[row, 0])
        leaving = [by_last.expand(len(features), *by_last.shape)]
        for weight, slope in zip(reversed(self.weight[1:]), reversed(slopes), strict=True):
            leaving.insert(0, (leaving[0] @ weight[row].T) * slope[:, None, :])
        return Linearisation(outputs, entering, leaving)

    def layers_of(self, row: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return copies of the weight (inputs, outputs) and bias (outputs,) of every layer of one perceptron."""
        return [(weight.detach()[row].clone(), bias.detach()[row, 0].clone()) for weight, bias in self.layers]

    def set_layers(self, row: int, values: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        """Overwrite the layers of one perceptron."""
        for (weight, bias), (new_weight, new_bias) in zip(self.layers, values, strict=True):
            weight.data[row] = new_weight
            bias.data[row, 0] = new_bias

    def export(self, dtype: np.dtype | type = np.float64) -> np.ndarray:
        """Return the weights as network.forward wants them (B, P), scales folded in."""
        layers = [(weight.detach().double(), bias.detach().double()) for weight, bias in self.layers]
        weight, bias = layers[0]
        weight = weight / self.scale_in.double().mT
        layers[0] = weight, bias - self.shift_in.double() @ weight
        weight, bias = layers[-1]
        scale = self.scale_out.double()
        layers[-1] = weight * scale, bias * scale + self.shift_out.double()
        flat = torch.cat([part.flatten(1) for pair in layers for part in pair], dim=1)
        return flat.cpu().numpy().astype(dtype)

    def _activate(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(x) if self.silu else x * torch.rsqrt(1.0 + x * x)

    def _slope(self, x: torch.Tensor) -> torch.Tensor:
        if self.silu:
            sigmoid = torch.sigmoid(x)
            return sigmoid * (1.0 + x * (1.0 - sigmoid))
        return (1.0 + x * x) ** -1.5
