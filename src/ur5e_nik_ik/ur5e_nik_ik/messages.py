"""Requests of solve_ik as arrays, and answers as messages. A bad request is refused by name."""

import math
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from ur5e_nik_ik.joints import JOINT_NAMES
from ur5e_nik_ik.rotations import matrix_from_quaternion
from ur5e_nik_msgs.srv import SolveIK

FRAMES = ("base_link", "base")

# A quaternion may be off by rounding, or by a factor somebody forgot; not by an order of magnitude.
_LEAST_NORM, _MOST_NORM = 0.1, 10.0


@dataclass
class BadRequest(Exception):
    """A request that cannot be meant: an error code of SolveIK and a line for a person."""

    code: int
    message: str


def pose_of(target: PoseStamped) -> np.ndarray:
    """Return the pose of tool0 in base_link (4, 4).

    Raises:
        BadRequest: another frame, NaN or Inf, or a quaternion that is no rotation.
    """
    frame = target.header.frame_id
    if frame not in FRAMES:
        name = f"unknown frame {frame!r}" if frame else "the target names no frame"
        raise BadRequest(
            SolveIK.Response.FRAME_TRANSFORM_FAILURE,
            f"{name}: header.frame_id must be base_link or base (base_link turned by pi about z)",
        )
    position, orientation = target.pose.position, target.pose.orientation
    quaternion = [orientation.x, orientation.y, orientation.z, orientation.w]
    for name, value in zip("xyz", (position.x, position.y, position.z), strict=True):
        _check_finite(f"position.{name}", value)
    for name, value in zip("xyzw", quaternion, strict=True):
        _check_finite(f"orientation.{name}", value)
    norm = math.hypot(*quaternion)
    if not _LEAST_NORM <= norm <= _MOST_NORM:
        what = "is zero" if norm == 0.0 else f"has norm {norm:.3g}"
        raise BadRequest(
            SolveIK.Response.INVALID_GOAL_CONSTRAINTS,
            f"the target's quaternion {what}: a rotation has norm 1",
        )
    pose = np.eye(4)
    pose[:3, :3] = matrix_from_quaternion(np.array(quaternion))
    pose[:3, 3] = position.x, position.y, position.z
    if frame == "base":
        pose[:2] *= -1.0
    return pose


def seed_of(seed: JointState, rest: np.ndarray) -> np.ndarray:
    """Return the arm's joints of a seed (6,) [rad], found by name; the rest posture if it is empty.

    Raises:
        BadRequest: joints are missing or named twice, or there are not as many positions as names.
    """
    names, positions = list(seed.name), seed.position
    if not names and not len(positions):
        return rest
    if len(names) != len(positions):
        raise _bad_seed(f"the seed has {len(names)} names and {len(positions)} positions")
    missing = [name for name in JOINT_NAMES if name not in names]
    if missing:
        raise _bad_seed(f"the seed lacks {', '.join(missing)}")
    twice = [name for name in JOINT_NAMES if names.count(name) > 1]
    if twice:
        raise _bad_seed(f"the seed names {', '.join(twice)} more than once")
    return np.array([positions[names.index(name)] for name in JOINT_NAMES])


def joint_state(joints: np.ndarray, stamp: Time) -> JointState:
    """Return joints (6,) [rad] as a message."""
    message = JointState(name=list(JOINT_NAMES), position=joints.tolist())
    message.header.stamp = stamp
    return message


def _check_finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise BadRequest(
            SolveIK.Response.INVALID_GOAL_CONSTRAINTS, f"the target's {name} is {value}: it must be finite"
        )


def _bad_seed(message: str) -> BadRequest:
    return BadRequest(SolveIK.Response.INVALID_ROBOT_STATE, message)
