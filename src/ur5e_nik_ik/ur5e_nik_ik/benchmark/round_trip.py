"""The round trip of /solve_ik over DDS: the node as it is started for a robot, clients in processes of their own."""

import multiprocessing
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from domain_coordinator import domain_id

CLIENTS = (1, 4)
READY = 60.0  # for the node to answer [s]
LATE = 10.0  # for an answer [s]
WARM_UP = 20  # calls of each client that are not counted


def round_trip(calls: int) -> dict[str, dict[str, float]]:
    """Return median and p99 of a call [us] and calls per second, by number of clients. Raises RuntimeError."""
    # A domain of its own, as someone's robot may be in the default one.
    with domain_id() as domain:
        os.environ |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        node = subprocess.Popen(
            [sys.executable, "-m", "ur5e_nik_ik.ik_node"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            return {str(clients): _measure(clients, calls) for clients in CLIENTS}
        finally:
            node.terminate()
            node.wait(LATE)


def _measure(clients: int, calls: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(clients)
    with context.Pool(clients, _join, (start,)) as pool:
        times = [np.array(row) for row in pool.map(_client, [calls] * clients, chunksize=1)]
    if any(not len(row) for row in times):
        raise RuntimeError("the ik node did not answer; to see why: ./run exec python -m ur5e_nik_ik.ik_node")
    every = np.concatenate(times)
    return {
        "median_us": float(np.median(every)),
        "p99_us": float(np.quantile(every, 0.99)),
        "calls_per_s": float(sum(len(row) * 1e6 / row.sum() for row in times)),
    }


_start: Any = None


def _join(start: Any) -> None:
    global _start
    _start = start


def _client(calls: int) -> list[float]:
    """Call one after the other and return the microseconds of each; empty when the node does not answer."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from ur5e_nik_msgs.srv import SolveIK

    rclpy.init()
    node = rclpy.create_node(f"bench_{os.getpid()}")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    client = node.create_client(SolveIK, "solve_ik")
    request = SolveIK.Request()
    request.target.header.frame_id = "base_link"
    position, orientation = request.target.pose.position, request.target.pose.orientation
    position.x, position.y, position.z, orientation.x, orientation.w = 0.4, 0.1, 0.2, 1.0, 0.0
    there = client.wait_for_service(READY)
    _start.wait()
    times: list[float] = []
    for call in range(calls + WARM_UP if there else 0):
        position.y = 0.2 * (call % 7) / 7.0
        begin = time.perf_counter()
        future = client.call_async(request)
        while not future.done() and time.perf_counter() - begin < LATE:
            executor.spin_once(timeout_sec=1.0)
        if not future.done() or future.result().error_code != SolveIK.Response.SUCCESS:
            times.clear()
            break
        if call >= WARM_UP:
            times.append(1e6 * (time.perf_counter() - begin))
    node.destroy_node()
    rclpy.try_shutdown()
    return times
