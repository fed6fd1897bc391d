"""Train networks of many sizes, with and without the arm's symmetries, and see what an input less buys.

Question. Turning a target about the base axis adds to joint 1, and turning it about the tool's own axis changes joint
6: nobody needs to learn that. What does it buy to take both out, in error, in parameters and in time?

Protocol. One branch, two hidden layers of equal width; in the box, and likewise for any pose, every network gets the
same number of samples and steps (Adam, then Levenberg-Marquardt), with the loss through the forward kinematics. Raw
errors on 2,021 held-out targets that no training saw. In the box, tool down: 3 inputs are x, y and z; 2 inputs are
radius and height. Any pose: 6 freedoms are the position and two columns of the rotation, with cosine and sine of six
joints as outputs; 4 freedoms are radius and height of the wrist centre and the tool's axis seen from its azimuth,
with five joints as outputs; the third are the product's features, which also take the shoulder and the wrist out
(network.py): 3 freedoms, 2 joints. For any pose the mean error is that of poses that the branch has. A solve is timed
as Python calls the compiled network, and with symmetries the time of taking them out and putting them back counts.

Time. 7 minutes on one core; with --quick (two tiny widths, 30 steps) 15 s.

    ./run exec python experiments/symmetries.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes symmetries.json and symmetries.png.
"""

from __future__ import annotations

import dataclasses
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import fitting
import numpy as np
import torch
from common import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, RESULTS, Run, read, summary
from matplotlib.figure import Figure
from rich.console import Console

from ur5e_nik_ik import torch_kinematics
from ur5e_nik_ik.closed_form import branch_of, closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk
from ur5e_nik_ik.network import ANY_POSE, Network, forward, predict_pose
from ur5e_nik_ik.training import configs
from ur5e_nik_ik.training.data import HELD_OUT, held_out_targets
from ur5e_nik_ik.training.trainer import Trainer

SEED = 11
BRANCH = 0
WIDTHS = (6, 10, 16, 24, 32)
# What the package's trainer does not know has more outputs, and steps that take longer.
LOOP_WIDTHS = WIDTHS[:4]
BOX, ANY = fitting.Budget(1000, 500, 60, refresh=10), fitting.Budget(2000, 500, 25, refresh=5)
METRES, DATA = 1000.0, 30.0  # residuals of an error of 1 m, and of 1 in an output
KINDS = {
    "box, 3 inputs": (ORANGE, "o--"),
    "box, 2 inputs": (BLUE, "o-"),
    "any pose, 6 freedoms": (RED, "s--"),
    "any pose, 4 freedoms": (PURPLE, "s-"),
    "any pose, 3 freedoms (product)": (GREEN, "s-"),
}


def by_the_trainer(config: configs.TrainingConfig, width: int, budget: fitting.Budget) -> Network:
    """Train a network of a kind that the package knows, with another size and budget."""
    config = dataclasses.replace(
        config,
        branches=config.branches if config.kind == "any_pose" else (BRANCH,),
        hidden=(width, width),
        samples=budget.samples,
        adam_steps=budget.adam,
        learning_rate=budget.rate,
        newton_steps=budget.newton,
        refresh=budget.refresh,
        single=False,
        goal_mm=1e9,
        seed=SEED,
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, UR5E, Path(folder), "", console=Console(file=io.StringIO()))
        trainer.run()
        return Network.load(trainer.path, UR5E)


def joints_in_the_branch(random: np.random.Generator, count: int) -> np.ndarray:
    """Joints (count, 6), drawn evenly from a full turn, in BRANCH."""
    q = random.uniform(-np.pi, np.pi, (16 * count, 6))
    return q[branch_of(q, UR5E) == BRANCH][:count]


def six_freedoms(pose: np.ndarray, q: np.ndarray) -> fitting.Samples:
    """Poses (N, 4, 4) and their joints (N, 6) as they are."""
    features = np.concatenate([pose[:, :3, 3], pose[:, :3, 0], pose[:, :3, 1]], axis=1)
    return features, pose, fitting.pairs(q)


def four_freedoms(pose: np.ndarray, q: np.ndarray) -> fitting.Samples:
    """The same without both symmetries: turned until the wrist centre has no azimuth, and joint 6 is 0."""
    wrist = pose[:, :3, 3] - UR5E.d[5] * pose[:, :3, 2]
    q = q.copy()
    q[:, 0] -= np.arctan2(wrist[:, 1], wrist[:, 0])
    q[:, 5] = 0.0
    turned = fk(q, UR5E)
    features = np.column_stack([np.hypot(wrist[:, 0], wrist[:, 1]), wrist[:, 2], turned[:, :3, 2]])
    return features, turned, fitting.pairs(q[:, :5])


def joints_of(outputs: torch.Tensor) -> torch.Tensor:
    """Joints (..., 6) of cosines and sines of six or five joints."""
    q = fitting.angles(outputs)
    return q if q.shape[-1] == 6 else torch.cat([q, torch.zeros_like(q[..., :1])], dim=-1)


