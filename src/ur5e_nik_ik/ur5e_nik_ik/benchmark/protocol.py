"""The protocol: the same targets for every solver, what is timed, and what counts as a success."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import fk, pose_error

# Tool-down targets in front of the arm at yaw 0, which is all that the reference network knows.
BOX = ((0.30, 0.70), (-0.35, 0.35), (0.05, 0.45))

# A success is this near by our FK [m] and [rad]: an iterative solver is not asked for more than a robot can do.
POSITION_TOLERANCE = 1e-3
ORIENTATION_TOLERANCE = np.deg2rad(0.5)


@dataclass(frozen=True)
class Contestant:
    """A solver as the benchmark sees it.

    Attributes:
        name: in the table.
        prepare: from a pose of tool0 in base_link (4, 4) to what `solve` wants; not timed.
        solve: the call that is timed.
        answers: from what `solve` returned to the joints (K, 6) [rad] that it gives as answers; not timed.
        note: what a reader must know beside the figures.
    """

    name: str
    prepare: Callable[[np.ndarray], Any]
    solve: Callable[[Any], Any]
    answers: Callable[[Any], np.ndarray]
    note: str = ""


@dataclass(frozen=True)
class Score:
    """What came of one contestant: microseconds of every call, and a row a target.

    Attributes:
        times: (rounds, targets) [us].
        position, orientation: error of the worst answer (targets,) [m], [rad]; NaN without an answer.
    """

    times: np.ndarray
    position: np.ndarray
    orientation: np.ndarray

    @property
    def success(self) -> np.ndarray:
        """Which targets were met (targets,), by every answer that was given."""
        return (self.position <= POSITION_TOLERANCE) & (self.orientation <= ORIENTATION_TOLERANCE)

    def summary(self) -> dict:
        """For the JSON file; the errors are those of the targets that got an answer."""
        answered = self.position[np.isfinite(self.position)] * 1e3
        errors = {
            "mean": float(answered.mean()) if len(answered) else None,
            "p99": float(np.quantile(answered, 0.99)) if len(answered) else None,
            "max": float(answered.max()) if len(answered) else None,
        }
        return {
            "median_us": float(np.median(self.times)),
            "p99_us": float(np.quantile(self.times, 0.99)),
            "success": float(self.success.mean()),
            "pos_err_mm": errors,
        }


def tool_down_targets(count: int, seed: int) -> np.ndarray:
    """Return poses of tool0 (count, 4, 4) in BOX, straight down at yaw 0."""
    low, high = np.array(BOX).T
    poses = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (count, 1, 1))
    poses[:, :3, 3] = np.random.default_rng(seed).uniform(low, high, (count, 3))
    return poses


def random_targets(count: int, seed: int, dh: DhParameters) -> np.ndarray:
    """Return reachable poses of tool0 (count, 4, 4): FK of joints drawn evenly from a full turn."""
    return fk(np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6)), dh)


def measure(contestant: Contestant, warm_up: np.ndarray, targets: np.ndarray, rounds: int, dh: DhParameters) -> Score:
    """Warm up, time every target in every round, then judge the answers of the last round by our FK."""
    for target in warm_up:
        contestant.solve(contestant.prepare(target))
    prepared = [contestant.prepare(target) for target in targets]
    times = np.empty((rounds, len(targets)))
    given: list[Any] = [None] * len(targets)
    solve, clock = contestant.solve, time.perf_counter_ns
    gc.disable()
    try:
        for row in times:
            for k, target in enumerate(prepared):
                begin = clock()
                given[k] = solve(target)
                row[k] = clock() - begin
    finally:
        gc.enable()
    position, orientation = np.full((2, len(targets)), np.nan)
    for k, answer in enumerate(given):
        joints = np.reshape(contestant.answers(answer), (-1, 6))
        if len(joints):
            error = pose_error(fk(joints, dh), targets[k])
            position[k] = np.linalg.norm(error[:, :3], axis=-1).max()
            orientation[k] = np.linalg.norm(error[:, 3:], axis=-1).max()
    return Score(times / 1e3, position, orientation)
