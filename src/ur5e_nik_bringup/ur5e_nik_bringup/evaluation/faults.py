"""`./run eval faults`: each fault that the task's neighbours can show, in each phase of a goal, over DDS."""

from __future__ import annotations

import argparse
import json
import signal
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from ur5e_nik_bringup.domain import own_domain
from ur5e_nik_bringup.evaluation.fault_runs import Bench, Case
from ur5e_nik_bringup.evaluation.fault_table import FAULTS, PHASES, PLACED, Fault, every_case, quick_cases

console = Console(highlight=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line offers."""
    parser.add_argument("--quick", action="store_true", help="each fault in two phases only")
    parser.add_argument("--faults", nargs="+", metavar="WORDS", help="only faults whose name has one of these in it")
    parser.add_argument("--phases", nargs="+", metavar="PHASE", help=f"only these: {', '.join(PHASES)}")
    parser.add_argument("--out", type=Path, default=Path("out/eval/faults.json"), help="every case's result")


def run(options: argparse.Namespace) -> int:
    """Bring about each fault, print, write; 0 if each ended as it must."""
    cases = choose(options.quick, options.faults, options.phases)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    judged = []
    with own_domain() as domain, Bench(domain) as bench:
        for fault, phase in track(cases, "faults", console=console, transient=True):
            case = bench.judge(fault, phase)
            judged.append(case)
            if not case.ok:
                console.print(escape(f"{fault.name}, {phase}: {case.why}"), style="bold", soft_wrap=True)
    options.out.write_text(json.dumps({"cases": [case.row() for case in judged]}, indent=1) + "\n")
    _print_table(judged)
    console.print(f"wrote {options.out}")
    return 0 if all(case.ok for case in judged) else 1


def choose(quick: bool, words: Sequence[str] | None, phases: Sequence[str] | None) -> list[tuple[Fault, str]]:
    """The cases that are asked for. Raises ValueError for words and phases that name none."""
    for word in words or ():
        if not any(word.lower() in fault.name.lower() for fault in FAULTS):
            names = ", ".join(fault.name for fault in FAULTS)
            raise ValueError(f"--faults: no fault has '{word}' in its name; there are: {names}")
    for phase in phases or ():
        if phase not in PHASES:
            raise ValueError(f"--phases: '{phase}' is none; there are: {', '.join(PHASES)}")
    cases = [
        (fault, phase)
        for fault, phase in (quick_cases() if quick else every_case())
        if (not words or any(word.lower() in fault.name.lower() for word in words)) and (not phases or phase in phases)
    ]
    if not cases:
        raise ValueError("--faults and --phases leave no case")
    return cases


def _print_table(judged: Sequence[Case]) -> None:
    total = sum(case.ok for case in judged)
    table = Table(title=f"faults of the task's neighbours: {total} of {len(judged)} cases ended as they must")
    table.add_column("fault")
    table.add_column("ends with", no_wrap=True)
    for heading in ("stopped", "placed", "longest [s]", "as it must"):
        table.add_column(heading, justify="right")
    for name in dict.fromkeys(case.fault.name for case in judged):
        cases = [case for case in judged if case.fault.name == name]
        results = dict.fromkeys(case.result for case in cases if case.result != PLACED)
        placed = sum(case.result == PLACED for case in cases)
        good = sum(case.ok for case in cases)
        table.add_row(
            escape(name),
            "\n".join(results) or "-",
            str(len(cases) - placed),
            str(placed),
            f"{max(case.seconds for case in cases):.1f}",
            f"{good} of {len(cases)}" if good == len(cases) else f"[bold]{good} of {len(cases)}[/bold]",
        )
    console.print(table)