def residuals(outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Place and axis of the tool through the FK, and the outputs themselves."""
    pose = torch_kinematics.fk(joints_of(outputs), UR5E)
    place = (pose[..., :3, 3] - target[..., :3, 3]) * METRES
    axis = (pose[..., :3, 2] - target[..., :3, 2]) * 0.3 * METRES
    side = (pose[..., :3, 0] - target[..., :3, 0]) * (0.3 * METRES if label.shape[-1] == 12 else 0.0)
    return torch.cat([place, axis, side, (outputs - label) * DATA], dim=-1)


def by_the_loop(view: Callable, width: int, budget: fitting.Budget, poses: np.ndarray, q: np.ndarray) -> dict:
    """Train on another view of any pose; its size, its errors on held-out poses and joints, and its time."""

    def draw(random: np.random.Generator, count: int) -> fitting.Samples:
        joints = joints_in_the_branch(random, count)
        return view(fk(joints, UR5E), joints)

    model = fitting.fit(draw, residuals, (width, width), budget, SEED)
    features, target, _ = view(poses, q)
    found = fk(joints_of(torch.as_tensor(fitting.outputs_of(model, features))).numpy(), UR5E)
    weights, sizes = model.export()[0], np.array(model.sizes)
    work = np.zeros((2, max(model.sizes)))

    def solve(row: int) -> None:
        work[0, : features.shape[1]] = features[row]
        forward(ANY_POSE, weights, sizes, work[0], work[1])

    return {
        "parameters": len(weights),
        "position_mm": summary(1e3 * np.linalg.norm(found[:, :3, 3] - target[:, :3, 3], axis=1)),
        "us": microseconds(solve, len(poses)),
    }


def judge(network: Network, poses: np.ndarray) -> dict:
    """Size, raw errors and time of a network of the package."""
    found = fk(network.predict(poses, np.full(len(poses), BRANCH)), UR5E)
    work, joints = np.zeros((2, network.width), network.weights.dtype), np.empty(6)
    weights = network.weights[network.slots[BRANCH]]

    def solve(row: int) -> None:
        predict_pose(network.kind, BRANCH, network.arm, weights, network.sizes, poses[row], work, joints)

    return {
        "parameters": len(weights),
        "position_mm": summary(1e3 * np.linalg.norm(found[:, :3, 3] - poses[:, :3, 3], axis=1)),
        "us": microseconds(solve, len(poses)),
    }


def microseconds(solve: Callable[[int], None], count: int) -> float:
    """Median time of one solve over `count` calls, in the quietest of ten rounds [us]."""
    solve(0)
    times = np.empty((10, count))
    for round_ in times:
        for row in range(count):
            begin = time.perf_counter_ns()
            solve(row)
            round_[row] = time.perf_counter_ns() - begin
    return float(np.median(times, axis=1).min()) / 1e3


def draw_figure(found: dict[str, list[dict]], reference: dict) -> Figure:
    """Error over parameters, and over time."""
    figure = Figure(figsize=(9.0, 4.8), layout="constrained")
    for axes, key, label in zip(
        figure.subplots(1, 2, sharey=True), ("parameters", "us"), ("parameters", "time of a solve [us]"), strict=True
    ):
        for name, points in found.items():
            colour, style = KINDS[name]
            errors = [point["position_mm"]["mean"] for point in points]
            axes.plot([point[key] for point in points], errors, style, color=colour, label=name, markersize=4)
        axes.plot(
            reference[key], reference["mean"], "*", color=BLACK, markersize=11, label="the reference network here"
        )
        axes.set(xscale="log", yscale="log", xlabel=label)
        axes.grid(alpha=0.3, which="both")
    left, right = figure.axes
    left.plot(530_438, 0.19, "x", color=BLACK, markersize=9, label="the project")
    left.set(ylabel="mean raw position error [mm]", title="Error over parameters")
    right.set_title("Error over time")
    left.legend(fontsize=8, loc="upper right")
    return figure


def main() -> None:
    """Train, judge, write the results."""
    run = Run.start(__file__, __doc__)
    torch.set_num_threads(1)
    widths, loop_widths, box, anywhere = WIDTHS, LOOP_WIDTHS, BOX, ANY
    if run.quick:
        widths = loop_widths = WIDTHS[:2]
        box = anywhere = fitting.Budget(100, 30, 4)
    count = 200 if run.quick else HELD_OUT
    boxed = held_out_targets(configs.REFERENCE, UR5E, count)
    poses = held_out_targets(configs.ANY_POSE, UR5E, count)
    joints, valid = closed_form(poses, UR5E)
    poses, q = poses[valid[:, BRANCH]], joints[valid[:, BRANCH], BRANCH]
    jobs: dict[str, Callable[[int], dict]] = {
        "box, 3 inputs": lambda width: judge(by_the_trainer(configs.REFERENCE, width, box), boxed),
        "box, 2 inputs": lambda width: judge(by_the_trainer(configs.TOOL_DOWN, width, box), boxed),
        "any pose, 6 freedoms": lambda width: by_the_loop(six_freedoms, width, anywhere, poses, q),
        "any pose, 4 freedoms": lambda width: by_the_loop(four_freedoms, width, anywhere, poses, q),
        "any pose, 3 freedoms (product)": lambda width: judge(by_the_trainer(configs.ANY_POSE, width, anywhere), poses),
    }
    report: dict = {
        "seed": SEED,
        "branch": BRANCH,
        "targets": {"box": len(boxed), "any pose": len(poses)},
        "budgets": {"box": dataclasses.asdict(box), "any pose": dataclasses.asdict(anywhere)},
        "results": {name: [] for name in jobs},
    }
    for name, job in jobs.items():
        for width in loop_widths if name in ("any pose, 6 freedoms", "any pose, 4 freedoms") else widths:
            begin = time.monotonic()
            result = {"width": width, **job(width), "training_s": round(time.monotonic() - begin, 1)}
            report["results"][name].append(result)
            print(f"{name}: {result}", flush=True)
    bench = read(RESULTS, "bench")["solvers"]["reference network, raw"]
    network = read(RESULTS, "networks")["reference-ur5e"]
    reference = {"parameters": network["parameters"], "mean": network["position_mm"]["mean"], "us": bench["median_us"]}
    report["reference"] = reference
    run.finish(report, draw_figure(report["results"], reference), ("numba", "torch"))


if __name__ == "__main__":
    main()
