"""The node `sim`: the simulated cell behind the ROS interfaces of the real one.

The main thread alone steps, reads and renders the simulation. Callbacks run in the executor's thread; what they want
from the simulation they hand over and await.
"""

from __future__ import annotations

import itertools
import math
import queue
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeVar

import numpy as np
from ament_index_python.packages import get_package_share_directory
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState

from ur5e_nik_msgs.srv import GetGroundTruth, ResetScene
from ur5e_nik_mujoco import messages
from ur5e_nik_mujoco.cameras import Cameras
from ur5e_nik_mujoco.controller import (
    ErrorCode,
    GoalError,
    JointTrajectoryController,
    Outcome,
    Status,
)
from ur5e_nik_mujoco.model import OVERHEAD, OVERVIEW
from ur5e_nik_mujoco.parameters import declare_parameters
from ur5e_nik_mujoco.scene import SceneError, load_scene
from ur5e_nik_mujoco.schedule import Budget, Meter, Pace, Periodic
from ur5e_nik_mujoco.simulation import JOINTS, Simulation
from ur5e_nik_mujoco.viewer import Viewer

TRAJECTORY_ACTION = "ur5e/ur_joint_trajectory_controller/follow_joint_trajectory"

_CHUNK = 0.01  # [s, wall] at most between two looks at what callbacks want
_FRAME = "base_link"
_QUEUE_DEPTH = 5

Answer = TypeVar("Answer")


class _Stopped(RuntimeError):
    """The simulation ended before it could answer."""


class _Goal:
    """An accepted action goal and, once it is over, its outcome."""

    def __init__(self, handle: ServerGoalHandle) -> None:
        self.handle = handle
        self.key = bytes(handle.goal_id.uuid)
        self.outcome = Future()  # an Outcome


class _Video:
    """A camera's topic."""

    def __init__(self, node: Node, camera: str, size: tuple[int, int], topic: str) -> None:
        self.camera = camera
        self.rate_parameter = f"{topic.split('/')[0]}_rate"
        self.publisher = node.create_publisher(Image, topic, _QUEUE_DEPTH)
        self.writer = messages.ImageWriter(*size, camera)
        self.periodic = Periodic()
        self.last = 0.0  # wall time
        self.last_stamp = -math.inf  # simulated time
        self.cost = Meter()  # of a rendered frame [ms]


