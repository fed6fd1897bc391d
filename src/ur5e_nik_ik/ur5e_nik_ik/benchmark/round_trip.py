"""The round trip of /solve_ik over DDS: the node as it is started for a robot, clients in processes of their own."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import numpy as np
from domain_coordinator import domain_id

CLIENTS = (1, 4)
LATE = 10.0  # for a process to end [s]


def round_trip(calls: int) -> dict[str, dict[str, float]]:
    """Return median and p99 of a call [us] and calls per second, by number of clients. Raises RuntimeError."""
    # A domain of its own, as someone's robot may be in the default one.
    with domain_id() as domain, ExitStack() as processes:
        os.environ |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        _start(processes, "ur5e_nik_ik.ik_node", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return {str(clients): _measure(clients, calls) for clients in CLIENTS}


def _measure(clients: int, calls: int) -> dict[str, float]:
    with ExitStack() as processes:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        asking = [_start(processes, "ur5e_nik_ik.benchmark.client", str(calls), **pipes) for _ in range(clients)]
        for client in asking:
            if client.stdout.readline() != "ready\n":
                raise RuntimeError("the ik node did not answer; to see why: ./run exec python -m ur5e_nik_ik.ik_node")
        for client in asking:  # all at once
            client.stdin.write("\n")
            client.stdin.flush()
        # Its limits are the client's own: an empty line is one that gave up.
        lines = [client.stdout.readline() for client in asking]
    if not all(lines):
        raise RuntimeError("the ik node left a call of /solve_ik without an answer")
    times = [np.array(json.loads(line)) for line in lines]
    every = np.concatenate(times)
    return {
        "median_us": float(np.median(every)),
        "p99_us": float(np.quantile(every, 0.99)),
        "calls_per_s": float(sum(len(row) * 1e6 / row.sum() for row in times)),
    }


def _start(processes: ExitStack, module: str, *arguments: str, **pipes: Any) -> Any:
    """Start a module that ends with ``processes``, or with this process if that is killed."""
    process = subprocess.Popen([sys.executable, "-m", module, *arguments], preexec_fn=_end_with_parent, **pipes)
    processes.callback(_end, process)
    return process


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(LATE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_with_parent() -> None:
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
