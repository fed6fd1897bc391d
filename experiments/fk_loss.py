"""Train with and without a loss through the forward kinematics, on data of one branch, and test the difference.

Question. The project found no significant gain from a forward kinematics loss on data of a single branch (p = 0.26).
Is that so here, and does it depend on how the training is finished?

Protocol. The reference network's box, branch of the rest posture, a perceptron with two hidden layers of 24. Five
seeds; a pair shares the seed, so its first weights and all its samples are the same, and only the loss differs:
squares of the joint errors [rad], or these and the squares of what the pose misses by, weighted as the package's
training does (1 mm and 0.19 deg count as much as 1 rad). Two budgets: Adam alone, and Adam with Levenberg-Marquardt
after it. Raw position error on 2,021 held-out targets. The paired test is two-sided on the logarithm of the mean
errors, five pairs: Student's t, and the exact test over all 32 changes of sign, which cannot fall below 1/16.

Time. 4 minutes on one core; with --quick (30 steps) 15 s.

    ./run exec python experiments/fk_loss.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes fk_loss.json and fk_loss.png.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import fitting
import numpy as np
import torch
from common import BLUE, ORANGE, Run, summary
from matplotlib.figure import Figure

from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.training import loss
from ur5e_nik_ik.training.configs import REFERENCE
from ur5e_nik_ik.training.data import HELD_OUT, held_out_targets, training_samples

HIDDEN = (24, 24)
SEEDS = range(5)
BUDGETS = {"Adam": fitting.Budget(600, 3000), "Adam, Levenberg-Marquardt": fitting.Budget(600, 1000, 60)}


def draw(random: np.random.Generator, count: int) -> fitting.Samples:
    """Targets of the box with the joints of one branch."""
    samples = training_samples(REFERENCE, UR5E, random, count)
    return samples.features[0], samples.target[0], samples.joints[0]


def joints_only(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Joint errors [rad]."""
    return outputs - label


def with_fk(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """The package's residuals: position, orientation, and joint errors."""
    return loss.residuals(outputs, target, label, REFERENCE, UR5E)


LOSSES = {"joints only": joints_only, "joints and FK": with_fk}


def t_test(differences: np.ndarray) -> float:
    """Two-sided p of Student's t on five paired differences; with 4 degrees of freedom it has a closed form."""
    assert len(differences) == 5
    spread = differences.std(ddof=1) / math.sqrt(5)
    angle = math.atan(abs(differences.mean()) / spread / 2.0)
    return 1.0 - math.sin(angle) * (1.0 + 0.5 * math.cos(angle) ** 2)


def sign_test(differences: np.ndarray) -> float:
    """Two-sided p of the exact permutation test: all changes of sign of the paired differences."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(differences))))
    means = np.abs(signs @ differences)
    return float(np.mean(means >= abs(differences.sum()) * (1.0 - 1e-12)))


def draw_figure(results: dict[str, dict]) -> Figure:
    """Every pair as a line."""
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    names = list(LOSSES)
    for axes, (name, result) in zip(figure.subplots(1, len(results)), results.items(), strict=True):
        means = [[row["position_mm"]["mean"] for row in result[loss_name]] for loss_name in names]
        for seed, pair in enumerate(zip(*means, strict=True)):
            axes.plot(names, pair, "o-", color="0.6", zorder=1, label="a seed" if seed == 0 else None)
        for x, colour in enumerate((ORANGE, BLUE)):
            middle = math.exp(np.mean(np.log(means[x])))
            axes.plot(x, middle, "_", color=colour, markersize=24, markeredgewidth=3, zorder=2)
            axes.text(1.45 * x - 0.225, middle, f"{middle:.3g} mm", ha="center", va="bottom", color=colour)
        axes.set(xlim=(-0.5, 1.5), ylim=(0, 1.1 * np.max(means)))
        axes.set_title(f"{name}: p = {result['p_t_test']:.2g}", fontsize=10)
        axes.grid(axis="y", alpha=0.3, which="both")
        axes.legend(fontsize=8, loc="lower center")
    figure.axes[0].set_ylabel("mean raw position error [mm]")
    figure.suptitle(
        "A loss through the forward kinematics, or not: one branch, five seeds (t test of pairs)", fontsize=11
    )
    return figure


def main() -> None:
    """Train the pairs, test, write the results."""
    run = Run.start(__file__, __doc__)
    torch.set_num_threads(1)
    budgets = BUDGETS
    if run.quick:
        budgets = {
            name: dataclasses.replace(b, samples=100, adam=30, newton=min(b.newton, 3)) for name, b in BUDGETS.items()
        }
    targets = held_out_targets(REFERENCE, UR5E, 200 if run.quick else HELD_OUT)
    report: dict = {"seeds": list(SEEDS), "targets": len(targets), "hidden": HIDDEN, "results": {}}
    for budget_name, budget in budgets.items():
        result: dict = {"budget": dataclasses.asdict(budget)} | {name: [] for name in LOSSES}
        for seed, (name, residuals) in itertools.product(SEEDS, LOSSES.items()):
            model = fitting.fit(draw, residuals, HIDDEN, budget, seed)
            error = pose_error(fk(fitting.outputs_of(model, targets[:, :3, 3]), UR5E), targets)
            position, orientation = (np.linalg.norm(part, axis=1) for part in np.split(error, 2, axis=1))
            result[name].append(
                {"position_mm": summary(1e3 * position), "orientation_deg": summary(np.degrees(orientation))}
            )
            print(f"{budget_name}, seed {seed}, {name}: {result[name][-1]['position_mm']}", flush=True)
        without, with_it = (np.log([row["position_mm"]["mean"] for row in result[name]]) for name in LOSSES)
        result["mean_mm"] = {name: math.exp(np.mean(v)) for name, v in zip(LOSSES, (without, with_it), strict=True)}
        result["p_t_test"], result["p_sign_test"] = t_test(with_it - without), sign_test(with_it - without)
        report["results"][budget_name] = result
        print(
            f"{budget_name}: {result['mean_mm']}, p = {result['p_t_test']:.3g}, {result['p_sign_test']:.3g}", flush=True
        )
    run.finish(report, draw_figure(report["results"]), ("numba", "torch"))


if __name__ == "__main__":
    main()
