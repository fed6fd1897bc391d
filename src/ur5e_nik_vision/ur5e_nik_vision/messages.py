"""From cubes to ROS messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import PointStamped, Pose, PoseStamped
from std_msgs.msg import Header

from ur5e_nik_msgs.msg import CubeDetection, CubeDetections

from .detection import Cube, Detection, Rejection


def pose(cube: Cube) -> Pose:
    """Centre and yaw of a cube."""
    message = Pose()
    message.position.x, message.position.y, message.position.z = map(float, cube.position)
    message.orientation.z = math.sin(cube.yaw / 2)
    message.orientation.w = math.cos(cube.yaw / 2)
    return message


def stamped(header: Header, cube: Cube) -> tuple[PointStamped, PoseStamped]:
    """A cube as a point and as a pose, with the picture's stamp."""
    whole = pose(cube)
    return PointStamped(header=header, point=whole.position), PoseStamped(header=header, pose=whole)


def detections(
    header: Header, detection: Detection, chosen: Cube | None, names: str, watched: Sequence[float]
) -> CubeDetections:
    """All that one picture shows; names: of the colours; watched: x_min, x_max, y_min, y_max [m] of that region."""
    cubes = [_detection(cube, graspable=True) for cube in detection.cubes]
    cubes += [_detection(cube, graspable=False, reason="in the watched region") for cube in detection.watched]
    refused = [_refusal(rejection) for rejection in detection.rejections]
    message = CubeDetections(header=header, cubes=cubes + refused, chosen=-1, watched=watched)
    if chosen is not None:
        message.chosen = next(index for index, cube in enumerate(detection.cubes) if cube is chosen)
    else:
        message.message = refused[0].reason if refused else f"no {names} cube: {nothing(detection)}"
    return message


def nothing(detection: Detection) -> str:
    """Why there is no cube where nothing was refused."""
    if detection.watched:
        return f"{len(detection.watched)} in the watched region only"
    return "nothing of that colour"


def _refusal(rejection: Rejection) -> CubeDetection:
    message = CubeDetection(color=rejection.colour, reason=rejection.reason)
    position = message.pose.position
    position.x, position.y, position.z = map(float, rejection.position)
    return message


def _detection(cube: Cube, **told: Any) -> CubeDetection:
    return CubeDetection(color=cube.colour, pose=pose(cube), width=float(cube.width), **told)
