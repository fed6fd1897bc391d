"""The command line."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import Progress


def _count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high:,}")
        return int(text)

    return parse


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description="Compare inverse kinematics solvers of the UR5e: ours, raw and verified, and others'.",
        epilog="One thread. A success is within 1 mm and 0.5 deg by our forward kinematics.",
    )
    parser.add_argument(
        "--targets", type=_count(10, 100_000), default=200, help="targets of every solver (default: 200)"
    )
    parser.add_argument("--poses", choices=("tool-down", "random"), default="tool-down", help="(default: tool-down)")
    parser.add_argument("--seed", type=_count(0, 2**32 - 1), default=0, help="of the targets (default: 0)")
    parser.add_argument("--rounds", type=_count(1, 1000), default=5, help="over all targets (default: 5)")
    parser.add_argument(
        "--batch", type=_count(100, 1_000_000), default=10_000, help="targets of a batch (default: 10000)"
    )
    parser.add_argument(
        "--requests", type=_count(100, 10_000_000), default=20_000, help="to count over (default: 20000)"
    )
    parser.add_argument(
        "--calls", type=_count(10, 1_000_000), default=2000, help="of /solve_ik a client (default: 2000)"
    )
    parser.add_argument("--only", default="", help="solvers whose name contains this, and nothing else")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that it works")
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench/bench.json"), help="the figures; a plot goes beside it"
    )
    return parser


def main() -> int:
    """Measure and report; 0 if every promise of the verified solver was kept."""
    options = _parser().parse_args()
    try:
        return _run(options, Console(width=None if sys.stdout.isatty() else 150))
    except (ValueError, RuntimeError, OSError, ImportError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace, console: Console) -> int:
    # Before minutes of work that could not be written.
    options.out.parent.mkdir(parents=True, exist_ok=True)
    # Before numpy's own threads and everybody's libraries: torch is several times slower after some of them.
    import torch

    torch.set_num_threads(1)
    from ur5e_nik_ik.benchmark import ours, peers, protocol, report
    from ur5e_nik_ik.benchmark.guarantees import guarantees
    from ur5e_nik_ik.benchmark.round_trip import round_trip
    from ur5e_nik_ik.benchmark.throughput import throughput
    from ur5e_nik_ik.dh import UR5E

    tenth = 10 if options.quick else 1
    rounds, warm_ups = max(1, options.rounds // tenth), 200 // tenth
    targets, warm_up = (
        protocol.tool_down_targets(count, seed)
        if options.poses == "tool-down"
        else protocol.random_targets(count, seed, UR5E)
        for count, seed in ((options.targets // tenth, options.seed), (warm_ups, options.seed + 1_000_003))
    )
    found, missing = peers.contestants(UR5E)
    rivals = [c for c in (*ours.contestants(UR5E), *found) if options.only.lower() in c.name.lower()]
    if not rivals:
        raise ValueError(f"no solver's name contains {options.only!r}")
    console.print(
        f"{len(targets)} {options.poses} targets (seed {options.seed}), {warm_ups} warm-up calls on others, "
        f"{rounds} rounds, one thread; met: 1 mm and 0.5 deg by our FK"
    )
    if missing:
        console.print(f"not installed, left out: {', '.join(missing)} (requirements/bench.txt)")
    scores = {}
    with Progress(console=console, transient=True) as progress:
        for contestant in progress.track(rivals, description="solvers"):
            scores[contestant.name] = protocol.measure(contestant, warm_up, targets, rounds, UR5E).summary()
    report.print_solvers(console, scores, {c.name: c.note for c in rivals})
    result: dict = {"targets": len(targets), "poses": options.poses, "seed": options.seed, "rounds": rounds}
    result |= {"solvers": scores, "machine": report.machine()}
    kept = True
    if not options.only:
        result["ratios"] = _ratios(scores)
        report.print_ratios(console, result["ratios"])
        networks = ours.load_networks(UR5E)
        batch = options.batch // tenth
        result["batch"] = {"targets": batch, "solves_per_s": throughput(UR5E, networks, batch, options.seed)}
        report.print_throughput(console, batch, result["batch"]["solves_per_s"])
        product = [networks[name] for name in ("tool-down", "any-pose")]
        promises = guarantees(UR5E, product, options.requests // tenth, options.seed)
        report.print_guarantees(console, promises)
        kept = all(promise.kept for promise in promises)
        result["guarantees"] = {
            p.key: {"requests": p.count, "value": float(p.value), "kept": bool(p.kept)} for p in promises
        }
        result["solve_ik"] = round_trip(options.calls // tenth)
        report.print_round_trip(console, result["solve_ik"])
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    plot = options.out.with_suffix(".png")
    report.draw(plot, scores, len(targets))
    console.print(f"wrote {options.out} and {plot}")
    return 0 if kept else 1


def _ratios(scores: dict[str, dict]) -> dict[str, float]:
    """Medians of others over ours; left out where the other did not run."""
    pairs = {
        "IKPy, rest seed / tool-down network, verified": ("IKPy, rest seed", "tool-down network, verified"),
        "EAIK / tool-down network, verified": ("EAIK", "tool-down network, verified"),
        "EAIK / any-pose network, verified": ("EAIK", "any-pose network, verified"),
        "EAIK / closed form, all branches": ("EAIK", "closed form, all branches"),
        "tool-down network, verified / closed form, verified": ("tool-down network, verified", "closed form, verified"),
        "reference network, torch eager / tool-down network, verified": (
            "reference network, torch eager",
            "tool-down network, verified",
        ),
    }
    ratios = {}
    for what, (other, mine) in pairs.items():
        medians = [[s["median_us"] for name, s in scores.items() if name.startswith(start)] for start in (other, mine)]
        if all(medians):
            ratios[what] = medians[0][0] / medians[1][0]
    return ratios
