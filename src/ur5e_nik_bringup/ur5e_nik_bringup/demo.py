"""The whole job in one command: start the cell, pick and place every cube, judge it, show it."""

from __future__ import annotations

import argparse
import json
import math
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ur5e_nik_bringup import cells
from ur5e_nik_bringup.domain import own_domain
from ur5e_nik_bringup.observer import Observer
from ur5e_nik_bringup.report import build_report
from ur5e_nik_bringup.starter import Starter
from ur5e_nik_bringup.system import (
    ARGUMENTS,
    NodeSpec,
    SystemArgumentError,
    choose_simulator,
    describe,
    parse_arguments,
)

OFFERED = ("seed", "cubes", "colours", "solver", "speed", "namespace", "view")
# The animation takes a picture every so many simulated seconds and plays this much faster.
ANIMATION_PERIOD = 0.2
ANIMATION_RATE = 2.0
RECORDING = "recording"  # folder in --out

console = Console(highlight=False)


class DemoError(Exception):
    """Why the demo cannot go on, in one line."""


def main() -> int:
    """Run the demo; 0 only if every cube was placed by the simulation's ground truth."""
    arguments = _parse_command_line()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        values = parse_arguments({name: str(getattr(arguments, name)) for name in OFFERED})
        values["simulator"], why = choose_simulator("mujoco")
        out = _writable(arguments.out)
        if arguments.cells > 1 and arguments.namespace:
            raise DemoError("--namespace is the name of one cell; --cells gives each its own")
        if arguments.cells > 1 and values["view"]:
            raise DemoError("--view shows one cell; start each with --namespace and a --view of its own")
        if arguments.cells > 1:
            return cells.run(arguments.cells, values, arguments.record, out)
        _require_free(values["view"])
        # A namespace keeps a cell apart from others in the same domain.
        with own_domain(shared=bool(values["namespace"])) as domain:
            console.print(f"{why}; ROS domain {domain}; writing to {out}")
            report = _run(describe(values), values, out, arguments.record)
    except (SystemArgumentError, DemoError, RuntimeError, TimeoutError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: stopped", file=sys.stderr)
        return 130
    _print_report(report, out)
    return 0 if report["placed"] == report["cubes"] else 1


def _parse_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run demo", description=__doc__)
    for argument in ARGUMENTS:
        if argument.name in OFFERED:
            parser.add_argument(f"--{argument.name}", default=argument.default, help=argument.description)
    parser.add_argument(
        "--cells", type=_cells, default=1, help=f"cells beside each other in one ROS domain, up to {cells.MOST}"
    )
    parser.add_argument(
        "--record", action="store_true", help="keep pictures, states and findings, as MCAP, in --out/recording"
    )
    parser.add_argument("--out", default="out/demo", type=Path, help="folder of the report")
    return parser.parse_args()


def _require_free(port: int) -> None:
    """Before all nodes are started for a page that cannot be."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            pass
    except OSError as error:
        raise DemoError(f"--view {port} cannot be listened on ({error.strerror}); choose another port") from None


def _cells(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= cells.MOST):
        raise argparse.ArgumentTypeError(f"it is '{text}', but must be a whole number from 1 to {cells.MOST}")
    return int(text)


def _writable(folder: Path) -> Path:
    """Make the output folder, empty of an earlier run's report."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("report.json", "camera.png", "demo.webp"):
            (folder / name).unlink(missing_ok=True)
        # Only what a recording consists of, whatever the folder is used for besides.
        recording = folder / RECORDING
        for path in (*recording.glob("*.mcap"), recording / "metadata.yaml"):
            path.unlink(missing_ok=True)
        if recording.is_dir():
            recording.rmdir()
        (folder / ".writable").touch()
        (folder / ".writable").unlink()
    except OSError as error:
        raise DemoError(f"--out {folder} cannot be written ({error.strerror}); name a folder that can") from None
    return folder.resolve()


def _run(specs: list[NodeSpec], values: dict[str, Any], out: Path, record: bool) -> dict[str, Any]:
    """Start the nodes, do the job and return the report, which is written too."""

    def log(name: str, line: str) -> None:
        # What goes well is told by the progress lines; all of it stands in the node's log file.
        if "[INFO]" not in line:
            console.print(Text(f"[{name}] {line}", style="dim"), soft_wrap=True)

    begin = time.monotonic()
    recording = out / RECORDING if record else None
    with (
        Starter(specs, out / "log", log) as starter,
        Observer(starter.alive, values["namespace"], recording) as observer,
    ):
        observer.wait_until_ready(timeout=90.0)
        if values["view"]:
            console.print(f"look at http://127.0.0.1:{values['view']}")
        console.print(f"all nodes are ready after {time.monotonic() - begin:.1f} s")
        before = observer.truth().cubes
        round_trip = observer.measure_solve_ik(count=100)
        outcome = observer.pick_and_place(values["cubes"], _print_progress)
        after = observer.truth().cubes
        picture = observer.save_picture(out / "camera.png")
        film = observer.save_film(out / "demo.webp", ANIMATION_PERIOD, ANIMATION_RATE)
        timings = observer.timings()
    report = build_report(values["seed"], values["cubes"], outcome.picks, before, after)
    report["message"] = outcome.message
    report["wall_s"] = time.monotonic() - begin
    report["real_time_factor"] = outcome.real_time_factor
    report["timings_ms"] = {**timings, "solve_ik_round_trip": round_trip}
    files = {"camera.png": picture, "demo.webp": film, RECORDING: record}
    report["files"] = [name for name, there in files.items() if there]
    (out / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    return report


def _print_progress(seconds: float, cube: int, phase: str, message: str) -> None:
    console.print(f"{seconds:7.2f} s  cube {cube + 1}  [bold]{phase:<9}[/bold] {message}", soft_wrap=True)


def _print_report(report: dict[str, Any], out: Path) -> None:
    table = Table(title=f"{report['placed']} of {report['cubes']} cubes placed, by ground truth")
    for name in (
        "pick",
        "colour",
        "placed",
        "detect error [mm]",
        "place error [mm]",
        "yaw error [deg]",
        "cycle [s]",
        "grasps",
    ):
        table.add_column(name, justify="right")
    for number, row in enumerate(report["picks"], start=1):
        table.add_row(
            str(number),
            row["colour"] or "-",
            "yes" if row["placed"] else f"no: {row['message'] or 'not where it was meant to be'}",
            _figure(row["detect_error_mm"]),
            _figure(row["place_error_mm"]),
            _figure(row["yaw_error_deg"]),
            f"{row['cycle_s']:.1f}",
            str(row["attempts"]),
        )
    console.print(table)
    solvers = ", ".join(f"{name} {count}" for name, count in report["solver_counts"].items())
    console.print(f"IK answers: {solvers or 'none'}")
    console.print(
        f"{report['wall_s']:.1f} s in all, {report['real_time_factor']:.1f} x real time; "
        + ", ".join(f"{name.replace('_', ' ')} {_figure(value)} ms" for name, value in report["timings_ms"].items())
    )
    if report["message"]:
        console.print(report["message"])
    console.print("wrote " + ", ".join(str(out / name) for name in ["report.json", *report["files"]]))


def _figure(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
