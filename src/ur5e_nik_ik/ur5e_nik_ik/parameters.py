"""The node's parameters: their defaults, what they mean, what they may be, and the solver they make."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.node import Node

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.joints import JOINT_LIMITS, REST_POSTURE
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.posture import ELBOWS, SHOULDERS, WRISTS, Posture
from ur5e_nik_ik.solver import Solver

# Low enough to mean "no matter": the arm cannot reach down there.
_NO_TABLE = -10.0

_TOLERANCE = (1e-9, 1e-2)

# name: (default, description, range if it is a number, read-only)
PARAMETERS: dict[str, tuple[Any, str, tuple[float, float] | None, bool]] = {
    "dh": ("ur5e", "the arm: a DH set (ur5e, ur5e_webots) or the path of a .yaml file", None, True),
    "networks": (
        ["tool-down", "any-pose"],
        "networks, the first that covers a target is asked: names of the package's own, or paths of .npz files",
        None,
        True,
    ),
    "position_tolerance": (1e-6, "greatest position error of a success [m]", _TOLERANCE, False),
    "orientation_tolerance": (1e-6, "greatest orientation error of a success [rad]", _TOLERANCE, False),
    "lowest_height": (
        _NO_TABLE,
        "no joint centre and no tool0 may be below this height in base_link [m]; -10: no matter",
        (_NO_TABLE, 2.0),
        False,
    ),
    "prefer_shoulder": ("any", f"shoulder to prefer where it exists: {', '.join(SHOULDERS)}", None, False),
    "prefer_elbow": ("any", f"elbow to prefer where it exists: {', '.join(ELBOWS)}", None, False),
    "prefer_wrist": ("any", f"sign of wrist_2_joint to prefer where it exists: {', '.join(WRISTS)}", None, False),
    "rest_posture": (
        REST_POSTURE.tolist(),
        "the seed of requests without one: six joints in DH order [rad]",
        None,
        False,
    ),
    "lower_limits": ((-JOINT_LIMITS).tolist(), "lowest joints in DH order [rad]", None, False),
    "upper_limits": (JOINT_LIMITS.tolist(), "highest joints in DH order [rad]", None, False),
}


class ParameterError(ValueError):
    """A parameter that cannot be; the message names it and what would be right."""


def declare(node: Node) -> dict[str, Any]:
    """Declare all parameters and return their values.

    Raises:
        ParameterError: a value of the wrong type or out of its range.
    """
    values = {}
    for name, (default, description, limits, read_only) in PARAMETERS.items():
        descriptor = ParameterDescriptor(description=description, read_only=read_only)
        if limits:
            descriptor.floating_point_range = [FloatingPointRange(from_value=limits[0], to_value=limits[1])]
        try:
            values[name] = node.declare_parameter(name, default, descriptor).value
        except ParameterException as error:
            bounds = f", from {limits[0]:g} to {limits[1]:g}" if limits else ""
            raise ParameterError(f"parameter {name} ({description}{bounds}): {error}") from error
    return values


def make_solver(values: Mapping[str, Any], dh: DhParameters, networks: Sequence[Network]) -> Solver:
    """Return the solver of these parameter values.

    Raises:
        ParameterError: values that cannot be.
    """
    rest_posture(values)
    lower, upper = joint_vector(values, "lower_limits"), joint_vector(values, "upper_limits")
    lowest = values["lowest_height"]
    try:
        return Solver(
            dh,
            networks,
            position_tolerance=values["position_tolerance"],
            orientation_tolerance=values["orientation_tolerance"],
            limits=np.stack([lower, upper]),
            lowest=None if lowest <= _NO_TABLE else lowest,
            posture=Posture(*(values[f"prefer_{name}"] for name in ("shoulder", "elbow", "wrist"))),
        )
    except ValueError as error:
        raise ParameterError(str(error)) from error


def rest_posture(values: Mapping[str, Any]) -> np.ndarray:
    """Return the rest posture (6,) [rad]; raises ParameterError."""
    posture = joint_vector(values, "rest_posture")
    if (np.abs(posture) > JOINT_LIMITS).any():
        raise ParameterError("rest_posture must lie inside +-2 pi, its elbow inside +-pi: radians, not degrees")
    return posture


def joint_vector(values: Mapping[str, Any], name: str) -> np.ndarray:
    """Return six finite numbers (6,); raises ParameterError."""
    vector = np.array(values[name], dtype=float)
    if vector.shape != (6,) or not np.isfinite(vector).all():
        raise ParameterError(f"{name} must be six numbers, one a joint in DH order [rad]")
    return vector
