"""A cell that exists in ROS messages only: an arm that follows trajectories exactly, an IK service, visible cubes.

Every part can be told to misbehave, which is what the fault matrix and the tests of the task are about. It runs in its
user's process; the task runs in another and meets it over DDS.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import rclpy
from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ur5e_nik_bringup.evaluation.fake_ik import solve
from ur5e_nik_bringup.evaluation.task_process import GoalRun, wait_for
from ur5e_nik_bringup.kinematics import tool_pose
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.trajectory import Trajectory
from ur5e_nik_bringup.waypoints import Spot
from ur5e_nik_msgs.action import PickPlace
from ur5e_nik_msgs.msg import CubeDetection, CubeDetections
from ur5e_nik_msgs.srv import SolveIK

Array = NDArray[np.float64]

SETTINGS = Settings()
ARM = SETTINGS.arm_joints
GRIPPER = SETTINGS.gripper_joints[0]
HELD = 0.4  # where a cube stops the fingers [rad]
STEP = 0.02  # simulated time between two joint states [s]
WATCHED = [0.30, 0.66, 0.05, 0.40]  # where placed cubes are seen: x_min, x_max, y_min, y_max [m]
PLACE_SIDE = 0.05  # where y is larger, the arm is over the place tray [m]
LAG = 6  # steps by which "late" joint states come after what they tell
BEGIN = 100.0  # simulated time at the beginning [s]
COURTESY = 0.02  # the controller lets feedback that was sent before a goal be heard before it (wall time) [s]
LATE = 3.0  # when a "mute" server answers after all (wall time) [s]
DISCOVERY = 0.5  # until all nodes know of each other (wall time) [s]
Result = FollowJointTrajectory.Result


@dataclass(frozen=True)
class Faults:
    """What goes wrong.

    ``control`` is asked for each trajectory goal by its number and joints: "", "refuse", "mute", "slow", "never",
    "early" (success when it is half over), or an error code to abort with, at once if it is half over, else then.
    """

    control: Callable[[int, list[str]], str | int] = lambda number, joints: ""
    results: str = ""  # "lost": of each motion, the answer to the first question for its result
    ik: str = ""  # "mute", "nan", "wrong", "short", "frame"
    states: str = ""  # "silent", "stale", "partial", "fingerless", "nan", "late" (and the clock, after results)
    clock: str = ""  # "frozen"
    cubes: str = ""  # "silent", "stale", "jumping", "frame", "nan"
    grip: str = (
        ""  # "miss", "slip" (once, on the way), "stuck", "decoy" (what is held is not the cube), "vanish" (let go)
    )


@dataclass
class Sent:
    """One trajectory goal as it arrived."""

    joints: list[str]
    trajectory: Trajectory
    start: dict[str, float]
    ended: str = ""


@dataclass
class _Active:
    """The goal under way: its handle, its number, how far it is [s], and how it will have ended."""

    handle: Any
    sent: Sent
    number: int
    over: Future
    elapsed: float = 0.0


class _Controller(ActionServer):
    """Does not hear the first question for a goal's result while ``loses`` says so."""

    def __init__(self, *arguments: Any, loses: Callable[[], bool], **options: Any) -> None:
        self._loses = loses
        self._asked: set[bytes] = set()
        super().__init__(*arguments, **options)

    async def _execute_get_result_request(self, request_header_and_message: Any) -> None:
        goal = bytes(request_header_and_message[1].goal_id.uuid)
        first = goal not in self._asked
        self._asked.add(goal)
        if not (first and self._loses()):
            await super()._execute_get_result_request(request_header_and_message)


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
        self.colours: dict[Spot, str] = {}  # of those that are not red
        self.unclear: list[Spot] = []  # things that vision refuses
        self.held: Spot | None = None
        self._decoy = False
        self.placed: list[Spot] = []
        self.sent: list[Sent] = []
        self.deciding = 0  # trajectory goals without an answer
        self.ik_calls: list[tuple[Array, Array]] = []
        self.time = BEGIN
        self.positions: dict[str, float] = {}
        self._lock = threading.RLock()
        self._active: _Active | None = None
        self._random = random.Random(0)
        self._jumps = 0
        self._late: deque[tuple[Clock, JointState | None]] = deque()
        self._runs: list[GoalRun] = []
        self._ik: Any = None
        self._controller: Any = None
        self._build()
        self.reset()
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._spin), threading.Thread(target=self._run)]
        for thread in self._threads:
            thread.start()
        try:
            self._require_to_be_alone()
        except RuntimeError:
            self.close()
            raise

    def reset(self) -> None:
        """Everything in order, the arm at the look posture, no cubes; back when that has been told."""
        self.faults = Faults()
        with self._lock:
            self.cubes, self.placed, self.held = [], [], None
            self.colours, self.unclear = {}, []
            self.sent, self.ik_calls = [], []
            self.time = max(self.time, BEGIN)
            self._rest()
        self.start_ik()
        self.start_controller()
        time.sleep(0.05)

    def close(self) -> None:
        """End everything."""
        self._ending.set()
        for thread in self._threads[1:]:
            thread.join()
        self.executor.shutdown(timeout_sec=1.0)
        self._threads[0].join()
        # A node does not take its actions down with it.
        if self._controller:
            self._controller.destroy()
        self.pick_place.destroy()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    # What its users ask and do

    def configure(self, **values: Any) -> None:
        """Set parameters of the task. Raises ValueError with the reason of a refusal."""
        client = self.node.create_client(SetParameters, "task/set_parameters")
        client.wait_for_service(10.0)
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        future = client.call_async(SetParameters.Request(parameters=parameters))
        wait_for(future.done, 10.0, "an answer to the parameters")
        self.node.destroy_client(client)
        refused = [result.reason for result in future.result().results if not result.successful]
        if refused:
            raise ValueError("; ".join(refused))

    def see(self, *cubes: Spot) -> None:
        """Put these cubes before the camera, and no others."""
        self.cubes = list(cubes)

    def displace(self) -> None:
        """Turn the arm away from where it rests, and close its fingers."""
        self.positions[ARM[0]] += 0.5
        self.positions.update(dict.fromkeys(self.settings.gripper_joints, SETTINGS.gripper_closed))

    def spoil(self, **faults: Any) -> None:
        """Let parts misbehave from now on, as in `Faults`."""
        self.faults = replace(self.faults, **faults)

    def tool(self, joints: Array) -> Array:
        """Position (3,) of tool0."""
        return tool_pose(joints)[0]

    def yaw(self, joints: Array) -> float:
        """Of tool0."""
        return float(np.arctan2(*tool_pose(joints)[1][[1, 0], 0]))

    @property
    def arm(self) -> Array:
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

    def start(
        self,
        count: int = 0,
        places: list[Pose] | None = None,
        phase: str = "",
        act: Callable[[GoalRun], None] = lambda run: None,
    ) -> GoalRun:
        """Send a pick_place goal; ``phase`` and ``act`` as in `GoalRun`."""
        run = GoalRun(self.pick_place, PickPlace.Goal(count=count, places=places or []), phase, act)
        self._runs.append(run)
        return run

    def end_goals(self) -> None:
        """Cancel the goals that are left."""
        for run in self._runs:
            if run.accepted and not run.done and self.pick_place.server_is_ready():
                run.cancel()
                run.result()
        self._runs.clear()

    def call(self, name: str, timeout: float = 10.0) -> Trigger.Response:
        """Call one of the task's services."""
        client = self.node.create_client(Trigger, f"task/{name}")
        if not client.wait_for_service(timeout):
            raise TimeoutError(f"nobody serves task/{name}")
        future = client.call_async(Trigger.Request())
        wait_for(future.done, timeout, name)
        self.node.destroy_client(client)
        return future.result()

    def stop_ik(self) -> None:
        """Take the IK service away, with what it was asked."""
        service, self._ik = self._ik, None
        self.executor.create_task(self.node.destroy_service, service)

    def start_ik(self) -> None:
        """Bring it back, if it is away."""
        self._ik = self._ik or self.node.create_service(SolveIK, "solve_ik", self._on_ik, callback_group=self._group)

    def restart_ik(self, after: float) -> None:
        """Take the IK service away for some seconds (wall time)."""
        self.stop_ik()
        self._later(after, lambda: self.executor.create_task(self.start_ik))

    def stop_controller(self) -> None:
        """Take the trajectory action away, with what it was doing; the arm stands still then."""
        controller, self._controller = self._controller, None
        with self._lock:
            if self._active:
                self._active.sent.ended = "lost"
                self._active = None
        self.executor.create_task(controller.destroy)

    def start_controller(self) -> None:
        """Bring it back, if it is away."""
        self._controller = self._controller or _Controller(
            self.node,
            FollowJointTrajectory,
            self.settings.trajectory_action,
            self._on_execute,
            loses=lambda: self.faults.results == "lost",
            goal_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=self._group,
        )

    def drop(self) -> None:
        """Let what is held lie where it is."""
        if self.held:
            self.held = None
            if not self._decoy and self.faults.grip != "vanish":
                self.placed.append(self._in_hand())

    def turn_back(self, seconds: float) -> None:
        """Let the clock jump back, and nothing else."""
        with self._lock:
            self.time -= seconds

    def restart(self, *cubes: Spot) -> None:
        """As a simulation that is reset: time begins anew, the arm is where it began, its goal ends."""
        with self._lock:
            self.time = 1.0
            self._rest()
            self.held, self.cubes = None, list(cubes)
            if self._active:
                self._end("aborted")

    # The cell

    def _build(self) -> None:
        node, self._group = self.node, ReentrantCallbackGroup()
        self._clock = node.create_publisher(Clock, "clock", 5)
        self._states = node.create_publisher(JointState, self.settings.joint_states_topic, 5)
        self._poses = node.create_publisher(PoseStamped, "cube_pose", 5)
        self._detections = node.create_publisher(CubeDetections, "cube_detections", 5)
        self.pick_place = ActionClient(node, PickPlace, "pick_place", callback_group=self._group)

    def _require_to_be_alone(self) -> None:
        """Raise RuntimeError when others, left by another run, are in this domain and namespace: they would answer."""
        time.sleep(DISCOVERY)
        namespace = self.node.get_namespace()
        found = [name for name, place in self.node.get_node_names_and_namespaces() if place == namespace]
        found.remove(self.node.get_name())
        if found:
            domain = self.context.get_domain_id()
            raise RuntimeError(f"ROS domain {domain} is in use already, by {', '.join(found)}; end that run first")

    def _rest(self) -> None:
        self.positions = dict(zip(ARM, SETTINGS.look_posture, strict=True))
        self.positions.update(dict.fromkeys(self.settings.gripper_joints, 0.0))
        self.positions.update({f"finger_{i}": 0.1 * i for i in range(9)})

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
            self._late.append((Clock(clock=stamp), self._states_message()))
            while len(self._late) > (LAG if self.faults.states == "late" else 0):
                clock, states = self._late.popleft()
                self._clock.publish(clock)
                if states:
                    self._states.publish(states)
            frames += 1
            if frames % 5 == 0:
                self._publish_cubes()
            # The task's patience with silence is wall time: at full speed a motion would be over first.
            speed = 1.0 if self.faults.states or self.faults.clock else self.speed
            time.sleep(max(0.0, STEP / speed - (time.monotonic() - began)))

    def _advance(self) -> None:
        active = self._active
        if active is None:
            return
        if active.handle.is_cancel_requested:
            self._end("cancelled")
            return
        sent, fault = active.sent, self.faults.control(active.number, active.sent.joints)
        if self.faults.clock != "frozen":
            active.elapsed += STEP / (3.0 if fault == "slow" else 1.0)
        point = sent.trajectory.sample(active.elapsed)[0][0]
        for name, position in zip(sent.joints, point, strict=True):
            if name in self.settings.gripper_joints:
                self._grip(float(position))
            else:
                self.positions[name] = float(position)
        half_over = active.elapsed >= sent.trajectory.duration / 2
        if self.held and self.faults.grip == "slip" and half_over and sent.joints == ARM:
            self.held, self.cubes = None, [Spot(0.5, -0.3, 0.0225, 0.2)]
            self.positions.update(dict.fromkeys(self.settings.gripper_joints, 0.8))
            self.spoil(grip="")
        if isinstance(fault, int) and half_over:
            self._end("aborted", fault)
        elif active.elapsed >= sent.trajectory.duration * (0.5 if fault == "early" else 1.0) and fault != "never":
            self._end("succeeded")

    def _grip(self, position: float) -> None:
        if self.faults.grip == "stuck":
            return
        cube = self._cube_in_fingers()
        if self.held and position < HELD - 0.05:
            self.drop()
        elif not self.held and cube and position >= HELD and self.faults.grip != "miss":
            self.held, self._decoy = cube, self.faults.grip == "decoy"
            if not self._decoy:
                self.cubes.remove(cube)
        reached = min(position, HELD) if self.held else position
        self.positions.update(dict.fromkeys(self.settings.gripper_joints, reached))

    def _in_hand(self) -> Spot:
        position, rotation = tool_pose(self.arm)
        x, y, z = position + self.settings.tcp_offset * rotation[:, 2]
        return Spot(x, y, z, float(np.arctan2(rotation[1, 0], rotation[0, 0])))

    def _cube_in_fingers(self) -> Spot | None:
        hand = self._in_hand()
        near = [cube for cube in self.cubes if cube.distance(hand) < 0.005 and cube.turn(hand) < 0.05]
        return near[0] if near else None

    def _end(self, how: str, code: int = Result.INVALID_GOAL) -> None:
        assert self._active
        self._active.sent.ended = how
        self._active.over.set_result((how, code))
        self._active = None
        self.executor.wake()

    def _states_message(self) -> JointState | None:
        fault = self.faults.states
        if fault == "silent":
            return None
        names = list(self.positions)
        self._random.shuffle(names)
        if fault == "partial":
            names.remove("elbow_joint")
        if fault == "fingerless":
            names = [name for name in names if name not in self.settings.gripper_joints]
        message = JointState(name=names, position=[self.positions[n] for n in names])
        if fault == "nan":
            message.position = [float("nan")] * len(names)
        message.header.stamp = Time(nanoseconds=round(1e9 * (BEGIN / 2 if fault == "stale" else self.time))).to_msg()
        return message

    def _publish_cubes(self) -> None:
        fault = self.faults.cubes
        if fault != "silent":
            self._publish_detections()
        if not self.cubes or fault == "silent" or (self._in_the_way and not fault):
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

    @property
    def _in_the_way(self) -> bool:
        """Whether the arm hides the cubes: it does, but at the look posture and over the place tray."""
        away = np.max(np.abs(self.arm - SETTINGS.look_posture)) > 0.02
        return bool(away and self.tool(self.arm)[1] < PLACE_SIDE)

    def _publish_detections(self) -> None:
        """Of a picture taken now that shows every cube, or none where the arm is in the way."""
        fault = self.faults.cubes
        message = CubeDetections(chosen=-1, watched=WATCHED)
        message.header.frame_id = "world" if fault == "frame" else "base_link"
        message.header.stamp = Time(nanoseconds=round(1e9 * self.time)).to_msg()
        if not self._in_the_way:
            shown = [] if fault in ("jumping", "nan", "stale") else self.cubes
            lying = [(cube, True) for cube in shown] + [(cube, False) for cube in self.placed]
            message.cubes = [
                CubeDetection(
                    color=self.colours.get(cube, "red"), pose=pose(cube), width=self.settings.cube_size, graspable=free
                )
                for cube, free in lying
            ]
            message.cubes += [CubeDetection(pose=pose(thing), reason="too large") for thing in self.unclear]
            message.chosen = 0 if shown else -1
        self._detections.publish(message)

    # The controller

    async def _on_goal(self, request: Any) -> GoalResponse:
        self.deciding += 1
        await self._sleep(COURTESY)
        names = list(request.trajectory.joint_names)
        fault = self.faults.control(len(self.sent), names)
        if fault == "mute":
            await self._sleep(LATE)
        points = request.trajectory.points
        trajectory = Trajectory(
            np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]),
            *(np.array([getattr(p, k) for p in points]) for k in ("positions", "velocities", "accelerations")),
        )
        with self._lock:
            self.deciding -= 1
            self.sent.append(Sent(names, trajectory, dict(self.positions)))
            if fault == "refuse":
                self.sent[-1].ended = "refused"
                return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    async def _on_execute(self, handle: Any) -> Any:
        names = list(handle.request.trajectory.joint_names)
        with self._lock:
            number = max(i for i, sent in enumerate(self.sent) if sent.joints == names and not sent.ended)
            active = self._active = _Active(handle, self.sent[number], number, Future())
        ended, code = await active.over
        if ended == "cancelled":
            handle.canceled()
            return Result()
        if ended == "succeeded":
            handle.succeed()
            return Result()
        handle.abort()
        return Result(error_code=code, error_string="as it was told to")

    async def _sleep(self, seconds: float) -> None:
        """Let the others go first (wall time)."""
        over = Future()

        def end() -> None:
            over.set_result(None)
            self.executor.wake()

        self._later(seconds, end)
        await over

    def _later(self, seconds: float, act: Callable[[], Any]) -> None:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()

    # The IK node

    async def _on_ik(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        fault = self.faults.ik
        if fault == "mute":
            await self._sleep(LATE)
        p, q = request.target.pose.position, request.target.pose.orientation
        by_name = dict(zip(request.seed.name, request.seed.position, strict=True))
        target = np.array([p.x, p.y, p.z])
        yaw = 2 * np.arctan2(q.y, q.x)
        seed = np.array([by_name[name] for name in ARM])
        self.ik_calls.append((np.append(target, yaw), seed))
        joints = solve(target, yaw, seed)
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


def pose(spot: Spot) -> Pose:
    """As a message."""
    message = Pose()
    message.position.x, message.position.y, message.position.z = spot.x, spot.y, spot.z
    message.orientation.z, message.orientation.w = float(np.sin(spot.yaw / 2)), float(np.cos(spot.yaw / 2))
    return message
