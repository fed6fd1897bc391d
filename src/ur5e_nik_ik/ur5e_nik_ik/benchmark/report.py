"""The result on the terminal, as a figure, and as JSON."""

import os
import platform
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from ur5e_nik_ik.benchmark.guarantees import Guarantee


def machine() -> dict:
    """Return what a reader must know about the machine."""
    model = "unknown"
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def print_solvers(console: Console, solvers: dict[str, dict], notes: dict[str, str]) -> None:
    """Fastest first."""
    table = Table(title="One pose, one thread, by our FK", box=box.SIMPLE)
    for heading in ("solver", "median us", "p99 us", "success", "mean mm", "p99 mm", "max mm", ""):
        table.add_column(heading, justify="left" if heading in ("solver", "") else "right")
    for name, score in sorted(solvers.items(), key=lambda item: item[1]["median_us"]):
        errors = [score["pos_err_mm"][key] for key in ("mean", "p99", "max")]
        table.add_row(
            name,
            f"{score['median_us']:.2f}",
            f"{score['p99_us']:.2f}",
            f"{100.0 * score['success']:.1f} %",
            *("-" if error is None else f"{error:.3g}" for error in errors),
            notes[name],
        )
    console.print(table)


def print_ratios(console: Console, ratios: dict[str, float]) -> None:
    """How our verified answers stand to others, by medians of the same run."""
    table = Table(title="Medians of this run, x times as long as ours", box=box.SIMPLE)
    table.add_column("compared")
    table.add_column("x", justify="right")
    for what, ratio in ratios.items():
        table.add_row(what, f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}")
    console.print(table)


def print_guarantees(console: Console, found: list[Guarantee]) -> None:
    """Each with what it may be."""
    table = Table(title="What the verified solver promises", box=box.SIMPLE)
    for heading in ("what", "requests", "measured", "limit", ""):
        table.add_column(heading, justify="left" if heading in ("what", "") else "right")
    for one in found:
        sign = ">=" if one.at_least else "<="
        kept = "kept" if one.kept else "BROKEN"
        table.add_row(one.what, f"{one.count:,}", f"{one.value:.4g}", f"{sign} {one.limit:g}", kept)
    console.print(table)


def print_throughput(console: Console, count: int, found: dict[str, float]) -> None:
    """Most first."""
    table = Table(title=f"Batches of {count:,}, one core", box=box.SIMPLE)
    table.add_column("solver")
    table.add_column("solves / s", justify="right")
    for name, rate in sorted(found.items(), key=lambda item: -item[1]):
        table.add_row(name, f"{rate:,.0f}")
    console.print(table)


def print_round_trip(console: Console, found: dict[str, dict[str, float]]) -> None:
    """By number of clients."""
    table = Table(title="/solve_ik over DDS, each client in a process of its own", box=box.SIMPLE)
    for heading in ("clients", "median us", "p99 us", "calls / s"):
        table.add_column(heading, justify="right")
    for clients, score in found.items():
        table.add_row(clients, *(f"{score[key]:,.0f}" for key in ("median_us", "p99_us", "calls_per_s")))
    console.print(table)


def draw(path: Path, solvers: dict[str, dict], targets: int) -> None:
    """Bars of the median on a log axis with a whisker to the p99, and what was met written beside."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = sorted(solvers.items(), key=lambda item: -item[1]["median_us"])
    figure, axes = pyplot.subplots(figsize=(9.0, 0.32 * len(rows) + 1.4), layout="constrained")
    for y, (name, score) in enumerate(rows):
        # Colours of the Okabe-Ito palette.
        colour = "#0072B2" if "(" not in name else "#E69F00"
        axes.barh(y, score["median_us"], color=colour, height=0.7)
        axes.plot([score["median_us"], score["p99_us"]], [y, y], color="black", linewidth=1.0, marker="|")
        axes.text(score["p99_us"] * 1.15, y, f"{100.0 * score['success']:.0f} %", va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(0.5, max(score["p99_us"] for _, score in rows) * 4.0)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.set_xlabel("time of one solve [us]: median (bar) and 99th percentile (line); % of targets met")
    axes.set_title(f"Inverse kinematics of the UR5e, {targets} targets (blue: ours, orange: others)", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
