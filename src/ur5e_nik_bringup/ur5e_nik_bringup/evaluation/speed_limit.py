"""How near a sent motion comes to what the joints allow."""

from __future__ import annotations

import numpy as np

from ur5e_nik_bringup.trajectory import Limits, Trajectory

SLACK = 1e-6  # share by which rounding to whole nanoseconds may exceed a limit
SAMPLES = 2000


def violations(motion: Trajectory, limits: Limits) -> int:
    """1 if velocity, acceleration or jerk of any joint exceeds its limit, else 0."""
    peaks = motion.peaks()
    pairs = zip(
        (peaks.velocity, peaks.acceleration, peaks.jerk),
        (limits.velocity, limits.acceleration, limits.jerk),
        strict=True,
    )
    return int(any(np.any(peak > (1 + SLACK) * bound) for peak, bound in pairs))


def quickest(motion: Trajectory, limits: Limits) -> float:
    """The time [s] of the same path with at every point one joint at its speed limit: no acceleration, no jerk."""
    positions = motion.sample(np.linspace(0.0, motion.duration, SAMPLES))[0]
    return float(np.max(np.abs(np.diff(positions, axis=0)) / limits.velocity, axis=1).sum())
