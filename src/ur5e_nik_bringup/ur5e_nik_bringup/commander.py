"""Every ROS client of the task in one place: joint states, trajectory action, IK service and cube poses.

All calls block and are made from one thread that is not the executor's; the callbacks here only store and notify.
Whatever goes wrong comes out as a `Fault`, within a stated time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration as DurationMsg
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from rclpy.action import ActionClient
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ur5e_nik_bringup.planning import Answer, Unreachable
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.states import Code, Fault
from ur5e_nik_bringup.trajectory import Trajectory, joint_move
from ur5e_nik_bringup.waypoints import Spot, ToolPose, yaw_of
from ur5e_nik_msgs.msg import CubeDetections
from ur5e_nik_msgs.srv import SolveIK

Array = NDArray[np.float64]
T = TypeVar("T")

ERROR_NAMES = {
    FollowJointTrajectory.Result.INVALID_GOAL: "INVALID_GOAL",
    FollowJointTrajectory.Result.INVALID_JOINTS: "INVALID_JOINTS",
    FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP: "OLD_HEADER_TIMESTAMP",
    FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED: "PATH_TOLERANCE_VIOLATED",
    FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED: "GOAL_TOLERANCE_VIOLATED",
}
IK_CODES = {
    SolveIK.Response.FRAME_TRANSFORM_FAILURE: Code.FRAME_TRANSFORM_FAILURE,
    SolveIK.Response.INVALID_GOAL_CONSTRAINTS: Code.INVALID_GOAL_CONSTRAINTS,
}
EMPTY_PICTURES = 3  # so many pictures in a row without a cube make an empty tray
LAST_STATE = 0.3  # how late a message may come after another of the same moment [s]
ASK_AGAIN = 0.4  # between two questions for a result that is late: the answer to the first may be lost [s]
TICK = 0.05  # longest time between two looks at what is waited for [s]


@dataclass(frozen=True)
class Reading:
    """The joints at one moment: arm (6,) in DH order, gripper joints' mean; stamp in ROS time [s]."""

    arm: Array
    gripper: float
    stamp: float
    received: float


@dataclass(frozen=True)
class Sighting:
    """A cube as the camera saw it at ``stamp`` (ROS time [s])."""

    cube: Spot
    stamp: float


@dataclass(frozen=True)
class Verdict:
    """The graspable cubes of one picture, vision's choice first, seen at ``stamp`` (ROS time [s]).

    colours: of these cubes; others: cubes that are not to be grasped; watched: x_min, x_max, y_min, y_max [m] of where
    those are measured; unclear: roughly where something was refused.
    """

    cubes: list[Spot]
    stamp: float
    colours: list[str] = field(default_factory=list)
    others: list[Spot] = field(default_factory=list)
    watched: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    unclear: list[Spot] = field(default_factory=list)

    def misses(self, place: Spot, near: float, size: float) -> bool:
        """Whether the picture shows no cube nearer than ``near`` [m] to a place that it watches.

        size: a cube's edge [m]. Something refused within two of it may be cubes that seem to touch.
        """
        x_min, x_max, y_min, y_max = self.watched
        watched = x_min <= place.x <= x_max and y_min <= place.y <= y_max
        return (
            watched
            and all(place.distance(cube) > near for cube in self.cubes + self.others)
            and all(place.distance(thing) > 2 * size for thing in self.unclear)
        )


class Motion:
    """One trajectory goal under way."""

    def __init__(self, joints: list[str], trajectory: Trajectory, started: float) -> None:
        self.joints = joints
        self.target = trajectory.positions[-1]
        self.duration = trajectory.duration
        self.started = started
        self.asked = 0.0  # for its result (wall time) [s]
        self.unwanted = False
        self.refused = False
        self.goal: Any = None
        self.result: Any = None

    @property
    def over(self) -> bool:
        """Whether the controller has refused or ended it."""
        return self.refused or (self.result is not None and self.result.done())


