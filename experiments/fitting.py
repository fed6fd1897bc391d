"""Train perceptrons on what the package's own trainer does not know: other inputs, other losses, several heads.

The perceptrons, the Levenberg-Marquardt steps and the forward kinematics are the package's; only the loop is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ur5e_nik_ik.training.levenberg_marquardt import LevenbergMarquardt, Residuals
from ur5e_nik_ik.training.model import Perceptrons

# Features (N, F), what the residuals are to compare with (N, ...) and outputs that are wanted (N, O).
Samples = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Budget:
    """What a training may take.

    Attributes:
        samples: of one set.
        adam: steps of Adam in float32, each on a set of its own.
        newton: steps of Levenberg-Marquardt in float64 after that.
        rate: learning rate of Adam at the start; it falls to zero along a cosine.
        refresh: Levenberg-Marquardt steps on one set.
    """

    samples: int
    adam: int
    newton: int = 0
    rate: float = 1e-2
    refresh: int = 20


def fit(
    draw: Callable[[np.random.Generator, int], Samples],
    residuals: Residuals,
    hidden: tuple[int, ...],
    budget: Budget,
    seed: int,
) -> Perceptrons:
    """Train one perceptron.

    Args:
        draw: so many samples.
        residuals: of outputs (..., O), target (..., ...) and label (..., O), what the squares are taken of (..., R).
        hidden: width of every hidden layer.
        budget: of the training.
        seed: of weights and samples.
    """
    torch.manual_seed(seed)

    def samples(step: int, dtype: torch.dtype) -> list[torch.Tensor]:
        drawn = draw(np.random.default_rng([seed, step]), budget.samples)
        return [torch.as_tensor(array[None], dtype=dtype) for array in drawn]

    features, _, label = samples(0, torch.float64)
    model = Perceptrons(features, label, hidden, silu=False).float()
    adam = torch.optim.Adam(model.parameters(), lr=budget.rate)
    for step in range(budget.adam):
        for group in adam.param_groups:
            group["lr"] = budget.rate * 0.5 * (1.0 + math.cos(math.pi * step / budget.adam))
        features, target, label = samples(step + 1, torch.float32)
        loss = residuals(model(features), target, label).square().sum(dim=-1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    model.double()
    newton = LevenbergMarquardt(model, residuals)
    for step in range(budget.newton):
        newton.step(*samples(budget.adam + 1 + step // budget.refresh, torch.float64))
    return model


def outputs_of(model: Perceptrons, features: np.ndarray) -> np.ndarray:
    """Outputs (N, O) of features (N, F)."""
    with torch.inference_mode():
        return model.one(0, torch.as_tensor(features, dtype=torch.float64)).numpy()


def angles(pairs: torch.Tensor) -> torch.Tensor:
    """Angles (..., K) [rad] of cosines and sines (..., 2 K), all cosines first."""
    cosines, sines = pairs.chunk(2, dim=-1)
    return torch.atan2(sines, cosines)


def pairs(angle: np.ndarray) -> np.ndarray:
    """Cosines and sines (..., 2 K) of angles (..., K) [rad]."""
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)
