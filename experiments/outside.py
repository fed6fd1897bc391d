"""Ask for targets outside the training box: what a raw network says there, and what the verified solver says.

Question. In the project the network went on answering outside of its box, with a median error of 14.3 mm at z = 0.25,
and of up to 1.78 m past the arm's reach, and nothing told a right answer from a wrong one. How far off is the
reference network there, and how many wrong answers pass the verified solver in silence?

Protocol. Tool-down targets at yaw 0 on a grid of 2 cm, x and y -1.2..1.2 m, at seven heights from -0.25 to 1.05 m;
the box that the reference network was trained on is x 0.30..0.70, y -0.35..0.35, z 0.05..0.45 m. The raw reference
network is asked for every target. The verified solver (as the IK node makes it) is asked for the same. Whether a pose
can be reached at all says the closed form; every error is that of the numpy forward kinematics, not the solver's own
word. A silent error is an answer that is given as a success and misses by more than 1e-6 m or 1e-6 rad. A line along
x at y = 0, z = 0.25 from the box to 2 m, past the reach, shows the same up close.

Time. 10 s; with --quick (a grid of 8 cm) 2 s.

    ./run exec python experiments/outside.py [--quick] [--out FOLDER]

It needs matplotlib, which ./run test installs. Writes outside.json and outside.png.
"""

from __future__ import annotations

import numpy as np
from common import BLUE, ORANGE, Run, summary
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.models import models_folder
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.solver import Solver
from ur5e_nik_ik.training.configs import REFERENCE
from ur5e_nik_ik.training.data import tool_down_pose

HEIGHTS = (-0.25, 0.05, 0.25, 0.45, 0.65, 0.85, 1.05)
SHOWN = (0.05, 0.25, 0.65, 0.85)
EDGE = 1.2
# Distances to the box between which raw errors are summed up [m].
RINGS = (0.0, 0.05, 0.10, 0.20, 0.40, 1.00)
BRANCH = 0