class CellNode(Node):
    """Serves the cell until it is told to stop; see the README for its interfaces."""

    def __init__(self) -> None:
        """Raises ParameterError, SceneError or ViewerError for what it cannot start with."""
        # The simulation is the clock; it does not follow one.
        super().__init__("sim", parameter_overrides=[Parameter("use_sim_time", value=False)])
        declare_parameters(self)
        scene_file = self.get_parameter("scene").value or (
            Path(get_package_share_directory("ur5e_nik_mujoco")) / "config" / "scene.yaml"
        )
        scene = load_scene(scene_file)
        seed, cubes = self.get_parameter("seed").value, self.get_parameter("cubes").value
        self._colours = [name.strip() for name in self.get_parameter("colours").value.split(",")]
        self._simulation = Simulation(scene, seed, self._coloured(cubes))
        lower, upper = self._simulation.joint_limits
        self._controller = JointTrajectoryController(
            JOINTS,
            lower,
            upper,
            self._simulation.joint_states()[0],
            np.radians(scene.arm.max_stop_deceleration),
        )
        self._viewer = Viewer() if self.get_parameter("gui").value else None

        self._wishes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._goals: dict[Hashable, _Goal] = {}
        self._pace = Pace()
        self._budget = Budget()
        self._clock_due, self._states_due, self._feedback_due = Periodic(), Periodic(), Periodic()
        self._told = (time.monotonic(), self._simulation.time)

        self._clock_publisher = self.create_publisher(Clock, "/clock", _QUEUE_DEPTH)
        self._states_publisher = self.create_publisher(JointState, "ur5e/joint_states", _QUEUE_DEPTH)
        self._diagnostics_publisher = self.create_publisher(DiagnosticArray, "diagnostics", _QUEUE_DEPTH)
        self._info_publisher = self.create_publisher(CameraInfo, "camera/camera_info", _QUEUE_DEPTH)
        self._info = messages.camera_info(scene.overhead_camera, OVERHEAD)
        self._cameras = Cameras(self._simulation)
        self._videos = [
            _Video(self, name, (camera.width, camera.height), topic)
            for name, camera, topic in (
                (OVERHEAD, scene.overhead_camera, "camera/image_color"),
                (OVERVIEW, scene.overview_camera, "overview/image_color"),
            )
        ]
        group = ReentrantCallbackGroup()  # who awaits an answer keeps nobody from asking
        self.create_service(ResetScene, "sim/reset", self._on_reset, callback_group=group)
        self.create_service(GetGroundTruth, "sim/ground_truth", self._on_ground_truth, callback_group=group)
        self._server = ActionServer(
            self,
            FollowJointTrajectory,
            TRAJECTORY_ACTION,
            self._on_goal,
            callback_group=group,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            result_timeout=60,
        )

    # --- the main thread ------------------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        """Simulates until `stop` is set, at the pace of the parameter `speed`."""
        try:
            while not stop.is_set():
                speed = self.get_parameter("speed").value
                self._serve_wishes()
                self._advance(_CHUNK * min(speed, 1.0) if speed else _CHUNK)
                self._end_goals()
                self._publish()
                lead = self._pace.lead(speed, self._simulation.time, time.monotonic())
                if lead > 0.0:
                    time.sleep(lead)
        finally:
            self._stop()

    def _serve_wishes(self) -> None:
        while True:
            try:
                wish = self._wishes.get_nowait()
            except queue.Empty:
                return
            wish()
            self._resume_callbacks()

    def _advance(self, duration: float) -> None:
        simulation, controller = self._simulation, self._controller
        steps = max(1, round(duration / simulation.timestep))
        if self._viewer:
            self._viewer.show(simulation)
        for _ in range(steps):
            positions, velocities = simulation.joint_states()
            simulation.command(*controller.update(simulation.time, positions, velocities))
            simulation.step()

    def _end_goals(self) -> None:
        active = self._goals.get(self._controller.active)
        if active and active.handle.is_cancel_requested:
            self._controller.cancel(active.key, self._simulation.time)
        for outcome in self._controller.outcomes:
            self._goals.pop(outcome.key).outcome.set_result(outcome)
            self._resume_callbacks()
        self._controller.outcomes.clear()

    def _resume_callbacks(self) -> None:
        assert self.executor
        self.executor.wake()  # for who awaits what has just come

    def _publish(self) -> None:
        now, wall = self._simulation.time, time.monotonic()
        if self._clock_due.is_due(self.get_parameter("clock_rate").value, now, wall):
            self._publish_clock()
        if self._states_due.is_due(self.get_parameter("joint_state_rate").value, now, wall):
            self._publish_joint_states()
        if self._controller.active and self._feedback_due.is_due(self.get_parameter("feedback_rate").value, now, wall):
            self._publish_feedback(self._goals[self._controller.active])
        if wall - self._told[0] >= 1.0 / self.get_parameter("diagnostics_rate").value:
            self._publish_diagnostics(wall)
        # Who waited longest comes first, as one frame may use the budget up.
        for video in sorted(self._videos, key=lambda video: video.last):
            self._publish_video(video)

    def _publish_clock(self) -> None:
        self._clock_publisher.publish(Clock(clock=messages.time_message(self._simulation.time)))

    def _publish_joint_states(self) -> None:
        positions, velocities = self._simulation.joint_states()
        message = JointState(name=JOINTS, position=positions.tolist(), velocity=velocities.tolist())
        message.header.stamp = messages.time_message(self._simulation.time)
        self._states_publisher.publish(message)

    def _publish_feedback(self, goal: _Goal) -> None:
        positions, velocities = self._simulation.joint_states()
        desired_positions, desired_velocities, _ = self._controller.desired
        feedback = FollowJointTrajectory.Feedback(joint_names=JOINTS)
        feedback.header.stamp = messages.time_message(self._simulation.time)
        feedback.desired = messages.trajectory_point(desired_positions, desired_velocities)
        feedback.actual = messages.trajectory_point(positions, velocities)
        feedback.error = messages.trajectory_point(desired_positions - positions, desired_velocities - velocities)
        goal.handle.publish_feedback(feedback)

    def _publish_diagnostics(self, wall: float) -> None:
        told_wall, told = self._told
        now = self._simulation.time
        figures: dict[str, float | None] = {"real_time_factor": (now - told) / (wall - told_wall)}
        figures |= {f"render_{video.camera}_ms": video.cost.take() for video in self._videos}
        stamp = messages.time_message(now)
        self._diagnostics_publisher.publish(messages.diagnostics(self.get_fully_qualified_name(), stamp, figures))
        self._told = (wall, now)

    def _publish_video(self, video: _Video) -> None:
        begin, now = time.monotonic(), self._simulation.time
        seen = video.publisher.get_subscription_count() > 0
        measured = video.camera == OVERHEAD and self._info_publisher.get_subscription_count() > 0
        if not (seen or measured):
            return
        if now - video.last_stamp < self.get_parameter("largest_frame_gap").value:
            rate = self.get_parameter(video.rate_parameter).value
            if not (self._budget.is_open(begin) and video.periodic.is_due(rate, now, begin)):
                return
        # Nobody shall see a picture of a time that the clock has not told yet.
        self._publish_clock()
        stamp = messages.time_message(now)
        video.last_stamp = now
        if seen:
            rgb = self._cameras.render(video.camera)
            video.publisher.publish(video.writer.image(rgb, stamp))
            video.last = time.monotonic()
            video.cost.add(1000.0 * (video.last - begin))
            self._budget.spend(begin, video.last, self.get_parameter("render_share").value)
        if measured:
            self._info.header.stamp = stamp
            self._info_publisher.publish(self._info)

    def _coloured(self, cubes: int) -> list[str]:
        """The colour of each of so many cubes."""
        return list(itertools.islice(itertools.cycle(self._colours), cubes))

    def _reset(self, request: ResetScene.Request) -> None:
        self._simulation.reset(request.seed, self._coloured(request.cubes), request.calibration_board)
        self._controller.reset(self._simulation.joint_states()[0])

    def _ground_truth(self) -> GetGroundTruth.Response:
        simulation = self._simulation
        truth = GetGroundTruth.Response(
            cubes=[messages.cube_state(cube) for cube in simulation.cubes()],
            tool0=messages.pose(*simulation.tool0()),
            bumps=sorted(" ".join(pair) for pair in simulation.bumps),
        )
        truth.header.stamp = messages.time_message(simulation.time)
        truth.header.frame_id = _FRAME
        return truth

    def _start_goal(self, goal: _Goal) -> None:
        self._goals[goal.key] = goal
        try:
            request = messages.trajectory_goal(goal.handle.request, goal.key)
            self._controller.start(request, self._simulation.time)
        except GoalError as error:
            outcome = Outcome(goal.key, Status.ABORTED, error.code, str(error))
            self._controller.outcomes.append(outcome)

    def _stop(self) -> None:
        """Answers everybody who waits and lets go of the pictures."""
        self._stopped.set()
        self._serve_wishes()
        self._controller.reset(self._simulation.joint_states()[0])
        if self._goals or self._controller.outcomes:
            self._end_goals()
        time.sleep(0.1)  # the executor's time to send the answers
        self._cameras.close()
        if self._viewer:
            self._viewer.close()

    # --- the executor's thread ------------------------------------------------------------------

    async def _ask(self, what: Callable[[], Answer]) -> Answer:
        """Has the main thread do something with the simulation and awaits its answer."""
        if self._stopped.is_set():
            raise _Stopped("the simulation ends")
        answer = Future()

        def wish() -> None:
            try:
                answer.set_result(what())
            except Exception as error:
                answer.set_exception(error)

        self._wishes.put(wish)
        return await answer

    async def _on_reset(self, request: ResetScene.Request, response: ResetScene.Response) -> ResetScene.Response:
        try:
            await self._ask(lambda: self._reset(request))
            response.success = True
        except (SceneError, _Stopped) as error:
            response.message = str(error)
        return response

    async def _on_ground_truth(
        self, request: GetGroundTruth.Request, response: GetGroundTruth.Response
    ) -> GetGroundTruth.Response:
        try:
            return await self._ask(self._ground_truth)
        except _Stopped:
            return response

    async def _on_goal(self, handle: ServerGoalHandle) -> FollowJointTrajectory.Result:
        goal = _Goal(handle)
        try:
            await self._ask(lambda: self._start_goal(goal))
            outcome = await goal.outcome
        except _Stopped as error:
            outcome = Outcome(goal.key, Status.ABORTED, ErrorCode.INVALID_GOAL, str(error))
        if outcome.status is Status.SUCCEEDED:
            handle.succeed()
        elif outcome.status is Status.CANCELED:
            handle.canceled()
        else:
            handle.abort()
            self.get_logger().warning(f"{outcome.code.name}: {outcome.message}")
        return FollowJointTrajectory.Result(error_code=int(outcome.code), error_string=outcome.message)
