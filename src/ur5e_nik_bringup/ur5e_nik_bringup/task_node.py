"""The node `task`: serves pick_place and the services a person needs beside it."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from std_srvs.srv import Trigger

from ur5e_nik_bringup import parameters
from ur5e_nik_bringup.commander import Commander
from ur5e_nik_bringup.pick_place import Cube, Outcome, PickPlace, Progress, Tray
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.states import Code, Fault
from ur5e_nik_bringup.waypoints import Place, Spot, yaw_of
from ur5e_nik_msgs.action import PickPlace as PickPlaceAction
from ur5e_nik_msgs.msg import CubeResult

LARGEST_TILT = np.radians(5.0)  # of a place in a goal; cubes are put down level
REPEAT = 1.0  # between two diagnostics without news (wall time) [s]


class TaskNode(Node):
    """One job for the arm at a time; whatever else asks for it meanwhile is refused."""

    def __init__(self) -> None:
        super().__init__("task")
        parameters.declare(self)
        self._arm = Commander(self, parameters.read(self))
        self._tray = Tray()
        self._busy = threading.Lock()
        self._closing = threading.Event()
        self._status = "idle"
        self._diagnosis = DiagnosticStatus(name=self.get_fully_qualified_name(), message="idle")
        self._diagnostics = self.create_publisher(DiagnosticArray, "diagnostics", 10)
        self.create_timer(REPEAT, self._diagnose, clock=Clock(clock_type=ClockType.STEADY_TIME))
        group = ReentrantCallbackGroup()  # a job under way keeps nobody from asking
        self._server = ActionServer(
            self,
            PickPlaceAction,
            "pick_place",
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=group,
        )
        services = {
            "status": self._on_status,
            "clear_places": self._on_clear_places,
            "home": self._serve(PickPlace.home),
            "open_gripper": self._serve(PickPlace.open_gripper),
            "close_gripper": self._serve(PickPlace.close_gripper),
        }
        for name, callback in services.items():
            self.create_service(Trigger, f"~/{name}", callback, callback_group=group)
        self.get_logger().info("ready")

    def close(self) -> None:
        """End the job under way, if any, with the arm stopped."""
        self._closing.set()
        self._busy.acquire(timeout=1.5)

    # The action

    def _on_goal(self, _: PickPlaceAction.Goal) -> GoalResponse:
        if self._reserve():
            return GoalResponse.ACCEPT
        self.get_logger().warning(f"goal refused: busy with {self._status}")
        return GoalResponse.REJECT

    async def _execute(self, goal: Any) -> PickPlaceAction.Result:
        def interrupted() -> None:
            self._leave_if_closing()
            if goal.is_cancel_requested:
                raise Fault(Code.PREEMPTED, "cancelled")

        def tell(progress: Progress) -> None:
            self._tell(progress)
            goal.publish_feedback(
                PickPlaceAction.Feedback(
                    phase=progress.state.value,
                    cube=progress.cube,
                    placed=progress.placed,
                    message=progress.message,
                )
            )

        def job() -> Outcome:
            places = [_place(k, pose, self._arm.settings) for k, pose in enumerate(goal.request.places)]
            return PickPlace(self._arm, self._tray, tell).run(goal.request.count, places)

        return self._answer(goal, await self._do(job, interrupted))

    def _answer(self, goal: Any, outcome: Outcome) -> PickPlaceAction.Result:
        if outcome.code is Code.SUCCESS:
            goal.succeed()
        elif outcome.code is Code.PREEMPTED and goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return PickPlaceAction.Result(
            error_code=int(outcome.code),
            message=outcome.message,
            cubes=[_cube_result(cube) for cube in outcome.cubes],
        )

    # The services

    def _on_status(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, self._status
        return response

    def _on_clear_places(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, f"{len(self._tray.filled)} places are free again"
        self._tray.filled.clear()
        return response

    def _serve(self, job: Callable[[PickPlace], Outcome]) -> Callable[..., Trigger.Response]:
        async def on_request(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            if not self._reserve():
                response.message = f"refused: busy with {self._status}"
                return response
            outcome = await self._do(lambda: job(PickPlace(self._arm, self._tray, self._tell)), self._leave_if_closing)
            response.success, response.message = outcome.code is Code.SUCCESS, outcome.message
            return response

        return on_request

    # One job at a time

    def _reserve(self) -> bool:
        return not self._closing.is_set() and self._busy.acquire(blocking=False)

    async def _do(self, job: Callable[[], Outcome], interrupted: Callable[[], None]) -> Outcome:
        """Run a job for which the arm is reserved in a thread of its own, as it blocks and the executor must not.

        rclpy's MultiThreadedExecutor would do that too, but hands what it has not begun to its threads again and again,
        which starves them.
        """
        outcome = Future()

        def work() -> None:
            try:
                outcome.set_result(self._run(job, interrupted))
            finally:
                self._busy.release()
                assert self.executor
                self.executor.wake()

        threading.Thread(target=work, daemon=True).start()
        return await outcome

    def _run(self, job: Callable[[], Outcome], interrupted: Callable[[], None]) -> Outcome:
        """Whatever happens, the arm is stopped afterwards."""
        try:
            self._arm.settings = parameters.read(self)
            self._arm.interrupted = interrupted
            outcome = job()
        except Fault as fault:
            outcome = Outcome(fault.code, str(fault), [])
        except Exception as bug:  # an arm that moves on after an error of ours would be worse than this
            self._arm.stop()
            self.get_logger().error(traceback.format_exc())
            outcome = Outcome(Code.FAILURE, f"{type(bug).__name__}: {bug}", [])
        finally:
            self._status = "idle"
        self.get_logger().info(f"{outcome.code.name}: {outcome.message}")
        level = DiagnosticStatus.OK if outcome.code in (Code.SUCCESS, Code.PREEMPTED) else DiagnosticStatus.ERROR
        placed = sum(cube.code is Code.SUCCESS for cube in outcome.cubes)
        self._diagnose(level, f"idle; {outcome.message}", code=outcome.code.name, placed=placed)
        return outcome

    def _leave_if_closing(self) -> None:
        if self._closing.is_set():
            raise Fault(Code.FAILURE, "the task node was told to end")

    def _tell(self, progress: Progress) -> None:
        self._status = f"{progress.state.value}, cube {progress.cube}: {progress.message}"
        self.get_logger().info(self._status)
        figures = {"phase": progress.state.value, "cube": progress.cube, "placed": progress.placed}
        self._diagnose(DiagnosticStatus.OK, progress.message, **figures)

    def _diagnose(self, level: bytes = b"", message: str = "", **figures: Any) -> None:
        """Publish what is the matter; without arguments, what was last."""
        if message:
            values = [KeyValue(key=key, value=str(value)) for key, value in figures.items()]
            name = self.get_fully_qualified_name()
            self._diagnosis = DiagnosticStatus(level=level, name=name, message=message, values=values)
        report = DiagnosticArray(status=[self._diagnosis])
        report.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(report)


def _place(index: int, pose: Pose, settings: Settings) -> Place:
    """A place of a goal. Raises Fault when no cube can be put there."""
    p, q = pose.position, pose.orientation
    norm = np.linalg.norm([q.x, q.y, q.z, q.w])
    if not np.all(np.isfinite([p.x, p.y, p.z, norm])):
        raise Fault(Code.INVALID_GOAL_CONSTRAINTS, f"place {index} is not finite")
    if norm < 1e-6:
        raise Fault(Code.INVALID_GOAL_CONSTRAINTS, f"place {index} has a quaternion of zeros; level is (0, 0, 0, 1)")
    x, y, z, w = np.array([q.x, q.y, q.z, q.w]) / norm
    if 1 - 2 * (x**2 + y**2) < np.cos(LARGEST_TILT):
        raise Fault(Code.INVALID_GOAL_CONSTRAINTS, f"place {index} is tilted; cubes are put down level")
    place = Place(p.x, p.y, p.z, yaw_of(x, y, z, w))
    if settings.below_table(place):
        raise Fault(
            Code.INVALID_GOAL_CONSTRAINTS,
            f"place {index} is inside the table: a cube's centre lies at z = "
            f"{settings.table_height + settings.cube_size / 2:.4f} or higher",
        )
    return place


def _cube_result(cube: Cube) -> CubeResult:
    return CubeResult(
        error_code=int(cube.code),
        message=cube.message,
        color=cube.colour,
        detected=_pose(cube.detected),
        placed=_pose(cube.placed),
        attempts=cube.attempts,
        cycle_time=float(cube.cycle_time),
        solvers=cube.solvers,
    )


def _pose(spot: Spot | None) -> Pose:
    pose = Pose()
    if spot:
        pose.position.x, pose.position.y, pose.position.z = spot.x, spot.y, spot.z
        pose.orientation.z, pose.orientation.w = float(np.sin(spot.yaw / 2)), float(np.cos(spot.yaw / 2))
    return pose


def main() -> int:
    """Run the node until SIGINT or SIGTERM; 0 then, 1 when it could not start."""
    # rclpy's own handlers would close the middleware before the arm's motion could be cancelled.
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = TaskNode()
    except (ValueError, RuntimeError) as refused:
        print(f"task: {refused}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    failures: list[Exception] = []
    # Python runs signal handlers in the main thread only, and not while it waits inside the middleware.
    spinning = threading.Thread(target=_spin, args=(executor, stop, failures))
    spinning.start()
    stop.wait()
    node.close()
    time.sleep(0.1)  # for the last answers
    executor.shutdown(timeout_sec=0.3)
    # Python's end would hand them back to the system, whose answer is to kill.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    spinning.join(timeout=0.5)
    rclpy.try_shutdown()
    return 1 if failures else 0


def _spin(executor: SingleThreadedExecutor, stop: threading.Event, failures: list[Exception]) -> None:
    try:
        executor.spin()
    except Exception as failure:
        # What the executor meets while it is being shut down does not matter any more.
        if not stop.is_set():
            failures.append(failure)
            traceback.print_exc()
    finally:
        stop.set()


if __name__ == "__main__":
    sys.exit(main())
