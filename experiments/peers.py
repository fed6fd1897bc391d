"""Draw the benchmark, and ask IKPy from several seeds and limits: how often it fails is a matter of both.

Question. The project's figures were: closed form 2.3 times as fast as the network, the network 72 times as fast as
IKPy, and IKPy failing on 58 % of the targets from its rest configuration. Where do solvers stand by one protocol, and
what does a share of failures of IKPy depend on?

Protocol. Times and successes are those of ./run bench (experiments/results/bench.json). IKPy: 100 of the same tool-
down targets (x 0.30..0.70, y -0.35..0.35, z 0.05..0.45 m, yaw 0), the whole pose asked for, its two optimizers (least
squares, and the one that was the default before IKPy 3.3) with their own settings, from eight seeds, three of them
random, under four sets of joint limits. A success is within 1 mm and 0.5 deg by our forward kinematics, as in the
benchmark.

Time. 5 minutes on one core; with --quick (4 targets) 15 s.

    ./run exec python experiments/peers.py [--quick] [--out FOLDER]

It needs matplotlib, and IKPy, which ./run bench installs; without IKPy only the benchmark is drawn, and a line says so.
Writes peers.json and peers.png.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import BLUE, ORANGE, RED, RESULTS, Run, read
from matplotlib.figure import Figure

from ur5e_nik_ik.benchmark.protocol import Contestant, measure, tool_down_targets
from ur5e_nik_ik.benchmark.urdf import urdf
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.joints import JOINT_LIMITS, REST_POSTURE

SEED = 0
RANDOM = np.random.default_rng(SEED).uniform(-np.pi, np.pi, (3, 6))
# Named in degrees.
SEEDS = {
    "rest (0,-90,90,-90,-90,0)": REST_POSTURE,
    "zero": np.zeros(6),
    "upright (0,-90,0,-90,0,0)": np.radians([0, -90, 0, -90, 0, 0]),
    "elbow turned (0,-90,-90,-90,90,0)": np.radians([0, -90, -90, -90, 90, 0]),
    "rest, base turned (180,-90,90,-90,-90,0)": np.radians([180, -90, 90, -90, -90, 0]),
    **{f"random {row + 1}": joints for row, joints in enumerate(RANDOM)},
}
LIMITS = {
    "the arm's": JOINT_LIMITS,
    "none": np.full(6, np.inf),
    "+-180 deg": np.full(6, np.pi),
    "+-90 deg": np.full(6, np.pi / 2),
}
OPTIMIZERS = {"least_squares": "least squares", "scalar": "scalar (before 3.3)"}


def contestants() -> Any:
    """Every setting of IKPy, with the name of its optimizer, limits and seed."""
    from ikpy.chain import Chain

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arm.urdf")
        path.write_text(urdf(UR5E))
        chain = Chain.from_urdf_file(
            str(path), base_elements=["base_link"], active_links_mask=[False, *[True] * 6, False], symbolic=False
        )
    for optimizer in OPTIMIZERS:
        for limits, bounds in LIMITS.items():
            for link, bound in zip(chain.links[1:7], bounds, strict=True):
                link.bounds = (-bound, bound)
            for name, seed in SEEDS.items():
                start = np.concatenate([[0.0], seed, [0.0]])

                def solve(target: np.ndarray, start: np.ndarray = start, optimizer: str = optimizer) -> np.ndarray:
                    return chain.inverse_kinematics_frame(
                        target, initial_position=start, orientation_mode="all", optimizer=optimizer
                    )

                yield optimizer, limits, name, Contestant(name, np.array, solve, lambda joints: joints[1:7])


def ask_ikpy(targets: np.ndarray) -> dict:
    """Share of failures and median time of every setting."""
    found: dict = {}
    # IKPy warns of seeds outside of the limits, which it moves inside.
    warnings.simplefilter("ignore")
    for optimizer, limits, name, contestant in contestants():
        score = measure(contestant, targets[:1], targets, 1, UR5E)
        failed = 1.0 - float(score.success.mean())
        result = {"failed": failed, "median_ms": float(np.median(score.times)) / 1e3}
        found.setdefault(optimizer, {}).setdefault(limits, {})[name] = result
        print(f"IKPy, {optimizer}, limits {limits}, {name}: {result}", flush=True)
    return found


def draw(solvers: dict[str, dict], ikpy: dict | None, targets: int) -> Figure:
    """The benchmark above, IKPy's failures below."""
    figure = Figure(figsize=(9.0, 10.0 if ikpy else 5.5), layout="constrained")
    grid = figure.add_gridspec(2 if ikpy else 1, 4, height_ratios=(1.15, 1) if ikpy else (1,))
    rows = sorted(solvers.items(), key=lambda item: -item[1]["median_us"])
    left, right = figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[0, 3])
    for y, (name, score) in enumerate(rows):
        left.barh(y, score["median_us"], color=ORANGE if "(" in name else BLUE, height=0.7)
        left.plot([score["median_us"], score["p99_us"]], [y, y], color="black", linewidth=1.0, marker="|")
        failed = 100.0 * (1.0 - score["success"])
        right.barh(y, failed, color=RED, height=0.7)
        right.text(failed + 0.3, y, f"{failed:.1f}" if failed else "0", va="center", fontsize=8)
    left.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    left.set(xscale="log", xlabel="time of one solve [us]: median, line to the 99th percentile")
    left.set_title("One solve, one thread (blue: ours, orange: others)", fontsize=10)
    left.grid(axis="x", alpha=0.3)
    right.set(xlim=(0, 10), ylim=left.get_ylim(), yticks=[], xlabel="targets missed [%]")
    right.set_title("Failures", fontsize=10)
    if ikpy:
        for column, (optimizer, title) in enumerate(OPTIMIZERS.items()):
            axes = figure.add_subplot(grid[1, 2 * column : 2 * column + 2])
            shares = 100.0 * np.array(
                [[ikpy[optimizer][limits][name]["failed"] for limits in LIMITS] for name in SEEDS]
            )
            axes.imshow(shares, cmap="cividis", vmin=0, vmax=100, aspect="auto")
            for (row, place), share in np.ndenumerate(shares):
                colour = "black" if share > 60 else "white"
                axes.text(place, row, f"{share:.0f}", ha="center", va="center", color=colour, fontsize=9)
            axes.set_xticks(range(len(LIMITS)), LIMITS, fontsize=8)
            axes.set_yticks(range(len(SEEDS)), SEEDS if column == 0 else [""] * len(SEEDS), fontsize=8)
            axes.set(xlabel="joint limits")
            axes.set_title(f"IKPy, {title}:\n% of {targets} targets missed", fontsize=10)
    return figure


def main() -> None:
    """Ask IKPy, write the results."""
    run = Run.start(__file__, __doc__)
    targets = tool_down_targets(4 if run.quick else 100, SEED)
    report: dict = {"seed": SEED, "targets": len(targets), "ikpy": None}
    bench = read(RESULTS, "bench")
    report["bench"] = {
        name: {key: score[key] for key in ("median_us", "p99_us", "success")}
        for name, score in bench["solvers"].items()
    }
    packages: tuple[str, ...] = ("numba",)
    if importlib.util.find_spec("ikpy"):
        packages += ("ikpy", "scipy")
        report["ikpy"] = ask_ikpy(targets)
        shares = [
            one["failed"] for limits in report["ikpy"].values() for seeds in limits.values() for one in seeds.values()
        ]
        report["ikpy_failed"] = {"settings": len(shares), "least": min(shares), "most": max(shares)}
        print(report["ikpy_failed"], flush=True)
    else:
        print("peers: IKPy is not installed (./run bench installs it): only the benchmark is drawn", flush=True)
    run.finish(report, draw(bench["solvers"], report["ikpy"], len(targets)), packages)


if __name__ == "__main__":
    main()
