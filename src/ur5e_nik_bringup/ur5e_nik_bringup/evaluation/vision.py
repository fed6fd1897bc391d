"""`./run eval vision`: the vision node against ground truth, in good light, in bad, and under load."""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ur5e_nik_bringup.domain import own_domain
from ur5e_nik_bringup.evaluation.promises import Promise, at_most, print_promises
from ur5e_nik_bringup.evaluation.scores import summary
from ur5e_nik_bringup.evaluation.tray_plot import draw_errors
from ur5e_nik_bringup.evaluation.vision_runs import STREAM, Findings, judge_scenes, stream_full_hd
from ur5e_nik_bringup.scene_file import load_scene

console = Console(highlight=False)

MOST_CUBES = 8
# Few numbers of cubes: each is a model that is compiled anew.
QUICK_SCENES, QUICK_MOST_CUBES = 24, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line offers."""
    parser.add_argument("--scenes", type=int, default=500, help="random scenes of 1 to 8 cubes (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the scenes and of what spoils pictures (default: 0)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SCENES} scenes and short streams")
    parser.add_argument(
        "--out", type=Path, default=Path("out/eval/vision.json"), help="the figures; a plot goes beside it"
    )


def run(options: argparse.Namespace) -> int:
    """Measure, print, write; 0 if every figure is as it should be."""
    scenes, most_cubes = (QUICK_SCENES, QUICK_MOST_CUBES) if options.quick else (options.scenes, MOST_CUBES)
    if not 8 <= scenes <= 100_000:
        raise ValueError(f"--scenes is {scenes}, but must be from 8 to 100000")
    if not 0 <= options.seed <= 40_000:
        raise ValueError(f"--seed is {options.seed}, but must be from 0 to 40000")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    findings = Findings()
    with own_domain(), tempfile.TemporaryDirectory(prefix="ur5e_nik_eval_") as name:
        folder = Path(name)
        judge_scenes(findings, scenes, most_cubes, options.seed, folder, console)
        stream_full_hd(findings, 3.0 if options.quick else 20.0, folder, console)
    report = build_report(findings)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    figure = options.out.with_suffix(".png")
    draw_errors(findings.plain, load_scene()["trays"]["pick"], figure)
    kept = print_promises(console, f"vision in {scenes} random scenes, by ground truth", targets(report))
    console.print(f"wrote {options.out} and {figure}")
    return 0 if kept else 1


def build_report(findings: Findings) -> dict[str, Any]:
    """The figures by name; positions in mm, times in ms."""
    plain, light = findings.plain, findings.light
    return {
        "scenes": findings.scenes,
        "position_mm": summary(plain.position_mm),
        "yaw_deg": summary(plain.yaw_deg),
        "found": plain.found,
        "whole": plain.whole,
        "false_positions": sum(tally.false for tally in (plain, *light.values()))
        + sum(positions for _, positions in findings.spoilt.values()),
        "residual_mm": {"held_out_median": findings.held_out_mm},
        "ms": {"median": round(float(np.median(findings.frame_ms)), 3), **summary(findings.frame_ms)},
        "stress": {
            **{
                name: {"position_mm": summary(tally.position_mm), "found": tally.found, "whole": tally.whole}
                for name, tally in light.items()
            },
            **{name: {"pictures": pictures, "positions": n} for name, (pictures, n) in findings.spoilt.items()},
            STREAM: findings.full_hd,
        },
    }


def targets(report: dict[str, Any]) -> list[Promise]:
    """What is promised of the figures."""
    position, yaw, stress = report["position_mm"], report["yaw_deg"], report["stress"]
    found, whole = report["found"], report["whole"]
    rows = [
        at_most("position error, mean [mm]", position["mean"], 0.5),
        at_most("position error, 99 % [mm]", position["p99"], 1.5),
        at_most("yaw error, mean [deg]", yaw["mean"], 0.5),
        at_most("yaw error, 99 % [deg]", yaw["p99"], 2.0),
        Promise("whole cubes found", f"{found} of {whole}", "all", found == whole),
        at_most("positions of nothing", report["false_positions"], 0),
        at_most("calibration, held-out median [mm]", report["residual_mm"]["held_out_median"], 0.3),
        at_most("time of a 640 x 480 picture, median [ms]", report["ms"]["median"], 4.0),
        at_most(f"lag at {STREAM}, largest [pictures]", stress[STREAM]["lag_max"], 1),
    ]
    for name, figures in stress.items():
        if "whole" in figures:
            share = f"{figures['found']} of {figures['whole']} found"
            rows.append(at_most(f"{name}, {share}, 99 % [mm]", figures["position_mm"]["p99"], 3.0))
        elif "positions" in figures:
            rows.append(at_most(f"positions in {figures['pictures']} pictures, cube {name}", figures["positions"], 0))
    return rows
