"""The demo's eyes and hands in ROS: sends the goal, watches the cameras, asks for the truth."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, PoseStamped
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from sensor_msgs.msg import Image

from ur5e_nik_bringup.recorder import Recorder, to_picture
from ur5e_nik_bringup.report import Pick, Point
from ur5e_nik_msgs.action import PickPlace
from ur5e_nik_msgs.msg import CubeResult
from ur5e_nik_msgs.srv import GetGroundTruth, SolveIK

# How long the system may show no progress at all before the demo gives it up [s].
SILENCE = 120.0


@dataclass(frozen=True)
class Outcome:
    """The result of a PickPlace goal, and how fast simulated time went meanwhile."""

    picks: list[Pick]
    message: str
    real_time_factor: float


class Observer:
    """A ROS node of the demo, as a context. alive: raises when the system has ended."""

    def __init__(self, alive: Callable[[], None]) -> None:
        self._alive = alive
        self._lock = threading.Lock()
        self._film = Recorder()
        self._caption = ""
        self._annotated: Image | None = None
        self._keep_annotated = True
        self._timings: dict[str, float] = {}

    def __enter__(self) -> Observer:
        rclpy.init()
        simulated = Parameter("use_sim_time", Parameter.Type.BOOL, True)
        self._node = Node("demo", parameter_overrides=[simulated])
        self._goal = ActionClient(self._node, PickPlace, "pick_place")
        self._solve = self._node.create_client(SolveIK, "solve_ik")
        self._truth = self._node.create_client(GetGroundTruth, "sim/ground_truth")
        self._node.create_subscription(Image, "overview/image_color", self._on_overview, 10)
        self._node.create_subscription(Image, "debug_image", self._on_annotated, 1)
        self._node.create_subscription(DiagnosticArray, "diagnostics", self._on_diagnostics, 10)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._executor.shutdown()
        self._thread.join(timeout=2.0)
        rclpy.try_shutdown()

    def wait_until_ready(self, timeout: float) -> None:
        """Wait for every neighbour and an annotated picture; TimeoutError names what is missing."""
        waits: dict[str, Callable[[], bool]] = {
            "sim/ground_truth of node sim": self._truth.service_is_ready,
            "solve_ik of node ik": self._solve.service_is_ready,
            "pick_place of node task": self._goal.server_is_ready,
            "debug_image of node vision": lambda: self._annotated is not None,
        }
        for name, ready in waits.items():
            self._wait(ready, timeout, f"{name} did not come up")

    def true_cubes(self) -> list[Point]:
        """The true centre of every cube, in the simulation's order."""
        answer = self._result(self._truth.call_async(GetGroundTruth.Request()), 30.0)
        return [_point(cube.pose) for cube in answer.cubes]

    def measure_solve_ik(self, count: int) -> float:
        """Median round trip of /solve_ik [ms], one client, one tool-down target."""
        request = SolveIK.Request(target=PoseStamped())
        request.target.header.frame_id = "base_link"
        request.target.pose.position.x = 0.45
        request.target.pose.position.z = 0.25
        request.target.pose.orientation.x, request.target.pose.orientation.w = 1.0, 0.0
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            self._result(self._solve.call_async(request), 30.0)
            times.append(1000 * (time.perf_counter() - begin))
        return statistics.median(times)

    def pick_and_place(self, count: int, progress: Callable[[float, int, str, str], None]) -> Outcome:
        """Send one goal and follow it; progress gets ROS time [s], cube, phase and message."""
        last = [time.monotonic()]

        def on_feedback(message: Any) -> None:
            last[0] = time.monotonic()
            feedback = message.feedback
            caption = f"cube {feedback.cube + 1}: {feedback.phase}"
            if caption != self._caption:
                self._caption = caption
                progress(self._now(), feedback.cube, feedback.phase, feedback.message)

        wall, simulated = time.monotonic(), self._now()
        goal = self._result(
            self._goal.send_goal_async(PickPlace.Goal(count=count), feedback_callback=on_feedback),
            30.0,
        )
        if not goal.accepted:
            raise TimeoutError("the task refused the goal; its reason stands above")
        self._keep_annotated = False
        future = goal.get_result_async()
        while not future.done():
            self._alive()
            if time.monotonic() - last[0] > SILENCE:
                raise TimeoutError(f"the task showed no progress for {SILENCE:.0f} s")
            time.sleep(0.02)
        answer = future.result()
        factor = (self._now() - simulated) / (time.monotonic() - wall)
        message = "" if answer.status == GoalStatus.STATUS_SUCCEEDED else answer.result.message
        return Outcome([_pick(cube) for cube in answer.result.cubes], message, factor)

    def save_picture(self, path: Path) -> bool:
        """Write the annotated camera picture that was seen before the first move."""
        with self._lock:
            if self._annotated is None:
                return False
            _picture(self._annotated).save(path)
        return True

    def save_film(self, path: Path, period: float, rate: float) -> bool:
        """Write the animation of the run; see Recorder.save."""
        with self._lock:
            return self._film.save(path, period, rate)

    def timings(self) -> dict[str, float]:
        """What the nodes say of their own speed: milliseconds by name."""
        return dict(self._timings)

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _now(self) -> float:
        return self._node.get_clock().now().nanoseconds / 1e9

    def _wait(self, ready: Callable[[], bool], timeout: float, fault: str) -> None:
        deadline = time.monotonic() + timeout
        while not ready():
            self._alive()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{fault} within {timeout:.0f} s")
            time.sleep(0.02)

    def _result(self, future: Future, timeout: float) -> Any:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        deadline = time.monotonic() + timeout
        while not done.wait(0.1):
            self._alive()
            if time.monotonic() > deadline:
                raise TimeoutError(f"a node did not answer within {timeout:.0f} s")
        return future.result()

    def _on_overview(self, message: Image) -> None:
        seconds = message.header.stamp.sec + message.header.stamp.nanosec / 1e9
        with self._lock:
            self._film.add(seconds, _picture(message), f"{seconds:6.1f} s   {self._caption}")

    def _on_annotated(self, message: Image) -> None:
        if self._keep_annotated:
            with self._lock:
                self._annotated = message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for pair in status.values:
                if pair.key.endswith("_ms"):
                    self._timings[f"{status.name} {pair.key.removesuffix('_ms')}"] = float(pair.value)


def _picture(message: Image) -> Any:
    return to_picture(message.encoding, message.width, message.height, message.step, bytes(message.data))


def _point(pose: Pose) -> Point:
    return (pose.position.x, pose.position.y, pose.position.z)


def _pick(cube: CubeResult) -> Pick:
    return Pick(
        cube.error_code == PickPlace.Result.SUCCESS,
        cube.message,
        _point(cube.detected),
        _point(cube.placed),
        cube.attempts,
        cube.cycle_time,
        tuple(cube.solvers),
    )
