"""What the experiments share: their two options, what a result says about itself, and the colours of the figures."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
QUICK_RESULTS = ROOT / "out" / "experiments"

# Okabe and Ito's palette, which the colour-blind can tell apart.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)


@dataclass(frozen=True)
class Run:
    """One run of an experiment.

    Attributes:
        name: of the script and of what it writes.
        quick: whether it is only tried.
        out: folder of the results.
        begin: when it began [s].
    """

    name: str
    quick: bool
    out: Path
    begin: float

    @classmethod
    def start(cls, script: str, doc: str) -> Run:
        """Read the command line of a script, whose docstring begins with what it does."""
        parser = argparse.ArgumentParser(description=doc.splitlines()[0])
        parser.add_argument("--quick", action="store_true", help="a small form, to try the script")
        parser.add_argument(
            "--out", type=Path, help="folder of the results (default: experiments/results; quick: out/experiments)"
        )
        options = parser.parse_args()
        # A quick run must not take the place of the figures that the page shows.
        out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--out {out}: {error.strerror}")
        return cls(Path(script).stem, options.quick, out, time.monotonic())

    def finish(self, report: dict, figure: Figure, packages: tuple[str, ...] = ()) -> None:
        """Write the results, a JSON file without NaN, and the figure beside it.

        Args:
            report: what was found.
            figure: what shows it.
            packages: whose versions matter, besides numpy.
        """
        about = {
            "command": f"./run exec python experiments/{self.name}.py" + (" --quick" if self.quick else ""),
            "quick": self.quick,
            "seconds": round(time.monotonic() - self.begin, 1),
            "versions": {"python": platform.python_version()} | {name: version(name) for name in ("numpy", *packages)},
        }
        text = json.dumps(about | report, indent=2, allow_nan=False)
        (self.out / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
        figure.savefig(self.out / f"{self.name}.png", dpi=110)
        print(f"{about['seconds']} s; wrote {self.name}.json and {self.name}.png to {self.out}", file=sys.stderr)


def summary(errors: np.ndarray) -> dict[str, float]:
    """Mean, median, 99th percentile and greatest of errors."""
    return {
        "mean": float(np.mean(errors)),
        "median": float(np.median(errors)),
        "p99": float(np.quantile(errors, 0.99)),
        "max": float(np.max(errors)),
    }


def read(folder: Path, name: str) -> dict:
    """One JSON file of results."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
