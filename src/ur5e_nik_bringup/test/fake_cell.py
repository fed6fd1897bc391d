"""A cell that exists in ROS messages only: an arm that follows trajectories exactly, an IK service, visible cubes.

Every part can be told to misbehave, which is what the tests of the task are about. It runs in the test's own process;
the task runs in another and meets it over DDS.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import rclpy
from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import Pose, PoseStamped
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ur5e_nik_bringup.kinematics import JOINT_LIMITS, A, D, tool_pose
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.trajectory import Trajectory
from ur5e_nik_bringup.waypoints import Spot, nearest_turn
from ur5e_nik_msgs.action import PickPlace
from ur5e_nik_msgs.msg import CubeDetection, CubeDetections
from ur5e_nik_msgs.srv import SolveIK

SETTINGS = Settings()
ARM = SETTINGS.arm_joints
GRIPPER = SETTINGS.gripper_joints[0]
HELD = 0.4  # where a cube stops the fingers [rad]
STEP = 0.02  # simulated time between two joint states [s]
DISCOVERY = 0.5  # until others know that a server is gone (wall time) [s]
LATE = 5.0  # when a "mute" server answers after all (wall time) [s]
Result = FollowJointTrajectory.Result


@dataclass
class Faults:
    """What goes wrong.

    ``control`` is asked for each trajectory goal by its number and joints: "", "refuse", "mute", "slow", "never", or an
    error code to abort with half-way.
    """

    control: Any = lambda number, joints: ""
    ik: str = ""  # "mute", "nan", "wrong", "short", "unreachable", "frame"
    states: str = ""  # "silent", "stale", "partial", "nan"
    clock: str = ""  # "frozen"
    cubes: str = ""  # "silent", "stale", "jumping", "frame", "nan"
    grip: str = ""  # "miss", "slip" (on the way), "stuck"


@dataclass
class Sent:
    """One trajectory goal as it arrived."""

    joints: list[str]
    trajectory: Trajectory
    start: dict[str, float]
    ended: str = ""


@dataclass
class _Active:
    """The goal under way: its handle, when it began (simulated time) and what goes wrong with it."""

    handle: Any
    sent: Sent
    started: float
    fault: Any
    over: Future


class FakeCell:
    """The neighbours of the task, with simulated time that runs ``speed`` times as fast as the wall's."""

    def __init__(self, domain: int, speed: float = 4.0, namespace: str = "", settings: Settings = SETTINGS) -> None:
        self.speed = speed
        self.settings = settings
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("fake_cell", context=self.context, namespace=namespace)
        self.faults = Faults()
        self.cubes: list[Spot] = []
        self.held: Spot | None = None
        self.placed: list[Spot] = []
        self.sent: list[Sent] = []
        self.ik_calls: list[tuple[np.ndarray, np.ndarray]] = []
        self.time = 100.0
        self.positions: dict[str, float] = {}
        self.reset()
        self._lock = threading.RLock()
        self._active: _Active | None = None
        self._random = random.Random(0)
        self._jumps = 0
        self._runs: list[GoalRun] = []
        self._build()
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._spin), threading.Thread(target=self._run)]
        for thread in self._threads:
            thread.start()

    def reset(self) -> None:
        """Everything in order, the arm at the look posture, no cubes; back when that has been told."""
        self.faults = Faults()
        self.cubes, self.placed, self.held = [], [], None
        self.sent, self.ik_calls = [], []
        self.positions = {**dict(zip(ARM, SETTINGS.look_posture, strict=True))}
        self.positions.update(dict.fromkeys(self.settings.gripper_joints, 0.0))
        self.positions.update({f"finger_{i}": 0.1 * i for i in range(9)})
        time.sleep(0.05)

    def close(self) -> None:
        """End everything."""
        self._ending.set()
        for thread in self._threads[1:]:
            thread.join()
        self.executor.shutdown(timeout_sec=1.0)
        self._threads[0].join()
        # A node does not take its actions down with it.
        self._controller.destroy()
        self.pick_place.destroy()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    # What tests ask and do

    def see(self, *cubes: Spot) -> None:
        """Put these cubes before the camera, and no others."""
        self.cubes = list(cubes)

    def tool(self, joints: np.ndarray) -> np.ndarray:
        """Position (3,) of tool0."""
        return tool_pose(joints)[0]

    def yaw(self, joints: np.ndarray) -> float:
        """Of tool0."""
        return float(np.arctan2(*tool_pose(joints)[1][[1, 0], 0]))

    @property
    def arm(self) -> np.ndarray:
        """Joints (6,) of the arm."""
        return np.array([self.positions[name] for name in ARM])

    @property
    def moving(self) -> bool:
        """Whether a trajectory goal is under way."""
        return self._active is not None

    def arm_goals(self) -> list[Sent]:
        """The goals that moved the arm."""
        return [sent for sent in self.sent if ARM[0] in sent.joints]

    def grips(self) -> list[Sent]:
        """The goals that moved the fingers."""
        return [sent for sent in self.sent if ARM[0] not in sent.joints]

    def start(self, count: int = 0, places: list[Pose] | None = None) -> GoalRun:
        """Send a pick_place goal."""
        run = GoalRun(self, PickPlace.Goal(count=count, places=places or []))
        self._runs.append(run)
        return run

    def end_goals(self) -> None:
        """Cancel the goals that a test has left."""
        for run in self._runs:
            if run.accepted and not run.done:
                run.cancel()
                run.result()
        self._runs.clear()

    def call(self, name: str, timeout: float = 10.0) -> Trigger.Response:
        """Call one of the task's services."""
        client = self.node.create_client(Trigger, f"task/{name}")
        assert client.wait_for_service(timeout), name
        future = client.call_async(Trigger.Request())
        wait_for(future.done, timeout, name)
        self.node.destroy_client(client)
        return future.result()

    def stop_ik(self) -> None:
        """Take the IK service away."""
        self.node.destroy_service(self._ik)
        time.sleep(DISCOVERY)

    def start_ik(self) -> None:
        """Bring it back."""
        self._ik = self.node.create_service(SolveIK, "solve_ik", self._on_ik, callback_group=self._group)

    def stop_controller(self) -> None:
        """Take the trajectory action away."""
        self._controller.destroy()
        time.sleep(DISCOVERY)

    def start_controller(self) -> None:
        """Bring it back."""
        self._controller = ActionServer(
            self.node,
            FollowJointTrajectory,
            self.settings.trajectory_action,
            self._on_execute,
            goal_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=self._group,
        )

    # The cell

    def _build(self) -> None:
        node, self._group = self.node, ReentrantCallbackGroup()
        self._clock = node.create_publisher(Clock, "clock", 5)
        self._states = node.create_publisher(JointState, self.settings.joint_states_topic, 5)
        self._poses = node.create_publisher(PoseStamped, "cube_pose", 5)
        self._detections = node.create_publisher(CubeDetections, "cube_detections", 5)
        self.pick_place = ActionClient(node, PickPlace, "pick_place", callback_group=self._group)
        self.start_ik()
        self.start_controller()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self.executor.spin()

    def _run(self) -> None:
        frames = 0
        while not self._ending.is_set():
            began = time.monotonic()
            with self._lock:
                if self.faults.clock != "frozen":
                    self.time += STEP
                self._advance()
            stamp = Time(nanoseconds=round(self.time * 1e9)).to_msg()
            self._clock.publish(Clock(clock=stamp))
            self._publish_states(stamp)
            frames += 1
            if frames % 5 == 0:
                self._publish_cubes()
            time.sleep(max(0.0, STEP / self.speed - (time.monotonic() - began)))

    def _advance(self) -> None:
        if self._active is None:
            return
        sent, fault = self._active.sent, self._active.fault
        if self._active.handle.is_cancel_requested:
            self._end("cancelled")
            return
        elapsed = (self.time - self._active.started) / (3.0 if fault == "slow" else 1.0)
        point = sent.trajectory.sample(elapsed)[0][0]
        for name, position in zip(sent.joints, point, strict=True):
            if name in self.settings.gripper_joints:
                self._grip(float(position))
            else:
                self.positions[name] = float(position)
        if self.held and self.faults.grip == "slip" and elapsed > sent.trajectory.duration / 2 and len(sent.joints) > 1:
            self._let_go(Spot(0.5, -0.3, 0.0225, 0.2))
            self.cubes = self.placed
            self.positions.update(dict.fromkeys(self.settings.gripper_joints, 0.8))
            self.placed, self.faults.grip = [], ""
        if isinstance(fault, int) and elapsed >= sent.trajectory.duration / 2:
            self._end("aborted")
        elif elapsed >= sent.trajectory.duration and fault != "never":
            self._end("succeeded")

    def _grip(self, position: float) -> None:
        cube = self._cube_in_fingers()
        if self.held and position < HELD - 0.05:
            self._let_go(self._in_hand())
        elif not self.held and cube and position >= HELD and self.faults.grip != "miss":
            self.held = cube
            self.cubes.remove(cube)
        if self.faults.grip != "stuck":
            reached = min(position, HELD) if self.held else position
            self.positions.update(dict.fromkeys(self.settings.gripper_joints, reached))

    def _let_go(self, spot: Spot) -> None:
        self.held = None
        self.placed.append(spot)

    def _in_hand(self) -> Spot:
        position, rotation = tool_pose(self.arm)
        return Spot(*(position + 0.1558 * rotation[:, 2]), float(np.arctan2(rotation[1, 0], rotation[0, 0])))

    def _cube_in_fingers(self) -> Spot | None:
        hand = self._in_hand()
        near = [cube for cube in self.cubes if cube.distance(hand) < 0.005 and cube.turn(hand) < 0.05]
        return near[0] if near else None

    def _end(self, how: str) -> None:
        assert self._active
        self._active.sent.ended = how
        self._active.over.set_result(how)
        self._active = None
        self.executor.wake()

    def _publish_states(self, stamp: Any) -> None:
        fault = self.faults.states
        if fault == "silent":
            return
        names = list(self.positions)
        self._random.shuffle(names)
        if fault == "partial":
            names.remove("elbow_joint")
        message = JointState(name=names, position=[self.positions[n] for n in names])
        if fault == "nan":
            message.position = [float("nan")] * len(names)
        message.header.stamp = Time(nanoseconds=round(1e9 * (50.0 if fault == "stale" else self.time))).to_msg()
        self._states.publish(message)

    def _publish_cubes(self) -> None:
        fault = self.faults.cubes
        if fault != "silent":
            self._publish_detections()
        away = np.max(np.abs(self.arm - SETTINGS.look_posture))
        if not self.cubes or fault == "silent" or (away > 0.02 and not fault):
            return
        cube = self.cubes[0]
        message = PoseStamped()
        message.header.frame_id = "world" if fault == "frame" else "base_link"
        message.header.stamp = Time(nanoseconds=round(1e9 * (self.time - 20.0 * (fault == "stale")))).to_msg()
        message.pose = pose(cube)
        if fault == "jumping":
            # Two in a row differ, and so do two with a lost one between them.
            self._jumps += 1
            message.pose.position.x += 0.01 * (self._jumps % 5)
        if fault == "nan":
            message.pose.position.x = float("nan")
        self._poses.publish(message)

    def _publish_detections(self) -> None:
        """Of a picture that shows every cube, taken now; a moving arm hides them all."""
        fault = self.faults.cubes
        message = CubeDetections(chosen=-1)
        message.header.frame_id = "world" if fault == "frame" else "base_link"
        message.header.stamp = Time(nanoseconds=round(1e9 * self.time)).to_msg()
        if np.max(np.abs(self.arm - SETTINGS.look_posture)) <= 0.02 and fault not in ("jumping", "nan", "stale"):
            message.cubes = [CubeDetection(color="red", pose=pose(cube), graspable=True) for cube in self.cubes]
            message.chosen = 0 if message.cubes else -1
        self._detections.publish(message)

    # The controller

    async def _on_goal(self, request: Any) -> GoalResponse:
        fault = self.faults.control(len(self.sent), list(request.trajectory.joint_names))
        if fault == "mute":
            await self._late()
        points = request.trajectory.points
        trajectory = Trajectory(
            np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]),
            *(np.array([getattr(p, k) for p in points]) for k in ("positions", "velocities", "accelerations")),
        )
        with self._lock:
            self.sent.append(Sent(list(request.trajectory.joint_names), trajectory, dict(self.positions)))
            if fault == "refuse":
                self.sent[-1].ended = "refused"
                return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    async def _on_execute(self, handle: Any) -> Any:
        names = list(handle.request.trajectory.joint_names)
        with self._lock:
            number = max(i for i, sent in enumerate(self.sent) if sent.joints == names and not sent.ended)
            fault = self.faults.control(number, names)
            active = self._active = _Active(handle, self.sent[number], self.time, fault, Future())
        ended = await active.over
        if ended == "cancelled":
            handle.canceled()
            return Result()
        if ended == "succeeded":
            handle.succeed()
            return Result()
        handle.abort()
        return Result(error_code=fault or Result.INVALID_GOAL, error_string="as the test wants it")

    async def _late(self) -> None:
        """Let the others go first."""
        late = Future()

        def end() -> None:
            late.set_result(None)
            self.executor.wake()

        timer = threading.Timer(LATE, end)
        timer.daemon = True
        timer.start()
        await late

    # The IK node

    async def _on_ik(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        fault = self.faults.ik
        if fault == "mute":
            await self._late()
        p, q = request.target.pose.position, request.target.pose.orientation
        by_name = dict(zip(request.seed.name, request.seed.position, strict=True))
        target = np.array([p.x, p.y, p.z])
        yaw = 2 * np.arctan2(q.y, q.x)
        seed = np.array([by_name[name] for name in ARM])
        self.ik_calls.append((np.append(target, yaw), seed))
        joints = None if fault == "unreachable" else solve(target, yaw, seed)
        if fault == "frame":
            response.error_code, response.message = SolveIK.Response.FRAME_TRANSFORM_FAILURE, "no such frame"
            return response
        if joints is None:
            response.error_code, response.message = SolveIK.Response.NO_IK_SOLUTION, "out of reach"
            return response
        if fault == "nan":
            joints = joints * np.nan
        if fault == "wrong":
            joints = joints + 0.3
        response.error_code = SolveIK.Response.SUCCESS
        response.solver = "closed_form"
        response.solution = JointState(name=ARM, position=joints.tolist())
        if fault == "short":
            response.solution = JointState(name=ARM[:3], position=joints.tolist()[:3])
        return response


def solve(target: np.ndarray, yaw: float, seed: np.ndarray, elbow: int = 1) -> np.ndarray | None:
    """Joints (6,) of tool0 at target (3,), pointing down at a yaw, full turns as in the seed; None out of reach.

    Of the eight branches the one of the look posture; ``elbow`` -1 gives its mirrored elbow.
    """
    # Seen from the turned shoulder the tool stands at (ahead, d4); upper arm and forearm reach for what is left of
    # ahead and height when wrist lengths are taken off, which at q2 + q3 + q4 = q5 = -90 deg are constants.
    distance = np.hypot(target[0], target[1])
    if distance < D[3]:
        return None
    ahead = np.sqrt(distance**2 - D[3] ** 2)
    pan = np.arctan2(target[1], target[0]) - np.arctan2(D[3], ahead)
    x, z = -(ahead - D[4]), target[2] + D[5] - D[0]
    cosine = (x**2 + z**2 - A[1] ** 2 - A[2] ** 2) / (2 * A[1] * A[2])
    if abs(cosine) > 1.0:
        return None
    q3 = elbow * np.arccos(cosine)
    q2 = np.arctan2(-z, -x) - np.arctan2(-A[2] * np.sin(q3), -A[1] - A[2] * np.cos(q3))
    joints = np.array([pan, q2, q3, -np.pi / 2 - q2 - q3, -np.pi / 2, pan - np.pi / 2 - yaw])
    return nearest_turn(joints, seed, JOINT_LIMITS)


class GoalRun:
    """One pick_place goal as its client sees it."""

    def __init__(self, cell: FakeCell, goal: PickPlace.Goal) -> None:
        self.cell = cell
        self.feedback: list[Any] = []
        assert cell.pick_place.wait_for_server(10.0), "no task node"
        future = cell.pick_place.send_goal_async(goal, lambda message: self.feedback.append(message.feedback))
        wait_for(future.done, 10.0, "an answer to the goal")
        self.handle = future.result()
        self.accepted = self.handle.accepted
        self._answer = self.handle.get_result_async() if self.accepted else None

    @property
    def phases(self) -> list[str]:
        """The phases so far."""
        return [feedback.phase for feedback in self.feedback]

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self._answer.done()

    def reach(self, phase: str, timeout: float = 20.0) -> None:
        """Wait until the goal is in a phase."""
        wait_for(lambda: phase in self.phases, timeout, f"phase {phase}")

    def cancel(self) -> None:
        """Ask for the goal's end."""
        wait_for(self.handle.cancel_goal_async().done, 5.0, "an answer to the cancel")

    def result(self, timeout: float = 60.0) -> PickPlace.Result:
        """The result; `status` is set then."""
        wait_for(self._answer.done, timeout, "the result")
        self.status = self._answer.result().status
        return self._answer.result().result


class TaskProcess:
    """The task node as a process of its own; ready when the constructor returns."""

    def __init__(self, domain: int, parameters: Sequence[str] = (), wait: bool = True, namespace: str = "") -> None:
        words = [word for p in ("use_sim_time:=true", *parameters) for word in ("-p", p)]
        if namespace:
            words += ["-r", f"__ns:=/{namespace}", "-r", "/clock:=clock"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ur5e_nik_bringup.task_node", "--ros-args", *words],
            env={**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        if wait:
            wait_for(lambda: "ready" in self.output, 20.0, "the task node")

    def _read(self) -> None:
        for line in self.process.stdout:
            self.output += line

    def wait(self, timeout: float = 10.0) -> int:
        """Its exit code; killed if it does not end in time."""
        try:
            return self.process.wait(timeout)
        finally:
            self.process.kill()
            self._reader.join()

    def end(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Send a signal; exit code and the seconds until the end."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.wait(), time.monotonic() - began


def pose(spot: Spot) -> Pose:
    """As a message."""
    message = Pose()
    message.position.x, message.position.y, message.position.z = spot.x, spot.y, spot.z
    message.orientation.z, message.orientation.w = float(np.sin(spot.yaw / 2)), float(np.cos(spot.yaw / 2))
    return message


def wait_for(ready: Any, timeout: float, what: str) -> None:
    """Until ``ready()``, or AssertionError."""
    until = time.monotonic() + timeout
    while not ready():
        assert time.monotonic() < until, f"{what} did not come within {timeout} s"
        time.sleep(0.005)
