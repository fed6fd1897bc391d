"""`./run eval soak`: hours of simulated work; whether memory, success and the messages that matter hold."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from ur5e_nik_bringup.evaluation.crew import Crew, whole_cell
from ur5e_nik_bringup.evaluation.promises import Promise, at_most, print_promises
from ur5e_nik_bringup.report import build_report
from ur5e_nik_bringup.states import Code

console = Console(highlight=False)

PER_SCENE = 8
HOUR = 3600.0
QUICK_HOURS = 0.02
# A goal that ends with one of these has lost a message, or waited for one that came too late.
LOST = {
    Code.TIMED_OUT,
    Code.ROBOT_STATE_STALE,
    Code.SENSOR_INFO_STALE,
    Code.IK_UNAVAILABLE,
    Code.CONTROLLER_UNAVAILABLE,
}


@dataclass
class Findings:
    """After every scene: simulated time [s], cubes laid and placed, what went wrong, each node's memory [MB]."""

    times: list[float] = field(default_factory=list)
    cubes: list[int] = field(default_factory=list)
    placed: list[int] = field(default_factory=list)
    lost: int = 0
    failures: list[str] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line offers."""
    parser.add_argument("--hours", type=float, default=8.0, help="of simulated work (default: 8)")
    parser.add_argument("--seed", type=int, default=0, help="of the first scene (default: 0)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_HOURS * 60:.0f} simulated minutes")
    parser.add_argument("--out", type=Path, default=Path("out/eval/soak.json"), help="the figures")


def run(options: argparse.Namespace) -> int:
    """Measure, print, write; 0 if every figure is as it should be."""
    hours = QUICK_HOURS if options.quick else options.hours
    if not 0.01 <= hours <= 1000.0:
        raise ValueError(f"--hours is {hours:g}, but must be from 0.01 to 1000")
    if not 0 <= options.seed <= 2**31:
        raise ValueError(f"--seed is {options.seed}, but must be from 0 to {2**31}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    findings = Findings()
    begin = time.monotonic()
    given = {"cubes": str(PER_SCENE), "speed": "0"}
    with whole_cell(given, console) as (nodes, crew), Progress(console=console, transient=True) as progress:
        bar = progress.add_task("simulated minutes", total=60.0 * hours)
        started, seed = crew.now(), options.seed
        while crew.now() - started < HOUR * hours:
            _scene(findings, crew, seed)
            findings.times.append(crew.now() - started)
            for name, process in nodes.process_ids.items():
                findings.memory.setdefault(name, []).append(resident_mb(process))
            progress.update(bar, completed=findings.times[-1] / 60.0)
            seed += 1
    report = build(findings, time.monotonic() - begin)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    kept = print_promises(console, f"{report['hours']:.2f} simulated hours, {report['cubes']} cubes", targets(report))
    for failure in report["failures"]:
        console.print(failure)
    console.print(f"wrote {options.out}")
    return 0 if kept else 1


def resident_mb(process: int) -> float:
    """Memory that a process holds, without what it shares [MB]."""
    _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _scene(findings: Findings, crew: Crew, seed: int) -> None:
    crew.lay(seed, PER_SCENE)
    before = crew.truth().cubes
    outcome = crew.pick_and_place(0, lambda *_: None)
    report = build_report(seed, PER_SCENE, outcome.picks, before, crew.truth().cubes)
    findings.cubes.append(PER_SCENE)
    findings.placed.append(report["placed"])
    findings.lost += outcome.code in LOST
    if report["placed"] < PER_SCENE:
        findings.failures.append(f"seed {seed}: {report['placed']} of {PER_SCENE}: {outcome.message}")


def build(findings: Findings, wall: float) -> dict[str, Any]:
    """The figures by name; growth is that of the median memory from the second eighth of the time to the last."""
    times = np.array(findings.times)
    eighth = np.minimum((8 * times / times[-1]).astype(int), 7)
    cubes, placed = np.array(findings.cubes), np.array(findings.placed)
    growth = {}
    for name, memory in findings.memory.items():
        early, late = (np.array(memory)[eighth == part] for part in (1, 7))
        begin = np.median(early) if len(early) else memory[0]  # a short run has no scene in some eighths
        growth[name] = round(float(100 * (np.median(late) / begin - 1)), 2)
    rates = [float(placed[eighth == k].sum() / cubes[eighth == k].sum()) for k in range(8) if (eighth == k).any()]
    return {
        "hours": round(float(times[-1]) / HOUR, 3),
        "wall_s": round(wall, 1),
        "scenes": len(times),
        "cubes": int(cubes.sum()),
        "placed": int(placed.sum()),
        "placed_by_eighth": [round(rate, 4) for rate in rates],
        "lost_messages": findings.lost,
        "memory_mb": {name: round(float(np.median(memory)), 1) for name, memory in findings.memory.items()},
        "growth_percent": growth,
        "failures": findings.failures,
    }


def targets(report: dict[str, Any]) -> list[Promise]:
    """What is promised of the figures."""
    cubes, placed, rates = report["cubes"], report["placed"], report["placed_by_eighth"]
    rows = [
        Promise("cubes placed", f"{placed} of {cubes}", ">= 99.5 %", placed >= 0.995 * cubes),
        Promise("in the last eighth of the time", f"{rates[-1]:.1%}", ">= 99.5 %", rates[-1] >= 0.995),
        at_most("goals that ended for a message that was lost or late", report["lost_messages"], 0),
    ]
    for name, percent in report["growth_percent"].items():
        size = report["memory_mb"][name]
        rows.append(at_most(f"memory of {name} ({size:.0f} MB), growth after the first eighth [%]", percent, 5.0))
    return rows
