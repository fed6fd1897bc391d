"""Solves per second on batches: verified answers of ours, and what the peers that know batches give."""

import time
from collections.abc import Callable

import numpy as np

from ur5e_nik_ik.benchmark.protocol import random_targets, tool_down_targets
from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.solver import Solver

REPEATS = 7


def throughput(dh: DhParameters, networks: dict[str, Network], count: int, seed: int) -> dict[str, float]:
    """Return solves per second on one core, the median of REPEATS batches of `count` targets."""
    boxed, anywhere = tool_down_targets(count, seed), random_targets(count, seed, dh)
    exact = Solver(dh)
    jobs: dict[str, Callable[[], object]] = {
        "closed form, all branches": lambda: closed_form(boxed, dh),
        "closed form, verified": lambda: exact.solve_batch(boxed, solver="closed_form"),
        "closed form, verified, random poses": lambda: exact.solve_batch(anywhere, solver="closed_form"),
    }
    for name, network in networks.items():
        jobs[f"{name} network, verified"] = _job(Solver(dh, [network]), boxed)
        if name == "any-pose":
            jobs[f"{name} network, verified, random poses"] = _job(Solver(dh, [network]), anywhere)
    return {name: count / _seconds(job) for name, job in jobs.items()}


def _job(solver: Solver, targets: np.ndarray) -> Callable[[], object]:
    return lambda: solver.solve_batch(targets)


def _seconds(job: Callable[[], object]) -> float:
    job()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))
