"""One client of /solve_ik: `client CALLS` says ready, waits for a line, calls and prints the microseconds of each."""

import json
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor

from ur5e_nik_msgs.srv import SolveIK

READY = 60.0  # for the node to be there [s]
AGAIN = 2.0  # until a first call without an answer is made again [s]
LATE = 20.0  # for an answer [s]
WARM_UP = 20  # calls that are not counted


def main() -> int:
    """Call one after the other; 1 when an answer is missing or no success."""
    calls = int(sys.argv[1])
    rclpy.init()
    node = rclpy.create_node("bench_client")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    client = node.create_client(SolveIK, "solve_ik")
    request = SolveIK.Request()
    request.target.header.frame_id = "base_link"
    position, orientation = request.target.pose.position, request.target.pose.orientation
    position.x, position.y, position.z, orientation.x, orientation.w = 0.4, 0.1, 0.2, 1.0, 0.0
    if not client.wait_for_service(READY):
        return 1
    # A node may drop its first answer, as it has not met this client yet.
    greeting = client.call_async(request)
    begin = time.perf_counter()
    while not greeting.done():
        executor.spin_until_future_complete(greeting, timeout_sec=AGAIN)
        if time.perf_counter() - begin > READY:
            return 1
        if not greeting.done():
            greeting = client.call_async(request)
    print("ready", flush=True)
    sys.stdin.readline()
    times: list[float] = []
    for call in range(calls + WARM_UP):
        position.y = 0.2 * (call % 7) / 7.0
        begin = time.perf_counter()
        future = client.call_async(request)
        while not future.done():
            if time.perf_counter() - begin > LATE:
                return 1
            executor.spin_once(timeout_sec=1.0)
        if future.result().error_code != SolveIK.Response.SUCCESS:
            return 1
        if call >= WARM_UP:
            times.append(1e6 * (time.perf_counter() - begin))
    print(json.dumps(times), flush=True)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
