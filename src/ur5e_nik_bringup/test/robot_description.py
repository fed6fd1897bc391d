"""The expanded robot description of Webots, and the frames in it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import xacro

FOLDER = Path(__file__).resolve().parents[1] / "urdf"


def expanded():
    """The root of the description, as robot_state_publisher and the driver get it."""
    return ElementTree.fromstring(xacro.process_file(str(FOLDER / "webots.urdf.xacro")).toxml())


def numbers(text):
    return np.array([float(word) for word in text.split()])


def rpy(angles):
    """Rotation of a URDF origin (3, 3)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return z @ y @ x


def turn(axis, angle):
    """Rotation (3, 3) about a unit axis."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def pose(robot, link, joints, base="base_link"):
    """Pose (4, 4) of a link in another for joint values by name; those not given are zero."""
    by_child = {joint.find("child").get("link"): joint for joint in robot.findall("joint")}
    total = np.eye(4)
    while link != base:
        joint = by_child[link]
        origin, step = joint.find("origin"), np.eye(4)
        step[:3, :3] = rpy(numbers(origin.get("rpy", "0 0 0")))
        step[:3, 3] = numbers(origin.get("xyz", "0 0 0"))
        if joint.get("type") != "fixed":
            step[:3, :3] = step[:3, :3] @ turn(
                numbers(joint.find("axis").get("xyz")), joints.get(joint.get("name"), 0.0)
            )
        total = step @ total
        link = joint.find("parent").get("link")
    return total
