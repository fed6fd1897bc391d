"""Give a network eight heads and no branch labels, and count the branches that it finds.

Question. The project gave a network several answers and trained it without saying which branch is which; it found about
half of the eight, at twice the error. Does another loss find more, and what do heads with labels do?

Protocol. Tool-down targets of a box where all eight branches exist (x 0.30..0.55, y -0.30..0.30, z 0.05..0.40 m). One
perceptron with two hidden layers of 64 and eight heads of six joints, Adam, five seeds. Without labels each training
target comes with the joints of one branch, drawn at random, and
nearest head: only the head that is nearest to these joints learns from them;
nearest head and FK loss: it also learns through the forward kinematics;
FK loss: every head learns through the forward kinematics alone, and heads differ by their first weights.
With labels each head has a branch of its own, with both losses.
A branch of a target is found when some head's answer leads to it, to 1e-6 m and rad, in the three Newton steps that the
verified solver takes; the errors are raw, over all heads, on 500 held-out targets.

Time. 5 minutes on one core; with --quick (one seed, 30 steps) 10 s.

    ./run exec python experiments/heads.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes heads.json and heads.png.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import eight
import fitting
import numpy as np
import torch
from common import BLUE, ORANGE, Run
from matplotlib.figure import Figure

from ur5e_nik_ik.closed_form import BRANCHES, branch_of
from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.newton import polish
from ur5e_nik_ik.compiled.search import NEWTON_STEPS
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.training import loss
from ur5e_nik_ik.training.data import held_out_targets
from ur5e_nik_ik.training.evaluate import TOLERANCE

HIDDEN = (64, 64)
BUDGET = fitting.Budget(400, 2000, rate=5e-3)
SEEDS = 5


def without_labels(random: np.random.Generator, count: int) -> fitting.Samples:
    """Every head is shown the joints of the same branch, whichever it is."""
    position, pose, joints, _ = eight.draw_mixed(random, count)
    return position, pose, np.tile(joints, BRANCHES)


def with_labels(random: np.random.Generator, count: int) -> fitting.Samples:
    """Every head is shown the joints of its own branch."""
    position, pose, joints = eight.draw(random, count)
    return position, pose, joints.reshape(count, -1)


def one_by_one(values: torch.Tensor) -> torch.Tensor:
    """Joints (..., 48) of all heads as (..., 8, 6)."""
    return values.unflatten(-1, (BRANCHES, 6))


def of_each(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """The package's residuals of every head (..., 8, 18): 12 by the FK, 6 of the joints."""
    return loss.residuals(one_by_one(outputs), target[..., None, :, :], one_by_one(label), eight.CONFIG, UR5E)


def both(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Of all heads."""
    return of_each(outputs, target, label).flatten(-2)


def by_fk(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Of all heads, without the joints."""
    return of_each(outputs, target, label)[..., :12].flatten(-2)


def nearest(outputs: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Which head is the nearest to the label (..., 1)."""
    return (one_by_one(outputs) - one_by_one(label)).square().sum(dim=-1).argmin(dim=-1, keepdim=True)


def of_the_nearest(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Joint errors of the nearest head [rad]."""
    errors = one_by_one(outputs) - one_by_one(label)
    return errors.take_along_dim(nearest(outputs, label)[..., None], dim=-2)[..., 0, :]


def of_the_nearest_and_fk(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """The package's residuals of the nearest head."""
    errors = of_each(outputs, target, label)
    return errors.take_along_dim(nearest(outputs, label)[..., None], dim=-2)[..., 0, :]


ROWS: dict[str, tuple[Callable, Callable]] = {
    "no labels, nearest head": (without_labels, of_the_nearest),
    "no labels, nearest head and FK loss": (without_labels, of_the_nearest_and_fk),
    "no labels, FK loss": (without_labels, by_fk),
    "labelled heads": (with_labels, both),
}


def judge(joints: np.ndarray, targets: np.ndarray) -> dict:
    """Branches found, and raw errors, of answers (N, 8, 6) to poses (N, 4, 4)."""
    error = 1e3 * np.linalg.norm(pose_error(fk(joints, UR5E), targets[:, None])[..., :3], axis=-1)
    frames, miss, matrix, arm = np.empty((8, 3)), np.empty(6), np.empty((6, 7)), pack(UR5E)
    found = np.zeros((len(targets), BRANCHES), dtype=bool)
    for row, (answers, pose) in enumerate(zip(joints.copy(), targets, strict=True)):
        for q in answers:
            _, length, angle = polish(q, pose, arm, TOLERANCE, TOLERANCE, NEWTON_STEPS, frames, miss, matrix)
            if length <= TOLERANCE and angle <= TOLERANCE:
                found[row, branch_of(q, UR5E)] = True
    return {
        "branches_of_8": float(found.sum(axis=1).mean()),
        "targets_with_all_8": float(found.all(axis=1).mean()),
        "median_mm": float(np.median(error)),
        "median_of_the_best_head_mm": float(np.median(error.min(axis=1))),
    }


def draw_figure(results: dict[str, list[dict]]) -> Figure:
    """Branches found and raw error, a dot a seed."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    names = list(results)[::-1]
    for axes, key in zip(figure.subplots(1, 2, sharey=True), ("branches_of_8", "median_mm"), strict=True):
        for y, name in enumerate(names):
            values = [result[key] for result in results[name]]
            colour = BLUE if name == "labelled heads" else ORANGE
            axes.plot(values, np.full(len(values), y), "o", color=colour, alpha=0.6)
            axes.plot(np.mean(values), y, "|", color="black", markersize=18, markeredgewidth=2)
        axes.set_yticks(range(len(names)), names, fontsize=9)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.grid(alpha=0.3)
    left, right = figure.axes
    left.axvspan(3.5, 4.5, color="0.9", label="the project: about half")
    left.set(xlim=(0, 8.3), xlabel="branches found, of 8", title="A dot a seed, a bar their mean")
    left.legend(fontsize=8, loc="upper left")
    right.set(xscale="log", xlabel="raw position error of all heads, median [mm]", title="Raw error")
    return figure


def main() -> None:
    """Train, judge, write the results."""
    run = Run.start(__file__, __doc__)
    torch.set_num_threads(1)
    budget, seeds = (fitting.Budget(100, 30, rate=5e-3), 1) if run.quick else (BUDGET, SEEDS)
    targets = held_out_targets(eight.CONFIG, UR5E, 50 if run.quick else 500)
    report: dict = {"seeds": list(range(seeds)), "targets": len(targets), "hidden": HIDDEN}
    report |= {"budget": dataclasses.asdict(budget), "results": {name: [] for name in ROWS}, "mean": {}}
    for name, (draw, residuals) in ROWS.items():
        for seed in range(seeds):
            model = fitting.fit(draw, residuals, HIDDEN, budget, seed)
            joints = fitting.outputs_of(model, targets[:, :3, 3]).reshape(-1, BRANCHES, 6)
            report["results"][name].append(judge(joints, targets))
            print(f"{name}, seed {seed}: {report['results'][name][-1]}", flush=True)
        rows = report["results"][name]
        report["mean"][name] = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    run.finish(report, draw_figure(report["results"]), ("numba", "torch"))


if __name__ == "__main__":
    main()