class Commander:
    """Moves, grips, asks and looks. ``interrupted`` tells a waiting call to give up; it raises what ends the goal."""

    def __init__(self, node: Node, settings: Settings) -> None:
        self.settings = settings
        self.interrupted: Callable[[], None] = lambda: None
        self._node = node
        self._changed = threading.Condition()
        self._reading: Reading | None = None
        self._before: Reading | None = None  # the one before that
        self._gripped_from: float | None = None
        self._state_problem = "none has arrived"
        self._sightings: list[Sighting] = []
        self._cube_problem: Fault | None = None
        self._verdicts: list[Verdict] = []
        self._vision: tuple[DiagnosticStatus, float] | None = None  # its last word and when it came (wall time)
        self._jumped = ""
        self._motion: Motion | None = None
        self._clock_seen = (0.0, time.monotonic())

        # Best effort hears reliable and best-effort publishers alike.
        newest = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(JointState, settings.joint_states_topic, self._on_joint_state, newest)
        self._cubes = node.create_subscription(PoseStamped, "cube_pose", self._on_cube, newest)
        self._judged = node.create_subscription(CubeDetections, "cube_detections", self._on_detections, newest)
        node.create_subscription(DiagnosticArray, "vision_status", self._on_vision_status, newest)
        self._ik = node.create_client(SolveIK, "solve_ik")
        self._controller = ActionClient(node, FollowJointTrajectory, settings.trajectory_action)
        self._sent = node.create_publisher(JointTrajectory, "~/trajectory", 10)
        self._jump_handle = node.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False),
            post_callback=self._on_jump,
        )

    # What the robot says

    def begin(self) -> None:
        """Wait until clock, joint states, controller and IK service are there."""
        with self._changed:
            self._jumped = ""
        first, limit = self.now(), self.settings.stall_timeout
        self._wait(
            lambda: self.now() != first,
            wall_limit=limit,
            late=lambda: Fault(Code.TIMED_OUT, self._why_no_time()),
        )
        self.reading()
        self._require_controller()
        self._require_ik()

    def now(self) -> float:
        """ROS time [s]."""
        return self._node.get_clock().now().nanoseconds * 1e-9

    def reading(self) -> Reading:
        """The newest joint state, not older than the settings allow; waits for one."""
        return self.reading_since(self.now() - self.settings.state_age)

    def reading_since(self, stamp: float) -> Reading:
        """A joint state of ROS time ``stamp`` or later; waits for one."""
        return self._wait(
            lambda: self._reading if self._reading and self._reading.stamp >= stamp else None,
            wall_limit=self.settings.stall_timeout,
            late=lambda: Fault(Code.ROBOT_STATE_STALE, self._why_no_state()),
        )

    def holds(self, reading: Reading) -> bool:
        """Whether the fingers stand where something between them stops them."""
        share = self.settings.closed_share(reading.gripper)
        return self.settings.held_from <= share <= self.settings.held_to

    def holding(self) -> bool:
        """`holds` for the newest joint state, without waiting for one."""
        return self._reading is None or self.holds(self._reading)

    # Motion

    def start(self, trajectory: Trajectory, joints: list[str]) -> None:
        """Send a trajectory and wait until the controller has accepted it."""
        self._require_controller()
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = joints
        goal.trajectory.points = _points(trajectory.in_nanoseconds())
        motion = Motion(joints, trajectory, self.now())
        self._motion = motion
        self._sent.publish(goal.trajectory)
        self._post(lambda: self._controller.send_goal_async(goal), lambda answer: self._accept(motion, answer))
        limit = self.settings.controller_timeout
        self._wait(
            lambda: motion.goal or motion.refused,
            wall_limit=limit,
            late=lambda: Fault(
                Code.CONTROLLER_UNAVAILABLE, f"the controller did not answer a goal within {limit:.1f} s"
            ),
        )
        if motion.refused:
            self._motion = None
            raise Fault(Code.CONTROL_FAILED, f"the controller refused the motion of {_listed(joints)}")
        motion.started = self.now()

    def follow(self, until: float = math.inf, check: Callable[[], bool] = lambda: True) -> bool:
        """Wait until the motion is ``until`` seconds old (ROS time) or over; False as soon as ``check`` says so.

        A motion that is over has been checked: the controller's word and the joints' arrival.
        """
        motion = self._motion
        if motion is None:
            return check()
        limit = motion.duration * self.settings.motion_time_factor + self.settings.motion_time_margin

        def ready() -> str:
            if not check():
                return "lost"
            if motion.over:
                return "over"
            if not self._controller.server_is_ready():
                raise Fault(
                    Code.CONTROLLER_UNAVAILABLE, f"the controller has gone while it moved {_listed(motion.joints)}"
                )
            age = self.now() - motion.started
            if age > motion.duration + ASK_AGAIN and time.monotonic() - motion.asked > ASK_AGAIN:
                self._ask_result(motion)
            return "on its way" if age >= until else ""

        end = self._wait(
            ready,
            ros_limit=max(limit - (self.now() - motion.started), 0.0),
            wall_least=self.settings.motion_time_wall,
            late=lambda: Fault(
                Code.TIMED_OUT,
                f"a motion of {motion.duration:.1f} s was not over after {limit:.1f} s of {_listed(motion.joints)}",
            ),
            moving=True,
        )
        if end == "over":
            self._motion = None
            self._conclude(motion)
        return end != "lost"

    def stop(self) -> bool:
        """Cancel what moves and wait until the controller has ended it; True if it says so or nothing moves."""
        with self._changed:
            motion, self._motion = self._motion, None
            if motion is None or motion.over:
                return True
            # Not accepted yet: cancelled as soon as it is.
            motion.unwanted = True
            goal = motion.goal
        if goal:
            self._post(goal.cancel_goal_async)
        with self._changed:
            return self._changed.wait_for(lambda: motion.over, self.settings.cancel_timeout)

    def start_gripper(self, position: float) -> None:
        """Send the gripper joints to ``position``; no move when they are there."""
        names = self.settings.gripper_joints
        before = self.reading().gripper
        moves = abs(before - position) > self.settings.reached
        self._gripped_from = before if moves else None
        if moves:
            limits = self.settings.gripper_limits
            self.start(joint_move([before] * len(names), [position] * len(names), limits), names)

    def gripper_stopped(self, far_enough: Callable[[Reading], bool] = lambda _: False) -> Reading:
        """Wait for the end of the gripper's motion, and until the joints stand still or have gone ``far_enough``."""
        self.follow()
        self.sleep(self.settings.grip_settle)
        began, wall_began = self.now(), time.monotonic()

        def rests() -> bool:
            late = self.now() - began >= LAST_STATE and time.monotonic() - wall_began >= LAST_STATE
            return late or self._gripper_rests() or (self._reading is not None and far_enough(self._reading))

        self._wait(rests, moving=True)
        return self.reading()

    def gripper(self, position: float) -> Reading:
        """Move the gripper joints to ``position`` and return where they stopped."""
        self.start_gripper(position)
        return self.gripper_stopped()

    def sleep(self, seconds: float) -> None:
        """ROS time."""
        until = self.now() + seconds
        self._wait(lambda: self.now() >= until, moving=True)

    # Inverse kinematics

    def solve(self, poses: Sequence[ToolPose], seed: Array) -> list[Answer | Unreachable]:
        """Joints of each tool pose, all asked for at once. Raises Fault when the service is absent or errs."""
        self._require_ik()
        answers = [self._ik.call_async(self._question(pose, seed)) for pose in poses]
        for answer in answers:
            answer.add_done_callback(lambda _: self._notify())

        def all_done() -> bool:
            return all(answer.done() for answer in answers)

        try:
            self._wait(
                lambda: all_done() or not self._ik.service_is_ready(),
                wall_limit=self.settings.ik_timeout,
                late=lambda: Fault(
                    Code.IK_UNAVAILABLE,
                    f"the IK node did not answer within {self.settings.ik_timeout:.1f} s",
                ),
            )
        finally:
            for answer in answers:
                if not answer.done():
                    self._ik.remove_pending_request(answer)
        # A node that went away with the questions is asked again as soon as it is back.
        if not all_done():
            return self.solve(poses, seed)
        return [self._answer(answer.result(), pose) for answer, pose in zip(answers, poses, strict=True)]

    def _question(self, pose: ToolPose, seed: Array) -> SolveIK.Request:
        request = SolveIK.Request(solver=self.settings.solver)
        request.target.header.frame_id = self.settings.base_frame
        request.target.header.stamp = self._node.get_clock().now().to_msg()
        position, orientation = request.target.pose.position, request.target.pose.orientation
        position.x, position.y, position.z = map(float, pose.position)
        orientation.x, orientation.y, orientation.z, orientation.w = map(float, pose.quaternion)
        request.seed.name = self.settings.arm_joints
        request.seed.position = [float(q) for q in seed]
        return request

    # Looking

    def glance(self, since: float, wanted: Callable[[Spot], bool]) -> Spot | None:
        """A cube that the newest two looks agree on, both later than ROS time ``since``, without waiting for them."""
        with self._changed:
            pair = self._last_two(since, wanted)
        return pair[1].cube if len(pair) == 2 and self._agree(*pair) else None

    def colour_of(self, cube: Spot) -> str:
        """The colour of what lies there, by the newest picture that shows it; empty when vision names none."""
        if not self._node.count_publishers(self._judged.topic_name):
            return ""
        began, wall_began = self.now(), time.monotonic()

        def named() -> tuple[str, ...]:
            for verdict in reversed(self._verdicts):
                for spot, colour in zip(verdict.cubes, verdict.colours, strict=True):
                    if spot.distance(cube) <= self.settings.same_cube:
                        return (colour,)
            # Vision tells a picture's cubes after the pose of the one that it chose.
            late = self.now() - began >= LAST_STATE and time.monotonic() - wall_began >= LAST_STATE
            return ("",) if late else ()

        (colour,) = self._wait(named, moving=True)
        return colour

    def missing(self, places: list[Spot], since: float) -> list[Spot]:
        """Those places where pictures in a row, all later than ROS time ``since``, show no cube.

        A place that the camera does not watch, or that is not on the table, is not among them, nor is any while no
        pictures come.
        """
        settings = self.settings
        places = [place for place in places if settings.on_table(place)]
        if not places or not self._node.count_publishers(self._judged.topic_name):
            return []
        began, wall_began = self.now(), time.monotonic()

        def judged() -> tuple[list[Spot], ...]:
            newest = [v for v in self._verdicts if v.stamp > since][-EMPTY_PICTURES:]
            near, size = settings.placed_distance, settings.cube_size
            gone = [place for place in places if all(v.misses(place, near, size) for v in newest)]
            if len(newest) == EMPTY_PICTURES or (newest and not gone):
                return (gone,)
            quiet = self.now() - began >= settings.look_timeout
            return ([],) if quiet and time.monotonic() - wall_began >= settings.look_timeout_wall else ()

        (gone,) = self._wait(judged, moving=True)
        return gone

    def look(self, since: float, wanted: Callable[[Spot], bool]) -> Spot | None:
        """A cube that two looks in a row agree on, both later than ROS time ``since``; None if none is in view.

        ``wanted`` picks among the cubes that are seen.
        """
        with self._changed:
            self._sightings.clear()
            self._verdicts.clear()
            self._cube_problem = None

        began, wall_began = self.now(), time.monotonic()

        def seen() -> tuple[Spot | None, ...]:
            pair = self._last_two(since, wanted)
            if len(pair) == 2 and self._agree(*pair):
                return (pair[1].cube,)
            now, wall = self.now(), time.monotonic() - wall_began
            # In a fast simulation a second look may only be on its way.
            if now - began >= self.settings.settle_timeout and (
                len(pair) == 2 or (pair and wall >= self.settings.stall_timeout)
            ):
                raise self._unsettled(pair)
            quiet = now - max(began, pair[-1].stamp if pair else 0.0)
            if quiet < self.settings.look_timeout or wall < self.settings.look_timeout_wall:
                return ()
            if self._cube_problem or self._is_empty(since, wanted):
                return (None,)
            if wall >= self.settings.stall_timeout and quiet >= self.settings.settle_timeout:
                raise self._blind(since)
            return ()

        (cube,) = self._wait(seen, moving=True)
        if cube:
            return cube
        self._explain_blindness(since)
        return None

    def _explain_blindness(self, since: float) -> None:
        """Raise a Fault unless the plain reason for no cube is that there is none."""
        if not self._node.count_publishers(self._cubes.topic_name):
            raise Fault(Code.SENSOR_INFO_STALE, f"nothing publishes {self._cubes.topic_name}: is the vision node up?")
        if self._cube_problem:
            raise self._cube_problem
        if self._vision:
            status, heard = self._vision
            if status.level in (DiagnosticStatus.STALE, DiagnosticStatus.ERROR):
                raise Fault(Code.SENSOR_INFO_STALE, f"vision: {status.message}")
            if time.monotonic() - heard > self.settings.stall_timeout:
                raise Fault(Code.SENSOR_INFO_STALE, f"vision said nothing for {time.monotonic() - heard:.1f} s")
        if not self._sightings:
            return
        newest = self._sightings[-1]
        if newest.stamp <= since:
            raise Fault(
                Code.SENSOR_INFO_STALE,
                f"the newest cube pose was seen {since - newest.stamp:.1f} s before the arm was out of view",
            )

    def _is_empty(self, since: float, wanted: Callable[[Spot], bool]) -> bool:
        """Whether pictures, not only silence, say that no wanted cube is there.

        A vision node that publishes no detections is believed by its silence.
        """
        if not self._node.count_publishers(self._judged.topic_name):
            return True
        newest = [v for v in self._verdicts if v.stamp > since][-EMPTY_PICTURES:]
        return len(newest) == EMPTY_PICTURES and not any(wanted(cube) for v in newest for cube in v.cubes)

    def _blind(self, since: float) -> Fault:
        pictures = len([v for v in self._verdicts if v.stamp > since])
        return Fault(
            Code.SENSOR_INFO_STALE,
            f"vision judged {pictures} pictures since the arm was out of view, {EMPTY_PICTURES} must agree: "
            "does the camera publish?",
        )

    def _unsettled(self, pair: list[Sighting]) -> Fault:
        if len(pair) < 2:
            return Fault(
                Code.SENSOR_INFO_STALE, f"one look at the cube in {self.settings.settle_timeout:.1f} s, two must agree"
            )
        return Fault(
            Code.SENSOR_INFO_STALE,
            f"the cube does not lie still: {1e3 * pair[0].cube.distance(pair[1].cube):.1f} mm and"
            f" {np.degrees(pair[0].cube.turn(pair[1].cube)):.1f} deg between two looks",
        )

    def _last_two(self, since: float, wanted: Callable[[Spot], bool]) -> list[Sighting]:
        chosen = [s for s in self._sightings if s.stamp > since and wanted(s.cube)]
        if chosen:
            return chosen[-2:]
        # Vision's own choice may be a cube that was given up; then any other will do.
        others = [(next(filter(wanted, v.cubes), None), v.stamp) for v in self._verdicts if v.stamp > since]
        return [Sighting(cube, stamp) for cube, stamp in others if cube][-2:]

    def _agree(self, one: Sighting, other: Sighting) -> bool:
        return (
            one.cube.distance(other.cube) <= self.settings.agree_distance
            and one.cube.turn(other.cube) <= self.settings.agree_yaw
        )

    # Callbacks

    def _on_joint_state(self, message: JointState) -> None:
        settings = self.settings
        by_name = dict(zip(message.name, message.position, strict=False))
        missing = [n for n in settings.arm_joints + settings.gripper_joints if n not in by_name]
        with self._changed:
            if missing:
                self._state_problem = f"{_listed(missing)} missing"
                return
            arm = np.array([by_name[name] for name in settings.arm_joints])
            gripper = float(np.mean([by_name[name] for name in settings.gripper_joints]))
            if not (np.all(np.isfinite(arm)) and math.isfinite(gripper)):
                self._state_problem = "a position is not finite"
                return
            stamp, now, last = _seconds(message.header.stamp), time.monotonic(), self._reading
            if last and last.stamp != stamp:
                self._before = last
            # A driver that repeats its last state tells nothing new.
            self._reading = Reading(arm, gripper, stamp, last.received if last and last.stamp == stamp else now)
            self._state_problem = ""
            self._changed.notify_all()

    def _on_cube(self, message: PoseStamped) -> None:
        position, q = message.pose.position, message.pose.orientation
        frame = message.header.frame_id
        values = (position.x, position.y, position.z, q.x, q.y, q.z, q.w)
        with self._changed:
            if frame != self.settings.base_frame:
                self._cube_problem = Fault(
                    Code.FRAME_TRANSFORM_FAILURE,
                    f"the cube's pose is in frame '{frame}', not in '{self.settings.base_frame}'",
                )
            elif not all(map(math.isfinite, values)):
                self._cube_problem = Fault(Code.SENSOR_INFO_STALE, "the cube's pose is not finite")
            else:
                sighting = Sighting(_spot(message.pose), _seconds(message.header.stamp))
                self._sightings = [*self._sightings[-9:], sighting]
            self._changed.notify_all()

    def _on_detections(self, message: CubeDetections) -> None:
        if message.header.frame_id != self.settings.base_frame:
            return  # cube_pose says so too, and is checked
        order = sorted(range(len(message.cubes)), key=lambda index: index != message.chosen)
        graspable = [message.cubes[index] for index in order if message.cubes[index].graspable]
        cubes, colours = [_spot(cube.pose) for cube in graspable], [cube.color for cube in graspable]
        others = [_spot(cube.pose) for cube in message.cubes if cube.width > 0.0 and not cube.graspable]
        unclear = [_spot(thing.pose) for thing in message.cubes if thing.width <= 0.0 and not thing.graspable]
        watched = tuple(map(float, message.watched))
        verdict = Verdict(cubes, _seconds(message.header.stamp), colours, others, watched, unclear)
        with self._changed:
            self._verdicts = [*self._verdicts[-9:], verdict]
            self._changed.notify_all()

    def _on_vision_status(self, message: DiagnosticArray) -> None:
        if message.status:
            self._vision = (message.status[0], time.monotonic())

    def _on_jump(self, jump: Any) -> None:
        with self._changed:
            self._jumped = f"the clock went back by {-jump.delta.nanoseconds * 1e-9:.1f} s"
            self._reading = self._before = None
            self._sightings.clear()
            self._verdicts.clear()
            self._changed.notify_all()

    def _accept(self, motion: Motion, answer: Any) -> None:
        goal = answer.result()
        with self._changed:
            if goal is not None and goal.accepted:
                motion.goal = goal
            else:
                motion.refused = True
            self._changed.notify_all()
            unwanted = motion.unwanted
        if motion.goal:
            self._ask_result(motion)
            if unwanted:
                self._post(goal.cancel_goal_async)

    def _ask_result(self, motion: Motion) -> None:
        motion.asked = time.monotonic()
        self._post(motion.goal.get_result_async, lambda result: self._finish(motion, result))

    def _finish(self, motion: Motion, result: Any) -> None:
        with self._changed:
            motion.result = result
            self._changed.notify_all()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # Waiting

    def _wait(
        self,
        ready: Callable[[], T | None],
        *,
        ros_limit: float = math.inf,
        wall_least: float = 0.0,
        wall_limit: float = math.inf,
        late: Callable[[], Fault] | None = None,
        moving: bool = False,
    ) -> T:
        """What ``ready`` returns as soon as it is true.

        ``late`` says what is wrong after ``ros_limit``, but not within ``wall_least``, or after ``wall_limit``.
        ``moving``: joint states and clock must go on meanwhile.
        """
        ros_start, wall_start = self.now(), time.monotonic()
        while True:
            self.interrupted()
            with self._changed:
                if self._jumped:
                    raise Fault(Code.FAILURE, f"{self._jumped}: was the simulation reset?")
                value = ready()
                if value:
                    return value
                wall = time.monotonic() - wall_start
                if late and (wall > wall_limit or (wall > wall_least and self.now() - ros_start > ros_limit)):
                    raise late()
                if moving:
                    self._check_stall(wall_start)
                self._changed.wait(TICK)

    def _require_ik(self) -> None:
        """Wait for the IK service to appear."""
        if not self._ik.service_is_ready():
            self._wait(
                self._ik.service_is_ready,
                wall_limit=self.settings.ik_timeout,
                late=lambda: Fault(
                    Code.IK_UNAVAILABLE,
                    f"no IK node serves {self._ik.srv_name} after {self.settings.ik_timeout:.1f} s",
                ),
            )

    def _require_controller(self) -> None:
        """Wait for the trajectory action to appear."""
        if not self._controller.server_is_ready():
            self._wait(
                self._controller.server_is_ready,
                wall_limit=self.settings.controller_timeout,
                late=lambda: Fault(
                    Code.CONTROLLER_UNAVAILABLE,
                    f"no controller serves {self.settings.trajectory_action}"
                    f" after {self.settings.controller_timeout:.1f} s",
                ),
            )

    def _check_stall(self, wall_start: float) -> None:
        limit, wall, now = self.settings.stall_timeout, time.monotonic(), self.now()
        if now != self._clock_seen[0]:
            self._clock_seen = (now, wall)
        if wall - max(self._clock_seen[1], wall_start) > limit:
            raise Fault(Code.TIMED_OUT, self._why_no_time())
        heard = self._reading.received if self._reading else 0.0
        # A state as new as the clock is only as late as the clock, which is to blame then.
        newest = self._reading and now - self._reading.stamp < TICK
        if wall - max(heard, wall_start) > limit and not newest:
            raise Fault(Code.ROBOT_STATE_STALE, self._why_no_state())

    def _gripper_rests(self) -> bool:
        """Whether two states agree, and not on where the motion began: they may come later than its result."""
        if not (self._reading and self._before):
            return False
        here, reached = self._reading.gripper, self.settings.reached
        left = self._gripped_from is None or abs(here - self._gripped_from) > reached
        return left and abs(here - self._before.gripper) <= reached

    def _why_no_time(self) -> str:
        return f"the clock has stood still for {self.settings.stall_timeout:.1f} s: does the simulation run?"

    def _why_no_state(self) -> str:
        topic, limit = self.settings.joint_states_topic, self.settings.stall_timeout
        if self._state_problem:
            return f"no usable joint state on {topic} for {limit:.1f} s: {self._state_problem}"
        if self._reading and time.monotonic() - self._reading.received < limit:
            return f"the joint states on {topic} are {self.now() - self._reading.stamp:.1f} s old"
        return f"no new joint state on {topic} for {limit:.1f} s"

    def _conclude(self, motion: Motion) -> None:
        """Raise a Fault unless the controller says success and the arm stands at its target."""
        answer = motion.result.result()
        code = answer.result.error_code
        if answer.status != GoalStatus.STATUS_SUCCEEDED or code != FollowJointTrajectory.Result.SUCCESSFUL:
            name = ERROR_NAMES.get(
                code, "cancelled" if answer.status == GoalStatus.STATUS_CANCELED else f"error {code}"
            )
            words = f": {answer.result.error_string}" if answer.result.error_string else ""
            failed = Fault(
                Code.CONTROL_FAILED, f"the controller ended the motion of {_listed(motion.joints)} with {name}{words}"
            )
            # A simulation that is reset ends its motions too; its clock says so, perhaps a moment later.
            self._wait(lambda: None, wall_limit=TICK, late=lambda: failed)
        if motion.joints != self.settings.arm_joints:
            return
        self.reading_since(self.now())
        # Clock and joint states may come later than the result that was sent after them.
        self._wait(
            lambda: self._miss(motion)[1] <= self.settings.arrival_tolerance,
            ros_limit=LAST_STATE,
            wall_least=LAST_STATE,
            late=lambda: self._missed(motion),
            moving=True,
        )

    def _miss(self, motion: Motion) -> tuple[int, float]:
        """Which joint is farthest from its target, and by how much [rad]."""
        assert self._reading
        miss = np.abs(self._reading.arm - motion.target)
        worst = int(np.argmax(miss))
        return worst, float(miss[worst])

    def _missed(self, motion: Motion) -> Fault:
        worst, miss = self._miss(motion)
        return Fault(Code.CONTROL_FAILED, f"{motion.joints[worst]} stopped {np.degrees(miss):.1f} deg from its target")

    def _answer(self, response: Any, pose: ToolPose) -> Answer | Unreachable:
        where = f"tool0 at ({pose.x:.3f}, {pose.y:.3f}, {pose.z:.3f})"
        if response.error_code == SolveIK.Response.NO_IK_SOLUTION:
            return Unreachable(f"{where} cannot be reached: {response.message}")
        if response.error_code != SolveIK.Response.SUCCESS:
            code = IK_CODES.get(response.error_code, Code.FAILURE)
            raise Fault(code, f"the IK node refused {where}: {response.message or response.error_code}")
        by_name = dict(zip(response.solution.name, response.solution.position, strict=False))
        try:
            joints = np.array([by_name[name] for name in self.settings.arm_joints])
        except KeyError as missing:
            raise Fault(Code.FAILURE, f"the IK answer for {where} lacks {missing.args[0]}") from None
        if not np.all(np.isfinite(joints)):
            raise Fault(Code.FAILURE, f"the IK answer for {where} is not finite")
        return Answer(joints, response.solver)

    def _post(self, call: Callable[[], Any], done: Callable[[Any], None] | None = None) -> None:
        """Call in the executor's thread: an action client drops an answer that comes before it noted its request."""

        def make() -> None:
            future = call()
            if done:
                future.add_done_callback(done)

        assert self._node.executor
        self._node.executor.create_task(make)


def _points(trajectory: Trajectory) -> list[JointTrajectoryPoint]:
    return [
        JointTrajectoryPoint(
            positions=q.tolist(),
            velocities=v.tolist(),
            accelerations=a.tolist(),
            time_from_start=_duration(t),
        )
        for t, q, v, a in zip(
            trajectory.times,
            trajectory.positions,
            trajectory.velocities,
            trajectory.accelerations,
            strict=True,
        )
    ]


def _duration(seconds: float) -> DurationMsg:
    nanoseconds = round(seconds * 1e9)
    return DurationMsg(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def _spot(pose: Pose) -> Spot:
    p, q = pose.position, pose.orientation
    return Spot(p.x, p.y, p.z, yaw_of(q.x, q.y, q.z, q.w))


def _seconds(stamp: Any) -> float:
    return Time.from_msg(stamp).nanoseconds * 1e-9


def _listed(names: list[str]) -> str:
    return ", ".join(names)
