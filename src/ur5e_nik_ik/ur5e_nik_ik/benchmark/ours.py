"""Our solvers as contestants: raw networks, and everything that leaves the node, verified."""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from ur5e_nik_ik.benchmark.protocol import Contestant
from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.models import models_folder
from ur5e_nik_ik.network import Network, predict_pose
from ur5e_nik_ik.solver import Refusal, Solution, Solver

NAMES = ("reference", "tool-down", "any-pose")
# Branch of the rest posture, which all three networks know.
BRANCH = 0


def load_networks(dh: DhParameters) -> dict[str, Network]:
    """Return those of NAMES that are there for the arm."""
    paths = {name: models_folder() / f"{name}-{dh.name}.npz" for name in NAMES}
    return {name: Network.load(path, dh) for name, path in paths.items() if path.is_file()}


def contestants(dh: DhParameters) -> list[Contestant]:
    """Return all of ours."""
    networks = load_networks(dh)
    found = []
    if "reference" in networks:
        found.append(_torch_eager(networks["reference"]))
    for name, network in networks.items():
        found.append(_raw(f"{name} network, raw", network))
        found.append(_verified(f"{name} network, verified", Solver(dh, [network]), "network"))
    found.append(
        Contestant(
            "closed form, all branches",
            np.array,
            lambda target: closed_form(target, dh),
            lambda found: found[0][found[1]],
        )
    )
    found.append(_verified("closed form, verified", Solver(dh), "closed_form"))
    return found


def _verified(name: str, solver: Solver, mode: str) -> Contestant:
    def answers(answer: Solution | Refusal) -> np.ndarray:
        return answer.joints if isinstance(answer, Solution) else np.empty((0, 6))

    return Contestant(
        name, np.array, lambda target: solver.solve(target, solver=mode), answers, "checked by FK, polished"
    )


def _raw(name: str, network: Network) -> Contestant:
    work = np.zeros((2, network.width), dtype=network.weights.dtype)
    weights = network.weights[network.slots[BRANCH]]

    def solve(target: np.ndarray) -> np.ndarray:
        joints = np.empty(6)
        predict_pose(network.kind, BRANCH, network.arm, weights, network.sizes, target, work, joints)
        return joints

    return Contestant(name, np.array, solve, np.asarray, f"{network.parameters:,} parameters")


def _torch_eager(network: Network) -> Contestant:
    """Return the reference network as it was first used: torch in eager mode, a tensor in, an array out."""
    model = eager_model(network)

    def solve(target: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(torch.as_tensor(target[:3, 3], dtype=torch.float32)).numpy()

    return Contestant(
        "reference network, torch eager", np.array, solve, np.asarray, f"{network.parameters:,} parameters"
    )


def eager_model(network: Network) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a POSITION network as a torch module."""
    layers: list[nn.Module] = []
    flat, start = torch.tensor(network.weights[0]), 0
    for inputs, outputs in zip(network.sizes[:-1].tolist(), network.sizes[1:].tolist(), strict=True):
        layer = nn.Linear(inputs, outputs)
        layer.weight.data = flat[start : start + inputs * outputs].reshape(inputs, outputs).T.contiguous()
        start += inputs * outputs
        layer.bias.data = flat[start : start + outputs]
        start += outputs
        layers += [layer, nn.SiLU()]
    return nn.Sequential(*layers[:-1])