def errors(joints: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position [m] and orientation errors [rad], by the numpy FK."""
    error = pose_error(fk(joints, UR5E), targets)
    return np.linalg.norm(error[:, :3], axis=1), np.linalg.norm(error[:, 3:], axis=1)


class Answers:
    """What both say to targets (N, 4, 4), a row a target.

    Attributes:
        raw: position error of the raw reference network [m].
        given: whether the verified solver gave an answer.
        error: its position error [m], meant where one was given.
        silent: whether the answer was wrong.
        reachable: by the closed form.
        boxed: whether the target lies in the training box.
    """

    def __init__(self, network: Network, solver: Solver, targets: np.ndarray) -> None:
        self.raw, _ = errors(network.predict(targets, np.full(len(targets), BRANCH)), targets)
        found = solver.solve_batch(targets)
        self.given = found.success
        self.error, turn = errors(found.joints, targets)
        wrong = (self.error > solver.position_tolerance) | (turn > solver.orientation_tolerance)
        self.silent = self.given & wrong
        self.reachable = closed_form(targets, UR5E)[1].any(axis=1)
        self.boxed = network.covers(targets)

    def counts(self) -> dict:
        """For the JSON file; the raw errors by where the target lies."""
        raw = {}
        for name, rows in (
            ("inside the box", self.boxed),
            ("outside, reachable", ~self.boxed & self.reachable),
            ("past the reach", ~self.reachable),
        ):
            if rows.any():
                raw[name] = {"targets": int(rows.sum()), "position_mm": summary(1e3 * self.raw[rows])}
        return {
            "raw": raw,
            "verified": {
                "targets": len(self.raw),
                "answers": int(self.given.sum()),
                "refused": int((~self.given).sum()),
                "silent_errors": int(self.silent.sum()),
                "reachable_but_refused": int((self.reachable & ~self.given).sum()),
                "largest_error_mm": float(1e3 * self.error[self.given].max(initial=0.0)),
            },
        }


def beyond(targets: np.ndarray) -> np.ndarray:
    """How far targets (N, 4, 4) lie outside of the training box (N,) [m]."""
    low, high = np.array([REFERENCE.domain[axis] for axis in "xyz"]).T
    place = targets[:, :3, 3]
    return np.linalg.norm(np.maximum(np.maximum(low - place, place - high), 0.0), axis=1)


def draw(slices: dict[float, Answers], line: Answers, distance: np.ndarray) -> Figure:
    """Slices of the raw error above, of the verified answers in the middle, the line below."""
    figure = Figure(figsize=(9.0, 7.6), layout="constrained")
    grid = figure.add_gridspec(3, len(SHOWN), height_ratios=(1, 1, 1.15))
    scale, extent = LogNorm(0.01, 2000.0), (EDGE, -EDGE, -EDGE, EDGE)
    (x0, x1), (y0, y1) = (REFERENCE.domain[axis] for axis in "xy")
    for column, height in enumerate(SHOWN):
        answers = slices[height]
        side = round(len(answers.raw) ** 0.5)
        for row, title in enumerate(("raw network", "verified solver")):
            axes = figure.add_subplot(grid[row, column])
            if row == 0:
                # x up and y to the left, as one sees the table from behind the arm.
                shown = axes.imshow(
                    1e3 * answers.raw.reshape(side, side)[:, ::-1], origin="lower", extent=extent, norm=scale
                )
                shown.set_cmap("cividis")
            else:
                state = np.where(answers.silent, 2, np.where(answers.given, 1, 0)).reshape(side, side)[:, ::-1]
                colours = ListedColormap(["0.85", BLUE, ORANGE])
                axes.imshow(state, origin="lower", extent=extent, cmap=colours, vmin=0, vmax=2)
            inside = REFERENCE.domain["z"][0] <= height <= REFERENCE.domain["z"][1]
            colour = "white" if row == 0 else "black"
            box = Rectangle((y0, x0), y1 - y0, x1 - x0, fill=False, color=colour, linestyle="-" if inside else ":")
            axes.add_patch(box)
            axes.set_title(f"{title}, z = {height:.2f} m", fontsize=9)
            axes.set(xlabel="y [m]" if row == 1 else None, ylabel="x [m]" if column == 0 else None)
            axes.tick_params(labelleft=column == 0, labelbottom=row == 1)
        if column == len(SHOWN) - 1:
            figure.colorbar(shown, ax=figure.axes[0::2], label="position error [mm]", shrink=0.9)
    axes = figure.add_subplot(grid[2, :])
    axes.plot(distance, 1e3 * line.raw, color=ORANGE, label="raw reference network")
    given = line.given
    axes.plot(distance[given], np.maximum(1e3 * line.error[given], 1e-14), color=BLUE, label="verified solver")
    axes.axvspan(*REFERENCE.domain["x"], color="0.9", label="training box")
    reach = distance[line.reachable].max()
    axes.axvline(reach, color="black", linestyle=":", label=f"reach, {reach:.2f} m: past it every target is refused")
    axes.axhline(1e-3, color="0.5", linewidth=0.8, label="tolerance of the verified solver, 0.001 mm")
    axes.set(yscale="log", xlabel="x [m], at y = 0, z = 0.25 m", ylabel="position error [mm]", xlim=distance[[0, -1]])
    axes.set_title("along a line out of the box", fontsize=10)
    figure.suptitle(
        "Targets in and outside of the training box (solid where it holds the height, else dotted).\n"
        "Blue: answered, and right. Grey: refused. An answer that is wrong would be orange.",
        fontsize=10,
    )
    axes.legend(fontsize=8, loc="center right")
    return figure


def main() -> None:
    """Ask both, count, write the results."""
    run = Run.start(__file__, __doc__)
    step = 0.08 if run.quick else 0.02
    steps = np.linspace(-EDGE, EDGE, round(2 * EDGE / step) + 1)
    networks = {
        name: Network.load(models_folder() / f"{name}-{UR5E.name}.npz", UR5E)
        for name in ("reference", "tool-down", "any-pose")
    }
    solver = Solver(UR5E, [networks["tool-down"], networks["any-pose"]])
    x, y = np.meshgrid(steps, steps, indexing="ij")
    slices = {}
    report: dict = {"grid_m": step, "heights": {}, "rings": []}
    rings: list[list[np.ndarray]] = [[] for _ in RINGS[1:]]
    for height in HEIGHTS:
        targets = tool_down_pose(x.ravel(), y.ravel(), np.full(x.size, height), 0.0)
        slices[height] = Answers(networks["reference"], solver, targets)
        report["heights"][f"{height:.2f}"] = slices[height].counts()
        distance = beyond(targets)
        for ring, near, far in zip(rings, RINGS[:-1], RINGS[1:], strict=True):
            rows = slices[height].reachable & (near < distance) & (distance <= far)
            ring.append(1e3 * slices[height].raw[rows])
        print(f"z = {height:.2f} m: {report['heights'][f'{height:.2f}']}", flush=True)
    for ring, near, far in zip(rings, RINGS[:-1], RINGS[1:], strict=True):
        found = np.concatenate(ring)
        report["rings"].append({"from_m": near, "to_m": far, "targets": len(found), "position_mm": summary(found)})
        print(f"{near:.2f} to {far:.2f} m outside of the box: {report['rings'][-1]}", flush=True)
    distance = np.arange(0.30, 2.0, 0.005)
    targets = tool_down_pose(distance, 0.0, np.full(len(distance), 0.25), 0.0)
    line = Answers(networks["reference"], solver, targets)
    report["line"] = line.counts()
    counted = [answers.counts()["verified"] for answers in (*slices.values(), line)]
    report["total"] = {key: sum(counts[key] for counts in counted) for key in counted[0] if key != "largest_error_mm"}
    report["total"]["largest_error_mm"] = max(counts["largest_error_mm"] for counts in counted)
    print(f"total: {report['total']}", flush=True)
    run.finish(report, draw(slices, line, distance), ("numba",))


if __name__ == "__main__":
    main()
