"""Measure how training scales with data and processes, and how the verified batch solver does with the size of a batch.

Question. What do more targets in a training set, and a second core, buy in error and in time? How large must a batch
be before the verified solver runs at full speed?

Protocol. Training: the tool-down network (one branch, two hidden layers of 24), the package's trainer (300 steps of
Adam and 40 of Levenberg-Marquardt), with 75 to 3600 targets in a set, by torchrun in one process and in two, which
share the targets of every set; each process has one thread. The time is that of the training steps, without the start
of Python, the shorter of two runs; the error is the raw one on 2,021 held-out targets. Batches: solve_batch on one
core, median of repeats; verified, tool-down targets and poses at random, product networks, and the closed form.

Time. 6 minutes on two cores; with --quick (one small set, few steps, small batches) 25 s.

    ./run exec python experiments/scaling.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes scaling.json and scaling.png.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from common import BLACK, BLUE, GREEN, ORANGE, PURPLE, Run
from matplotlib.figure import Figure
from rich.console import Console

from ur5e_nik_ik.benchmark.protocol import random_targets, tool_down_targets
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.models import models_folder
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.solver import Solver
from ur5e_nik_ik.training.configs import TOOL_DOWN
from ur5e_nik_ik.training.trainer import Trainer

SEED = 12
SETS = (75, 300, 1200, 3600)
STEPS = (300, 40)
PROCESSES = (1, 2)
REPEATS = 2
BATCHES = (1, 10, 100, 1000, 10_000, 100_000)


def train(samples: int, adam: int, newton: int) -> None:
    """What torchrun starts in every process; the first one prints what came of it."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    config = dataclasses.replace(
        TOOL_DOWN, branches=(0,), samples=samples, adam_steps=adam, newton_steps=newton, goal_mm=1e9, seed=SEED
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, UR5E, Path(folder), "", console=Console(file=io.StringIO()))
        begin = time.monotonic()
        card = trainer.run()
        seconds = time.monotonic() - begin
    if trainer.rank == 0:
        print(json.dumps({"seconds": seconds, "position_mm": card["metrics"]["position_mm"]}))
    dist.destroy_process_group()


def by_torchrun(samples: int, steps: tuple[int, int], processes: int) -> dict:
    """Train in so many processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command += [__file__, "--train", str(samples), *map(str, steps)]
    run = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(f"scaling: torchrun ended with {run.returncode}:\n{run.stderr}")
    return {"samples": samples, **json.loads(run.stdout)}


def rates(batches: tuple[int, ...]) -> dict[str, list[float]]:
    """Solves per second of every kind of batch, over the sizes."""
    networks = [Network.load(models_folder() / f"{name}-{UR5E.name}.npz", UR5E) for name in ("tool-down", "any-pose")]
    learned, exact = Solver(UR5E, networks), Solver(UR5E)
    down, anywhere = tool_down_targets(batches[-1], SEED), random_targets(batches[-1], SEED, UR5E)
    jobs: dict[str, Callable[[int], object]] = {
        "closed form, tool down": lambda size: exact.solve_batch(down[:size]),
        "closed form, any pose": lambda size: exact.solve_batch(anywhere[:size]),
        "networks, tool down": lambda size: learned.solve_batch(down[:size]),
        "networks, any pose": lambda size: learned.solve_batch(anywhere[:size]),
    }
    found: dict[str, list[float]] = {}
    for name, job in jobs.items():
        found[name] = []
        for size in batches:
            job(size)
            times = np.empty(max(5, min(1000, 20_000 // size)))
            for row in range(len(times)):
                begin = time.perf_counter()
                job(size)
                times[row] = time.perf_counter() - begin
            found[name].append(size / float(np.median(times)))
        print(f"{name}: {found[name]} solves per s", flush=True)
    return found


def draw(training: dict[str, list[dict]], batches: tuple[int, ...], throughput: dict[str, list[float]]) -> Figure:
    """Time and error over data, and throughput over the size of a batch."""
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    for_time, for_error, for_batch = figure.subplots(1, 3)
    for (processes, rows), colour, style in zip(training.items(), (BLUE, ORANGE), ("o-", "s--"), strict=True):
        label = "1 process" if processes == "1" else f"{processes} processes"
        samples = [row["samples"] for row in rows]
        for_time.plot(samples, [row["seconds"] for row in rows], style, color=colour, label=label)
        for_error.plot(samples, [row["position_mm"]["mean"] for row in rows], style, color=colour, label=label)
    for_time.set(xlabel="targets in a set", ylabel="training [s]", title="Training time")
    for_error.set(xlabel="targets in a set", ylabel="mean raw error, held-out [mm]", title="Error")
    looks = zip(throughput.items(), (BLUE, GREEN, ORANGE, PURPLE), ("o-", "s-", "o--", "s--"), strict=True)
    for (name, values), colour, style in looks:
        for_batch.plot(batches, values, style, color=colour, label=name, markersize=4)
    for_batch.set(xlabel="targets in a batch", ylabel="verified solves per s, one core", title="Batch solver")
    for axes in figure.axes:
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3, which="both", color=BLACK, linewidth=0.3)
        axes.legend(fontsize=7)
    return figure


def main() -> None:
    """Measure, write the results."""
    run = Run.start(__file__, __doc__)
    sets, steps, batches = (SETS, STEPS, BATCHES) if not run.quick else (SETS[:1], (20, 4), BATCHES[:4])
    report: dict = {"seed": SEED, "cores": os.cpu_count(), "steps": dict(zip(("adam", "newton"), steps, strict=True))}
    report["training"] = {str(processes): [] for processes in PROCESSES}
    load = [os.getloadavg()[0]]
    for samples in sets:
        for processes in PROCESSES:
            tries = [by_torchrun(samples, steps, processes) for _ in range(1 if run.quick else REPEATS)]
            report["training"][str(processes)].append(min(tries, key=lambda one: one["seconds"]))
            load.append(os.getloadavg()[0])
            print(f"{processes} processes: {report['training'][str(processes)][-1]}", flush=True)
    report["batches"], report["solves_per_s"] = batches, rates(batches)
    report["load"] = {"least": min(load), "most": max(load)}
    run.finish(report, draw(report["training"], batches, report["solves_per_s"]), ("numba", "torch"))


if __name__ == "__main__":
    if "--train" in sys.argv:
        train(*map(int, sys.argv[2:]))
    else:
        main()
