"""`./run eval task`: the whole job, scene after scene, against ground truth and against the limits."""

from __future__ import annotations

import argparse
import itertools
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from ur5e_nik_bringup.evaluation.crew import Crew, whole_cell
from ur5e_nik_bringup.evaluation.promises import Promise, at_most, print_promises
from ur5e_nik_bringup.evaluation.scores import summary
from ur5e_nik_bringup.evaluation.speed_limit import quickest, violations
from ur5e_nik_bringup.report import build_report
from ur5e_nik_bringup.scene_file import load_scene
from ur5e_nik_bringup.waypoints import ToolPose

console = Console(highlight=False)

PER_SCENE = 4
QUICK_CUBES, QUICK_ARRIVALS = 4, 3
ARRIVALS = 100
# Run in real time: in a faster simulation the time that messages take counts many times over.
TIMED_SCENES = 5


@dataclass
class Findings:
    """What was measured so far. picks: rows of build_report, with the scene's seed."""

    cubes: int = 0
    placed: int = 0
    picks: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    cycle_s: list[float] = field(default_factory=list)
    limit_s: list[float] = field(default_factory=list)
    violations: int = 0
    bumps: list[str] = field(default_factory=list)
    apart_mm: list[float] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line offers."""
    parser.add_argument("--cubes", type=int, default=500, help=f"random cubes, {PER_SCENE} a scene (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the first scene (default: 0)")
    parser.add_argument("--solver", choices=("auto", "network", "closed_form"), default="auto", help="(default: auto)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CUBES} cubes")
    parser.add_argument("--out", type=Path, default=Path("out/eval/task.json"), help="the figures")


def run(options: argparse.Namespace) -> int:
    """Measure, print, write; 0 if every figure is as it should be."""
    cubes, arrivals = (QUICK_CUBES, QUICK_ARRIVALS) if options.quick else (options.cubes, ARRIVALS)
    if not PER_SCENE <= cubes <= 100_000 or cubes % PER_SCENE:
        raise ValueError(f"--cubes is {cubes}, but must be a multiple of {PER_SCENE}, up to 100000")
    if not 0 <= options.seed <= 2**31:
        raise ValueError(f"--seed is {options.seed}, but must be from 0 to {2**31}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = {"cubes": str(PER_SCENE), "seed": str(options.seed), "speed": "0", "solver": options.solver}
    findings = Findings()
    with whole_cell(given, console) as (_, crew):
        for number in track(range(cubes // PER_SCENE), "scenes", console=console, transient=True):
            timed = number < TIMED_SCENES
            crew.pace(1.0 if timed else 0.0)
            _scene(findings, crew, options.seed + number, timed)
        crew.pace(0.0)
        _arrivals(findings, crew, arrivals, options.seed)
    report = build(findings, options.solver)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    title = f"{report['cubes']} random cubes, {PER_SCENE} a scene, solver {report['solver']}"
    kept = print_promises(console, title, targets(report))
    for failure in findings.failures:
        console.print(failure)
    console.print(f"wrote {options.out}")
    return 0 if kept else 1


def _scene(findings: Findings, crew: Crew, seed: int, timed: bool) -> None:
    crew.lay(seed, PER_SCENE)
    crew.sent.clear()
    before = crew.truth().cubes
    outcome = crew.pick_and_place(0, lambda *_: None)
    after = crew.truth()
    report = build_report(seed, PER_SCENE, outcome.picks, before, after.cubes)
    findings.cubes += PER_SCENE
    findings.placed += report["placed"]
    findings.picks += [{"seed": seed, **row} for row in report["picks"]]
    if report["placed"] < PER_SCENE:
        findings.failures.append(f"seed {seed}: {report['placed']} of {PER_SCENE}: {outcome.message}")
    settings = crew.settings
    limits = {len(settings.arm_joints): settings.arm_limits, len(settings.gripper_joints): settings.gripper_limits}
    sent = [(motion, limits[len(names)]) for names, motion in crew.sent]
    findings.violations += sum(violations(motion, bound) for motion, bound in sent)
    if timed:
        findings.cycle_s += [row["cycle_s"] for row in report["picks"] if row["placed"]]
        findings.limit_s.append(sum(quickest(motion, bound) for motion, bound in sent) / PER_SCENE)
    findings.bumps += [f"seed {seed}: {pair}" for pair in after.bumps]


def _arrivals(findings: Findings, crew: Crew, count: int, seed: int) -> None:
    """Send the arm to the same poses above the trays by either solver, where the way there is free."""
    crew.lay(seed, PER_SCENE)
    answers = itertools.islice(_clear_answers(crew, seed), count)
    for pair in track(answers, "arrivals", count, console=console, transient=True):
        network, closed_form = map(crew.arrival, pair)
        findings.apart_mm.append(1e3 * float(np.linalg.norm(network - closed_form)))


def _clear_answers(crew: Crew, seed: int) -> Iterator[list[NDArray[np.float64]]]:
    """The network's and the closed form's joints for pose after pose, where the arm may go to both."""
    for pose in _poses(seed):
        answers = [crew.answer(pose, solver) for solver in ("network", "closed_form")]
        if all(map(crew.clear, answers)):
            yield answers


def _poses(seed: int) -> Iterator[ToolPose]:
    random = np.random.default_rng(seed)
    trays = load_scene()["trays"].values()
    low = np.min([np.array(tray["center"]) - np.array(tray["size"]) / 2 for tray in trays], axis=0)
    high = np.max([np.array(tray["center"]) + np.array(tray["size"]) / 2 for tray in trays], axis=0)
    while True:
        yield ToolPose(*map(float, random.uniform([*low, 0.25, -np.pi], [*high, 0.40, np.pi])))


def build(findings: Findings, solver: str) -> dict[str, Any]:
    """The figures by name; lengths in mm, times in s of simulated time."""
    placed = [row for row in findings.picks if row["placed"]]
    answers = [name for row in findings.picks for name in row["solvers"]]
    return {
        "solver": solver,
        "cubes": findings.cubes,
        "placed": findings.placed,
        "place_mm": summary([row["place_error_mm"] for row in placed]),
        "yaw_deg": summary([row["yaw_error_deg"] for row in placed]),
        "attempts": sum(row["attempts"] for row in findings.picks),
        "cycle_s": round(float(np.mean(findings.cycle_s)), 3) if findings.cycle_s else None,
        "cycle_limit_s": round(float(np.mean(findings.limit_s)), 3) if findings.limit_s else None,
        "limit_violations": findings.violations,
        "contacts": len(findings.bumps),
        "net_vs_closed_form_mm": summary(findings.apart_mm),
        "answers": {name: answers.count(name) for name in sorted(set(answers))},
        "failures": findings.failures + findings.bumps,
        # For a comparison, cube by cube, with a run of another solver.
        "place_mm_of": {f"{row['seed']}.{row['cube']}": round(row["place_error_mm"], 4) for row in placed},
    }


def targets(report: dict[str, Any]) -> list[Promise]:
    """What is promised of the figures."""
    cubes, placed, cycle, limit = (report[name] for name in ("cubes", "placed", "cycle_s", "cycle_limit_s"))
    return [
        Promise("cubes placed", f"{placed} of {cubes}", ">= 99.5 %", placed >= 0.995 * cubes),
        at_most("place error, mean [mm]", report["place_mm"]["mean"], 1.0),
        at_most("place error, 99 % [mm]", report["place_mm"]["p99"], 3.0),
        at_most("yaw error, largest [deg]", report["yaw_deg"]["max"], 2.0),
        at_most("network to closed form, arm's end, max [mm]", report["net_vs_closed_form_mm"]["max"], 0.05),
        at_most(f"cycle {cycle} s / limit by speeds {limit} s", cycle / limit if cycle and limit else None, 1.3),
        at_most("motions over velocity, acceleration or jerk limits", report["limit_violations"], 0),
        at_most("bumps of arm or gripper into anything but a cube", report["contacts"], 0),
    ]
