"""What the verified solver promises, counted over many requests."""

from dataclasses import dataclass

import numpy as np

from ur5e_nik_ik.benchmark.protocol import random_targets, tool_down_targets
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.kinematics import fk, jacobian, pose_error
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.solver import Refusal, Solution, Solver

STEP = 1e-5  # of the finite differences [rad]
FURTHEST = 2.0  # beyond any UR5e, however it stretches [m]


@dataclass(frozen=True)
class Guarantee:
    """One figure: what was counted or measured, over how many, and what it may be at most (or at least)."""

    key: str
    what: str
    count: int
    value: float
    limit: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the figure is as it should be."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def guarantees(dh: DhParameters, networks: list[Network], count: int, seed: int) -> list[Guarantee]:
    """Count over `count` requests of each kind."""
    solver = Solver(dh, networks)
    targets = random_targets(count, seed, dh)
    seeds = np.random.default_rng(seed + 1).uniform(-np.pi, np.pi, (count, 6))
    found = solver.solve_batch(targets, seeds)
    error = np.abs(pose_error(fk(found.joints[found.success], dh), targets[found.success]))
    false = sum(isinstance(solver.solve(target), Solution) for target in hopeless_targets(count, seed + 2, dh))
    position, orientation = solver.position_tolerance, solver.orientation_tolerance
    return [
        Guarantee("missed", "reachable poses that were missed", count, int((~found.success).sum()), 0),
        Guarantee("false_successes", "false successes: unreachable or malformed poses", count, false, 0),
        Guarantee(
            "network_share", "share of answers by a network, random poses", count, found.network.mean(), 0.98, True
        ),
        Guarantee("position_error_m", "largest position error of an answer [m]", count, error[:, :3].max(), position),
        Guarantee("orientation_error_rad", "largest orientation error [rad]", count, error[:, 3:].max(), orientation),
        Guarantee(
            "line_jumps", "branch changes on straight lines of 50 targets", 200, line_jumps(solver, 200, seed + 4), 0
        ),
        Guarantee("jacobian", "Jacobian against central differences", 1000, jacobian_error(1000, seed + 3, dh), 1e-9),
    ]


def hopeless_targets(count: int, seed: int, dh: DhParameters) -> np.ndarray:
    """Return matrices (count, 4, 4) that no joints can meet: out of reach, in the dead cylinder, or no rigid pose."""
    rng = np.random.default_rng(seed)
    targets = random_targets(count, seed, dh)
    kind = np.arange(count) % 8
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    far = kind == 0
    targets[far, :3, 3] = (direction * rng.uniform(FURTHEST, 3 * FURTHEST, (count, 1)))[far]
    targets[kind == 1, :3, 3] *= 1000.0  # millimetres
    # The wrist centre nearer to the base axis than joint 2 lets it.
    wrist = rng.uniform((-0.7 * dh.d[3], -0.7 * dh.d[3], 0.0), (0.7 * dh.d[3], 0.7 * dh.d[3], 0.6), (count, 3))
    dead = kind == 2
    targets[dead, :3, 3] = (wrist + dh.d[5] * targets[:, :3, 2])[dead]
    targets[kind == 3, :3, :3] *= rng.uniform(1.01, 1.5)  # scaled
    targets[kind == 4, :3, 0] *= -1.0  # reflected
    targets[kind == 5, rng.integers(3), rng.integers(4)] = np.nan
    targets[kind == 6, :3, :3] = 0.0  # what a quaternion of zeros becomes
    targets[kind == 7, rng.integers(3), 3] = np.inf
    return targets


def jacobian_error(count: int, seed: int, dh: DhParameters) -> float:
    """Return the largest difference between jacobian and central differences of fk, in m/rad and rad/rad."""
    q = np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))
    matrix, largest = jacobian(q, dh), 0.0
    for joint in range(6):
        step = np.zeros(6)
        step[joint] = STEP
        slope = pose_error(fk(q - step, dh), fk(q + step, dh)) / (2.0 * STEP)
        largest = max(largest, float(np.abs(matrix[..., joint] - slope).max()))
    return largest


def line_jumps(solver: Solver, count: int, seed: int) -> int:
    """Count branch changes on straight lines of close targets, each answer the next seed."""
    starts, jumps = tool_down_targets(2 * count, seed).reshape(count, 2, 4, 4), 0
    for start, end in starts:
        last = solver.solve(start)
        for share in np.linspace(0.0, 1.0, 50):
            assert isinstance(last, Solution), last
            answer = solver.solve((1.0 - share) * start + share * end, last.joints)
            jumps += isinstance(answer, Refusal) or answer.branch != last.branch
            last = answer
    return jumps
