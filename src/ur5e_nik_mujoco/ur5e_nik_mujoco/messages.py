"""Between ROS messages and the plain objects of this package."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image
from trajectory_msgs.msg import JointTrajectoryPoint

from ur5e_nik_msgs.msg import CubeState
from ur5e_nik_mujoco.controller import (
    ErrorCode,
    GoalError,
    JointTolerance,
    TrajectoryGoal,
    TrajectoryPoint,
)
from ur5e_nik_mujoco.scene import OverheadCamera
from ur5e_nik_mujoco.simulation import CubeTruth


def time_message(seconds: float) -> Time:
    """A time of the simulation."""
    whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
    return Time(sec=whole, nanosec=nanoseconds)


def seconds(time: Time | Duration) -> float:
    """A time or duration [s]."""
    return float(time.sec) + float(time.nanosec) * 1e-9


def trajectory_goal(goal: FollowJointTrajectory.Goal, key: bytes) -> TrajectoryGoal:
    """The controller's view of an action goal; raises GoalError for fields it has no use for."""
    trajectory = goal.trajectory
    if goal.multi_dof_trajectory.points:
        raise GoalError(ErrorCode.INVALID_GOAL, "multi_dof_trajectory is not supported.")
    if any(point.effort for point in trajectory.points):
        raise GoalError(ErrorCode.INVALID_GOAL, "Trajectories with effort are not supported.")
    return TrajectoryGoal(
        joint_names=tuple(trajectory.joint_names),
        points=[
            TrajectoryPoint(
                seconds(point.time_from_start),
                tuple(point.positions),
                tuple(point.velocities),
                tuple(point.accelerations),
            )
            for point in trajectory.points
        ],
        start_time=seconds(trajectory.header.stamp),
        path_tolerance=_tolerances(goal.path_tolerance),
        goal_tolerance=_tolerances(goal.goal_tolerance),
        goal_time_tolerance=seconds(goal.goal_time_tolerance),
        key=key,
    )


def _tolerances(tolerances: Sequence) -> list[JointTolerance]:
    return [JointTolerance(item.name, item.position, item.velocity) for item in tolerances]


def trajectory_point(positions: NDArray, velocities: NDArray) -> JointTrajectoryPoint:
    """A point without a time."""
    return JointTrajectoryPoint(positions=positions.tolist(), velocities=velocities.tolist())


def pose(position: Sequence[float] | NDArray, quaternion: Sequence[float] | NDArray) -> Pose:
    """A pose from a position [m] and a quaternion (x, y, z, w)."""
    message = Pose()
    message.position.x, message.position.y, message.position.z = map(float, position)
    orientation = message.orientation
    orientation.x, orientation.y, orientation.z, orientation.w = map(float, quaternion)
    return message


def cube_state(cube: CubeTruth) -> CubeState:
    """A cube's true state."""
    return CubeState(
        name=cube.name, color=cube.color, pose=pose(cube.position, cube.quaternion), contacts=list(cube.contacts)
    )


class ImageWriter:
    """Makes bgra8 images of one size, as Webots publishes them."""

    def __init__(self, width: int, height: int, frame: str) -> None:
        self._pixels = np.full((height, width, 4), 255, dtype=np.uint8)
        self._frame = frame

    def image(self, rgb: NDArray[np.uint8], stamp: Time) -> Image:
        """An image of (height, width, 3) RGB pixels."""
        self._pixels[:, :, :3] = rgb[:, :, ::-1]
        height, width, channels = self._pixels.shape
        message = Image(height=height, width=width, encoding="bgra8", step=channels * width)
        message.header.stamp = stamp
        message.header.frame_id = self._frame
        # rclpy checks anything but an array element by element.
        message.data = array("B", self._pixels.tobytes())
        return message


def camera_info(camera: OverheadCamera, frame: str) -> CameraInfo:
    """The pinhole of a camera without distortion; pixel centres are whole numbers, as in OpenCV."""
    focal = camera.width / (2 * math.tan(math.radians(camera.horizontal_fov) / 2))
    center_x, center_y = (camera.width - 1) / 2, (camera.height - 1) / 2
    message = CameraInfo(height=camera.height, width=camera.width, distortion_model="plumb_bob")
    message.header.frame_id = frame
    message.d = [0.0] * 5
    message.k = [focal, 0.0, center_x, 0.0, focal, center_y, 0.0, 0.0, 1.0]
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    message.p = [focal, 0.0, center_x, 0.0, 0.0, focal, center_y, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message


def diagnostics(name: str, stamp: Time, figures: dict[str, float | None]) -> DiagnosticArray:
    """A node that is well, with its figures; those that are None are left out."""
    values = [KeyValue(key=key, value=f"{value:.3f}") for key, value in figures.items() if value is not None]
    message = DiagnosticArray(status=[DiagnosticStatus(level=DiagnosticStatus.OK, name=name, values=values)])
    message.header.stamp = stamp
    return message
