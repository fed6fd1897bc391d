"""Learn from labels of all eight branches at once, without saying which is which.

Question. A network that is trained on joints of mixed branches by plain supervision answers with their average, and
the average of right answers is wrong: by 911 mm in the project. What do a loss through the forward kinematics and a
branch code among the inputs make of the same data?

Protocol. Tool-down targets of a box where all eight branches exist (x 0.30..0.55, y -0.30..0.30, z 0.05..0.40 m);
each training target comes with the joints of one branch, drawn at random. The same perceptron (two hidden layers of
32), the same samples and the same steps (Adam, then Levenberg-Marquardt) for every row. Supervised: squares of the
joint errors. FK loss: squares of what position and orientation miss by. Both: their sum, weighted as the package's
training does. A branch code is three more inputs of -1 or 1. Raw errors on 2,021 held-out targets, for the rows with
a code in all eight branches. One row leaves out Levenberg-Marquardt, which runs after the noise of mixed labels. The
first row knows one branch only, the last line is no network: the mean of the eight right answers.

Time. 4 minutes on one core; with --quick (30 steps) 10 s.

    ./run exec python experiments/mixed.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes mixed.json and mixed.png.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import eight
import fitting
import numpy as np
import torch
from common import BLUE, ORANGE, Run, summary
from matplotlib.figure import Figure

from ur5e_nik_ik.closed_form import BRANCHES, branch_of, closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.training import loss
from ur5e_nik_ik.training.data import HELD_OUT, held_out_targets

SEED = 7
HIDDEN = (32, 32)
BUDGET = fitting.Budget(600, 1500, 60)
ONE_BRANCH = 0


def one_branch(random: np.random.Generator, count: int) -> fitting.Samples:
    """Targets with the joints of one branch."""
    position, pose, joints = eight.draw(random, count)
    return position, pose, joints[:, ONE_BRANCH]


def any_branch(random: np.random.Generator, count: int) -> fitting.Samples:
    """Targets with the joints of any branch."""
    return eight.draw_mixed(random, count)[:3]


def with_code(random: np.random.Generator, count: int) -> fitting.Samples:
    """Likewise, and the branch's code among the features."""
    position, pose, joints, branch = eight.draw_mixed(random, count)
    return np.concatenate([position, eight.CODES[branch]], axis=1), pose, joints


def supervised(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Joint errors [rad]."""
    return outputs - label


def both(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """What the package trains with."""
    return loss.residuals(outputs, target, label, eight.CONFIG, UR5E)


def by_fk(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """The same without the labels."""
    return both(outputs, target, label)[..., :12]


ROWS: dict[str, tuple[Callable, Callable]] = {
    "one branch, supervised": (one_branch, supervised),
    "mixed, supervised": (any_branch, supervised),
    "mixed, supervised, Adam alone": (any_branch, supervised),
    "mixed, supervised and FK loss": (any_branch, both),
    "mixed, FK loss": (any_branch, by_fk),
    "mixed, branch code, supervised": (with_code, supervised),
    "mixed, branch code, both losses": (with_code, both),
}


def judge(joints: np.ndarray, targets: np.ndarray) -> tuple[dict, np.ndarray]:
    """Errors of answers (N, 6) to poses (N, 4, 4), and the position errors [mm]."""
    error = pose_error(fk(joints, UR5E), targets)
    position = 1e3 * np.linalg.norm(error[:, :3], axis=1)
    orientation = np.degrees(np.linalg.norm(error[:, 3:], axis=1))
    branches = np.bincount(branch_of(joints, UR5E), minlength=BRANCHES).tolist()
    return {
        "position_mm": summary(position),
        "orientation_deg": summary(orientation),
        "answers_by_branch": branches,
    }, position


def draw_figure(errors: dict[str, np.ndarray]) -> Figure:
    """Distribution of the error of every row."""
    figure = Figure(figsize=(8.5, 4.4), layout="constrained")
    axes = figure.add_subplot()
    names = list(errors)[::-1]
    for y, name in enumerate(names):
        low, q1, middle, q3, high = np.quantile(errors[name], (0.01, 0.25, 0.5, 0.75, 0.99))
        colour = ORANGE if "code" not in name and not name.startswith("one") else BLUE
        axes.plot([low, high], [y, y], color=colour, linewidth=1.2)
        axes.plot([q1, q3], [y, y], color=colour, linewidth=8, solid_capstyle="butt")
        axes.plot(middle, y, "|", color="black", markersize=14, markeredgewidth=2)
        axes.text(high * 1.25, y, f"{middle:.3g} mm", va="center", fontsize=8)
    axes.axvline(911.0, color="black", linestyle=":", label="the project, plain supervised: 911 mm")
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set(xscale="log", xlim=(None, 3e4), xlabel="raw position error [mm]: median, middle half and 1 to 99 %")
    axes.set_title(
        "One network, labels of eight branches (blue: it is told the branch, or knows one only)", fontsize=10
    )
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.93))
    return figure


def main() -> None:
    """Train, judge, write the results."""
    run = Run.start(__file__, __doc__)
    torch.set_num_threads(1)
    budget = fitting.Budget(100, 30, 4) if run.quick else BUDGET
    targets = held_out_targets(eight.CONFIG, UR5E, 200 if run.quick else HELD_OUT)
    report: dict = {"seed": SEED, "targets": len(targets), "hidden": HIDDEN, "budget": dataclasses.asdict(budget)}
    report["results"], errors = {}, {}
    for name, (draw, residuals) in ROWS.items():
        taken = dataclasses.replace(budget, newton=0) if name.endswith("Adam alone") else budget
        model = fitting.fit(draw, residuals, HIDDEN, taken, SEED)
        features, asked = targets[:, :3, 3], targets
        if draw is with_code:
            codes = np.repeat(eight.CODES, len(targets), axis=0)
            features, asked = (
                np.column_stack([np.tile(features, (BRANCHES, 1)), codes]),
                np.tile(asked, (BRANCHES, 1, 1)),
            )
        report["results"][name], errors[name] = judge(fitting.outputs_of(model, features), asked)
        print(f"{name}: {report['results'][name]}", flush=True)
    mean = closed_form(targets, UR5E)[0].mean(axis=1)
    name = "mean of the eight right answers"
    report["results"][name], errors[name] = judge(mean, targets)
    print(f"{name}: {report['results'][name]}", flush=True)
    run.finish(report, draw_figure(errors), ("numba", "torch"))


if __name__ == "__main__":
    main()
