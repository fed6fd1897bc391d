"""What the task node can be told: every parameter with its default, description and range. No ROS here."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ur5e_nik_bringup.clearance import Box, Surroundings
from ur5e_nik_bringup.kinematics import JOINT_LIMITS
from ur5e_nik_bringup.trajectory import Limits
from ur5e_nik_bringup.waypoints import ANY, Hand, Place, Spot

SOLVERS = ("auto", "network", "closed_form")


def _value(
    default: Any, description: str, low: float | None = None, high: float | None = None, fixed: bool = False
) -> Any:
    """A parameter; low and high bound a number or each number of a list; fixed: not to be changed at run time."""
    how = {"description": description, "low": low, "high": high, "fixed": fixed}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=how)
    return field(default=default, metadata=how)


def _grid() -> list[float]:
    # x, y, z, yaw of 3 x 3 places, 0.10 m apart, around the place tray's centre; the far row first.
    return [
        value
        for dx in (0.1, 0.0, -0.1)
        for dy in (-0.1, 0.0, 0.1)
        for value in (round(0.48 + dx, 3), round(0.22 + dy, 3), 0.0225, 0.0)
    ]


@dataclass(frozen=True)
class Settings:
    """Metres, radians, seconds; joints in DH order. "ROS time" stands still when the simulation does."""

    trajectory_action: str = _value(
        "ur5e/ur_joint_trajectory_controller/follow_joint_trajectory",
        "FollowJointTrajectory action of arm and gripper; other robots name it otherwise",
        fixed=True,
    )
    joint_states_topic: str = _value("ur5e/joint_states", "topic of the joint states", fixed=True)
    arm_joints: list[str] = _value(
        [
            "shoulder_pan_joint",
            "shoulder_lift_joint",
            "elbow_joint",
            "wrist_1_joint",
            "wrist_2_joint",
            "wrist_3_joint",
        ],
        "the six arm joints in DH order",
        fixed=True,
    )
    gripper_joints: list[str] = _value(
        ["robotiq_85_left_knuckle_joint"], "joints that close the gripper; all get the same position", fixed=True
    )
    base_frame: str = _value("base_link", "frame of the cube poses and of the IK targets", fixed=True)
    solver: str = _value("auto", "IK solver to ask for: auto, network or closed_form")

    look_posture: list[float] = _value(
        [-0.651008, -2.336996, 1.996657, -1.230457, -1.570796, -0.651008],
        "joints at which the camera sees the pick tray; also where the arm rests [rad]",
        -2 * math.pi,
        2 * math.pi,
    )
    gripper_open: float = _value(0.0, "position of the gripper joints, open [rad]", -3.15, 3.15)
    gripper_closed: float = _value(
        0.8, "position asked for when closing; the cube stops the fingers before [rad]", -3.15, 3.15
    )
    held_from: float = _value(
        0.25, "share of the way from open to closed; fingers stopped before it hold something too wide", 0.0, 1.0
    )
    held_to: float = _value(
        0.75, "share of the way from open to closed; fingers that went past it hold nothing", 0.0, 1.0
    )
    tcp_offset: float = _value(0.1558, "pinch point past tool0 along its z axis [m]", 0.0, 0.5)

    joint_velocity: float = _value(1.88, "of every arm joint [rad/s]; 60 % of the UR5e's 180 deg/s", 0.01, 3.14)
    joint_acceleration: float = _value(40.0, "of every arm joint [rad/s^2]", 0.01, 40.0)
    joint_jerk: float = _value(2000.0, "of every arm joint [rad/s^3]", 0.1, 2000.0)
    line_velocity: float = _value(0.8, "of the tool on straight descents and lifts [m/s]", 0.001, 1.0)
    gripper_velocity: float = _value(2.0, "of the gripper joints [rad/s]", 0.01, 10.0)
    gripper_acceleration: float = _value(160.0, "of the gripper joints [rad/s^2]", 0.01, 200.0)
    gripper_jerk: float = _value(16000.0, "of the gripper joints [rad/s^3]", 0.1, 20000.0)
    clearance: float = _value(0.10, "height of approach, lift and carry above grasp and release [m]", 0.02, 0.4)
    line_step: float = _value(0.02, "largest distance between two IK points of a straight line [m]", 0.002, 0.1)
    blend: float = _value(0.4, "share of a move that may be rounded where the next one follows", 0.0, 0.5)
    release_gap: float = _value(0.001, "the cube is let go this much above its place [m]", 0.0, 0.05)
    path_margin: float = _value(
        0.02, "a joint move must stay this far from table, obstacles and the arm itself [m]", 0.0, 0.2
    )
    obstacles: list[float] = _value(
        [1.05, 0.0, 0.6395, 0.03, 0.03, 1.281, 0.775, 0.0, 1.28, 0.58, 0.03, 0.03, 0.5, 0.0, 1.24, 0.05, 0.08, 0.06],
        "upright boxes, each x, y, z of its centre and its three edge lengths [m]; mast, boom and camera",
        -10.0,
        10.0,
    )
    reached: float = _value(1e-3, "a joint this near to its target is not moved [rad]", 1e-5, 0.1)
    arrival_tolerance: float = _value(0.03, "a joint that stops farther from its target ends the goal [rad]", 1e-3, 0.5)
    ik_position_tolerance: float = _value(
        0.003, "an IK answer that misses its target by more, by the task's own FK, ends the goal [m]", 1e-5, 0.05
    )
    ik_angle_tolerance: float = _value(0.01, "the same for the orientation [rad]", 1e-5, 0.2)

    cube_size: float = _value(0.045, "edge of a cube [m]", 0.005, 0.2)
    table_height: float = _value(0.0, "z of what the cubes lie on [m]", -1.0, 1.0)
    places: list[float] = _value(
        _grid(), "x, y, z of the cube's centre [m] and its yaw [rad], place after place", -6.3, 6.3
    )
    place_colours: list[str] = _value(
        [ANY], "colour of the cubes that each place is for, or any; one alone is that of all places"
    )
    attempts: int = _value(3, "grasps tried before a cube is given up", 1, 10)
    agree_distance: float = _value(0.003, "two looks at a cube that differ by less agree [m]", 1e-4, 0.05)
    agree_yaw: float = _value(0.06, "and by less than this about z [rad]", 1e-3, 0.8)
    same_cube: float = _value(0.03, "a cube seen this near to one that was given up is that one [m]", 1e-3, 0.2)
    placed_distance: float = _value(
        0.01, "a cube that the camera sees this near to its place is there, else it failed [m]", 1e-3, 0.2
    )

    look_timeout: float = _value(2.0, "no cube seen for this long: none is left (ROS time) [s]", 0.1, 60.0)
    look_timeout_wall: float = _value(
        1.0, "and for this long by the wall's clock: a camera may be slower than a fast simulation [s]", 0.0, 60.0
    )
    settle_timeout: float = _value(
        8.0, "a cube whose looks do not agree for this long ends the goal (ROS time) [s]", 0.5, 60.0
    )
    grip_settle: float = _value(
        0.0, "between the fingers' stop and the check of what they hold (ROS time) [s]", 0.0, 5.0
    )
    motion_time_factor: float = _value(
        4.0, "a motion may take its planned time times this, plus motion_time_margin (ROS time)", 1.0, 100.0
    )
    motion_time_margin: float = _value(3.0, "see motion_time_factor [s]", 0.1, 60.0)
    motion_time_wall: float = _value(
        5.0, "and this long by the wall's clock: a message may be slower than a fast simulation [s]", 0.0, 60.0
    )
    controller_timeout: float = _value(
        5.0, "for the controller to appear and to accept a goal (wall time) [s]", 0.1, 60.0
    )
    cancel_timeout: float = _value(1.0, "for the controller to end a cancelled goal (wall time) [s]", 0.1, 1.5)
    ik_timeout: float = _value(3.0, "for the IK service to appear and to answer (wall time) [s]", 0.1, 60.0)
    stall_timeout: float = _value(
        5.0, "without a new joint state, or with the clock standing still (wall time) [s]", 0.2, 60.0
    )
    state_age: float = _value(0.1, "a motion starts from a joint state that is not older (ROS time) [s]", 0.0, 10.0)

    def problem(self) -> str:
        """What is wrong with these values, or an empty string."""
        for item in fields(self):
            trouble = _trouble(getattr(self, item.name), item.metadata["low"], item.metadata["high"])
            if trouble:
                return f"{item.name} {trouble}"
        return self._contradiction()

    def _contradiction(self) -> str:
        if self.solver not in SOLVERS:
            return f"solver is '{self.solver}'; it must be one of {', '.join(SOLVERS)}"
        if len(self.arm_joints) != 6:
            return f"arm_joints names {len(self.arm_joints)} joints; it must name six, in DH order"
        if not self.gripper_joints:
            return "gripper_joints is empty; it must name at least one joint"
        names = self.arm_joints + self.gripper_joints
        if len(set(names)) != len(names):
            return "arm_joints and gripper_joints name a joint twice"
        if len(self.look_posture) != 6:
            return f"look_posture has {len(self.look_posture)} values; it must have six"
        if np.any(np.abs(self.look_posture) > JOINT_LIMITS):
            return "look_posture lies outside the joint limits (+-2 pi, the elbow +-pi)"
        if self.gripper_open == self.gripper_closed:
            return "gripper_open and gripper_closed are equal; the gripper would not move"
        if self.held_from >= self.held_to:
            return "held_from must be smaller than held_to"
        if not self.places or len(self.places) % 4:
            return f"places has {len(self.places)} values; it must have four a place: x, y, z, yaw"
        if len(self.place_colours) not in (1, len(self.places) // 4):
            return (
                f"place_colours has {len(self.place_colours)} names; it must have one for each of the"
                f" {len(self.places) // 4} places, or one for all"
            )
        if len(self.obstacles) % 6:
            return (
                f"obstacles has {len(self.obstacles)} values; it must have six a box: x, y, z, and three edge lengths"
            )
        if any(edge <= 0.0 for row in self._boxes for edge in row[3:]):
            return (
                "obstacles has a box with an edge of 0 or less; the last three values of each box are its edge lengths"
            )
        return ""

    @property
    def _boxes(self) -> list[list[float]]:
        return [self.obstacles[i : i + 6] for i in range(0, len(self.obstacles), 6)]

    @property
    def surroundings(self) -> Surroundings:
        """What joint moves keep away from."""
        boxes = [Box((x, y, z), (length, width, height)) for x, y, z, length, width, height in self._boxes]
        return Surroundings(self.table_height, boxes, self.tcp_offset)

    @property
    def hand(self) -> Hand:
        """What the poses depend on."""
        return Hand(self.tcp_offset, self.clearance, self.release_gap)

    @property
    def arm_limits(self) -> Limits:
        """Of the six arm joints."""
        return _limits(6, self.joint_velocity, self.joint_acceleration, self.joint_jerk)

    @property
    def gripper_limits(self) -> Limits:
        """Of the gripper joints."""
        return _limits(len(self.gripper_joints), self.gripper_velocity, self.gripper_acceleration, self.gripper_jerk)

    @property
    def place_spots(self) -> list[Place]:
        """The configured places in their order."""
        colours = itertools.cycle(self.place_colours)
        rows = [self.places[i : i + 4] for i in range(0, len(self.places), 4)]
        return [Place(x, y, z, yaw, next(colours)) for x, y, z, yaw in rows]

    def closed_share(self, gripper: float) -> float:
        """0 open, 1 as closed as asked for."""
        return (gripper - self.gripper_open) / (self.gripper_closed - self.gripper_open)

    def below_table(self, cube: Spot) -> bool:
        """Whether a cube there would stand in the table; a centimetre is allowed for errors."""
        return cube.z - self.cube_size / 2 < self.table_height - 0.01

    def on_table(self, cube: Spot) -> bool:
        """Whether a cube there lies on the table, where the camera measures; a centimetre is allowed for errors."""
        return abs(cube.z - self.cube_size / 2 - self.table_height) < 0.01

    @property
    def safe_height(self) -> float:
        """Z of tool0 above which the arm may move sideways [m]."""
        return self.table_height + self.cube_size / 2 + self.clearance + self.tcp_offset


def _limits(joints: int, velocity: float, acceleration: float, jerk: float) -> Limits:
    return Limits(*(np.full(joints, value) for value in (velocity, acceleration, jerk)))


def _trouble(value: Any, low: float | None, high: float | None) -> str:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            if not one:
                return "is an empty string; it must name something"
            continue
        if not math.isfinite(one):
            return f"is {one}; it must be finite"
        if low is not None and high is not None and not low <= one <= high:
            return f"is {one}; it must lie between {low} and {high}"
    return ""
