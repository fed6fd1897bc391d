"""Measure the networks on held-out targets, raw: how far off they are, how often, and where.

Question. The project began with a network of 530,438 parameters that missed 2,021 held-out targets by 0.19 mm on
average. How far off are that recipe and the product's two small networks, trained here, before any polishing, and is
the error spread evenly over the box?

Protocol. The committed weights, unpolished, judged by the numpy forward kinematics. First each network over the
2,021 targets of its own domain, in every branch that it answers. Then all three over the 2,021 targets of the reference
network's box (x 0.30..0.70, y -0.35..0.35, z 0.05..0.45 m, tool down at yaw 0), in the branch of the rest posture. The
targets are drawn with a seed that training never uses. The maps show the largest error of the targets in a cell.

Time. 5 s; with --quick (200 targets) likewise.

    ./run exec python experiments/accuracy.py [--quick] [--out FOLDER]

It needs matplotlib, which ./run test installs. Writes accuracy.json and accuracy.png.
"""

from __future__ import annotations

import numpy as np
from common import BLUE, GREEN, ORANGE, Run, summary
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.models import models_folder
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.training.configs import CONFIGS
from ur5e_nik_ik.training.data import HELD_OUT, HELD_OUT_SEED, held_out_targets

COLOURS = {"reference": ORANGE, "tool-down": BLUE, "any-pose": GREEN}
# That of the rest posture, which all three networks know.
BRANCH = 0


def errors(network: Network, targets: np.ndarray, branches: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Raw errors [mm] and [deg] over targets (N, 4, 4), in those of the branches that each one has."""
    _, valid = closed_form(targets, UR5E)
    row, column = np.nonzero(valid[:, branches])
    joints = network.predict(targets[row], np.array(branches)[column])
    error = pose_error(fk(joints, UR5E), targets[row])
    return 1e3 * np.linalg.norm(error[:, :3], axis=1), np.degrees(np.linalg.norm(error[:, 3:], axis=1))


def draw(found: dict[str, np.ndarray], targets: np.ndarray, parameters: dict[str, int]) -> Figure:
    """Distributions above, maps of the box seen from above and from the side below."""
    figure = Figure(figsize=(9.0, 7.2), layout="constrained")
    grid = figure.add_gridspec(3, 3, height_ratios=(1.3, 1, 1))
    axes = figure.add_subplot(grid[0, :])
    bins = np.geomspace(1e-5, 1.0, 81)
    for name, error in found.items():
        label = f"{name}, {parameters[name]:,} parameters: mean {error.mean():.4f} mm"
        axes.hist(error, bins, histtype="step", linewidth=1.8, color=COLOURS[name], label=label)
    axes.axvline(0.19, color="black", linestyle=":", label="the project's mean, 0.19 mm")
    axes.set(xscale="log", xlabel="raw position error [mm]", ylabel="targets", xlim=(1e-5, 1.0))
    axes.set_title(f"Raw error of the networks on the same {len(targets):,} held-out targets of the box")
    axes.legend(loc="upper left", fontsize=8)
    x, y, z = targets[:, :3, 3].T
    scale = LogNorm(2e-3, 0.3)
    for row, (across, up, name) in enumerate(((y, x, "x"), (y, z, "z"))):
        for column, (network, error) in enumerate(found.items()):
            axes = figure.add_subplot(grid[1 + row, column])
            cells = axes.hexbin(
                across, up, error, gridsize=14, reduce_C_function=np.max, norm=scale, cmap="cividis", linewidths=0.2
            )
            axes.set(xlabel="y [m]", ylabel=f"{name} [m]", aspect="equal")
            axes.set_title(f"{network}, from {('above', 'the front')[row]}", fontsize=10)
    figure.colorbar(cells, ax=figure.axes[1:], label="largest raw error in the cell [mm]", shrink=0.8)
    return figure


def main() -> None:
    """Measure, write the results."""
    run = Run.start(__file__, __doc__)
    count = 200 if run.quick else HELD_OUT
    networks = {name: Network.load(models_folder() / f"{name}-{UR5E.name}.npz", UR5E) for name in COLOURS}
    box = held_out_targets(CONFIGS["reference"], UR5E, count)
    report: dict = {"seed": HELD_OUT_SEED, "targets": count, "own_domain": {}, "box": {}}
    found = {}
    for name, network in networks.items():
        results = {}
        for where, targets, branches in (
            ("own_domain", held_out_targets(CONFIGS[name], UR5E, count), network.branches),
            ("box", box, (BRANCH,)),
        ):
            position, orientation = errors(network, targets, branches)
            results[where] = position
            report[where][name] = {
                "parameters": network.parameters,
                "answers": len(position),
                "position_mm": summary(position),
                "orientation_deg": summary(orientation),
            }
            print(f"{name}, {where}: {report[where][name]['position_mm']}", flush=True)
        found[name] = results["box"]
    run.finish(report, draw(found, box, {name: network.parameters for name, network in networks.items()}), ("numba",))


if __name__ == "__main__":
    main()
