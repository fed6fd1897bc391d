"""The running cell as a report meets it: lays cubes, asks for the truth, sends goals. Never a part of the task."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import rclpy
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Pose
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_srvs.srv import Trigger

from ur5e_nik_bringup.report import Pick
from ur5e_nik_bringup.waypoints import Spot, yaw_of
from ur5e_nik_msgs.action import PickPlace
from ur5e_nik_msgs.msg import CubeResult
from ur5e_nik_msgs.srv import GetGroundTruth, ResetScene, SolveIK

# How long the system may show no progress at all before it is given up [s].
SILENCE = 120.0
PATIENCE = 30.0  # for an answer [s]

C = TypeVar("C", bound="CellClient")
# Is told ROS time [s], cube, phase and message.
Listener = Callable[[float, int, str, str], None]


@dataclass(frozen=True)
class Outcome:
    """The result of a PickPlace goal, and how fast simulated time went meanwhile."""

    code: int
    picks: list[Pick]
    message: str
    real_time_factor: float


@dataclass(frozen=True)
class Truth:
    """What the simulation knows: cubes in its order, tool0 (x, y, z) [m], and what the arm has bumped into."""

    cubes: list[Spot]
    tool0: tuple[float, float, float]
    bumps: list[str]


class CellClient:
    """A ROS node, as a context, with an executor in a thread of its own.

    alive: raises when the system has ended. namespace: of the cell.
    """

    def __init__(self, name: str, alive: Callable[[], None], namespace: str = "") -> None:
        self._name = name
        self._namespace = namespace
        self._alive = alive
        self._phase = ("", 0)

    def __enter__(self: C) -> C:
        rclpy.init()
        simulated = Parameter("use_sim_time", Parameter.Type.BOOL, True)
        self._node = Node(
            self._name,
            namespace=self._namespace,
            cli_args=["--ros-args", "-r", "/clock:=clock"],
            parameter_overrides=[simulated],
        )
        self._goal = ActionClient(self._node, PickPlace, "pick_place")
        self._solve = self._node.create_client(SolveIK, "solve_ik")
        self._truth = self._node.create_client(GetGroundTruth, "sim/ground_truth")
        self._reset = self._node.create_client(ResetScene, "sim/reset")
        self._clear = self._node.create_client(Trigger, "task/clear_places")
        self._subscribe()
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown()
        self._thread.join(timeout=2.0)
        self._finish()
        rclpy.try_shutdown()

    def _subscribe(self) -> None:
        """For what a report hears beside this."""

    def _finish(self) -> None:
        """For what it does when nothing more is heard."""

    def wait_until_ready(self, timeout: float) -> None:
        """Wait for every neighbour; TimeoutError names what is missing."""
        for name, ready in self._neighbours().items():
            self._wait(ready, timeout, f"{name} did not come up")

    def _neighbours(self) -> dict[str, Callable[[], bool]]:
        return {
            "sim/ground_truth of node sim": self._truth.service_is_ready,
            "solve_ik of node ik": self._solve.service_is_ready,
            "pick_place of node task": self._goal.server_is_ready,
        }

    def lay(self, seed: int, cubes: int) -> None:
        """A new scene, and free places. Raises RuntimeError when the simulation refuses."""
        answer = self.result(self._reset.call_async(ResetScene.Request(seed=seed, cubes=cubes)))
        if not answer.success:
            raise RuntimeError(f"sim/reset: {answer.message}")
        self.result(self._clear.call_async(Trigger.Request()))

    def truth(self) -> Truth:
        """The true state of the scene."""
        answer = self.result(self._truth.call_async(GetGroundTruth.Request()))
        tool0 = answer.tool0.position
        return Truth([_spot(cube.pose) for cube in answer.cubes], (tool0.x, tool0.y, tool0.z), list(answer.bumps))

    def pick_and_place(self, count: int, progress: Listener) -> Outcome:
        """Send one goal and follow it; ``progress`` is told when a phase begins."""
        last = [time.monotonic()]

        def on_feedback(message: Any) -> None:
            last[0] = time.monotonic()
            feedback = message.feedback
            if self._phase != (feedback.phase, feedback.cube):
                self._phase = (feedback.phase, feedback.cube)
                progress(self.now(), feedback.cube, feedback.phase, feedback.message)

        wall, simulated = time.monotonic(), self.now()
        goal = self.result(self._goal.send_goal_async(PickPlace.Goal(count=count), feedback_callback=on_feedback))
        if not goal.accepted:
            raise TimeoutError("the task refused the goal; its reason stands above")
        future = goal.get_result_async()
        while not future.done():
            self._alive()
            if time.monotonic() - last[0] > SILENCE:
                raise TimeoutError(f"the task showed no progress for {SILENCE:.0f} s")
            time.sleep(0.02)
        answer = future.result()
        factor = (self.now() - simulated) / (time.monotonic() - wall)
        message = "" if answer.status == GoalStatus.STATUS_SUCCEEDED else answer.result.message
        return Outcome(answer.result.error_code, [_pick(cube) for cube in answer.result.cubes], message, factor)

    def result(self, future: Future) -> Any:
        """What a service answers. Raises TimeoutError."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        deadline = time.monotonic() + PATIENCE
        while not done.wait(0.1):
            self._alive()
            if time.monotonic() > deadline:
                raise TimeoutError(f"a node did not answer within {PATIENCE:.0f} s")
        return future.result()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def now(self) -> float:
        """ROS time [s]."""
        return self._node.get_clock().now().nanoseconds / 1e9

    def _wait(self, ready: Callable[[], Any], timeout: float, fault: str) -> None:
        deadline = time.monotonic() + timeout
        while not ready():
            self._alive()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{fault} within {timeout:.0f} s")
            time.sleep(0.02)


def _spot(pose: Pose) -> Spot:
    p, q = pose.position, pose.orientation
    return Spot(p.x, p.y, p.z, yaw_of(q.x, q.y, q.z, q.w))


def _pick(cube: CubeResult) -> Pick:
    return Pick(
        cube.error_code == PickPlace.Result.SUCCESS,
        cube.message,
        _spot(cube.detected),
        _spot(cube.placed),
        cube.attempts,
        cube.cycle_time,
        tuple(cube.solvers),
        cube.color,
    )
