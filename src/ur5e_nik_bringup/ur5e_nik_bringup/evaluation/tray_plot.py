"""The picture of the vision evaluation: where on the tray positions are off, and by how much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ur5e_nik_bringup.evaluation.scores import Tally

MAGNIFIED = 50


def draw_errors(tally: Tally, tray: dict[str, Any], path: Path) -> None:
    """Draw errors over the tray (center and size, [m]) and their distributions as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import Rectangle

    places, offsets = 1e3 * np.array(tally.places), 1e3 * np.array(tally.offsets)
    size, (x, y) = 1e3 * np.array(tray["size"]), 1e3 * np.array(tray["center"])
    figure, (over, spread) = pyplot.subplots(1, 2, figsize=(10, 4.6), width_ratios=(1.5, 1), layout="constrained")
    # As the camera sees it: up is +x, right is -y.
    arrows = over.quiver(
        *places.T[::-1], *offsets.T[::-1], tally.position_mm,
        angles="xy", scale_units="xy", scale=1 / MAGNIFIED, cmap="viridis", width=0.004,
    )  # fmt: skip
    over.add_patch(Rectangle((y - size[1] / 2, x - size[0] / 2), size[1], size[0], fill=False, color="0.4"))
    over.set(
        xlim=(y + size[1] / 2 + 15, y - size[1] / 2 - 15), ylim=(x - size[0] / 2 - 15, x + size[0] / 2 + 15),
        aspect="equal", xlabel="y [mm]", ylabel="x [mm]",
        title=f"Position errors of {tally.found} cubes, {MAGNIFIED} times as long",
    )  # fmt: skip
    figure.colorbar(arrows, ax=over, label="position error [mm]")
    for values, label, style in (
        (tally.position_mm, "position [mm]", "-"),
        (tally.yaw_deg, "yaw [deg]", "--"),
    ):
        spread.plot(np.sort(values), np.linspace(0, 100, len(values)), style, label=label)
    spread.set(xlabel="error", ylabel="cubes with at most that [%]", title="Errors", ylim=(0, 101), xlim=(0, None))
    spread.grid(alpha=0.3)
    spread.legend(loc="lower right")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
