"""The parameters of the node `sim`: what they mean and what they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter


class ParameterError(ValueError):
    """A parameter's value is refused; the message is one line that names it."""


@dataclass(frozen=True)
class _Entry:
    name: str
    default: bool | int | float | str
    description: str
    low: float = 0.0
    high: float = 0.0
    fixed: bool = False  # read at the start only


_ENTRIES = (
    _Entry("scene", "", "Scene file; empty: the scene of this package.", fixed=True),
    _Entry("seed", 0, "Seed of the cubes' first poses.", 0, 2**32 - 1, fixed=True),
    _Entry("cubes", 3, "Number of cubes at the start; sim/reset changes it.", 0, 8, fixed=True),
    _Entry("colours", "red", "Colours that the cubes have in turn, with commas between them.", fixed=True),
    _Entry("gui", False, "Open MuJoCo's viewer; needs a display.", fixed=True),
    _Entry("speed", 1.0, "Simulated seconds per second; 0: as fast as it can.", 0.0, 100.0),
    _Entry("clock_rate", 100.0, "Of /clock [Hz, simulated time].", 1.0, 500.0),
    _Entry("joint_state_rate", 50.0, "Of the joint states [Hz, simulated time].", 1.0, 500.0),
    _Entry("camera_rate", 10.0, "Of camera/image_color [Hz, simulated time].", 0.1, 60.0),
    _Entry("overview_rate", 10.0, "Of overview/image_color [Hz, simulated time].", 0.1, 60.0),
    _Entry("feedback_rate", 10.0, "Of a goal's feedback [Hz, simulated time].", 0.1, 100.0),
    _Entry(
        "render_share",
        0.5,
        "Largest share of wall time spent on rendering; frames are left out to keep it.",
        0.05,
        1.0,
    ),
    _Entry(
        "largest_frame_gap",
        0.4,
        "Simulated seconds between two frames that are never exceeded: the simulation waits for the picture [s].",
        0.02,
        60.0,
    ),
    _Entry("diagnostics_rate", 1.0, "Of diagnostics [Hz, wall time].", 0.1, 10.0),
)


def declare_parameters(node: Node) -> None:
    """Declares them all and watches later changes; raises ParameterError for a bad start value."""
    for entry in _ENTRIES:
        try:
            node.declare_parameter(entry.name, entry.default, _descriptor(entry))
        except ParameterException as error:
            raise ParameterError(f"parameter {entry.name}: {error}") from error
        reason = _objection([node.get_parameter(entry.name)])
        if reason:
            raise ParameterError(reason)

    def check(parameters: Sequence[Parameter]) -> SetParametersResult:
        reason = _objection(parameters)
        return SetParametersResult(successful=not reason, reason=reason)

    node.add_on_set_parameters_callback(check)


def _descriptor(entry: _Entry) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=entry.description, read_only=entry.fixed)
    if isinstance(entry.default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=entry.low, to_value=entry.high)]
    elif isinstance(entry.default, int) and not isinstance(entry.default, bool):
        descriptor.integer_range = [IntegerRange(from_value=int(entry.low), to_value=int(entry.high), step=1)]
    return descriptor


def _objection(parameters: Sequence[Parameter]) -> str:
    """What the ranges of ROS let through."""
    for parameter in parameters:
        if isinstance(parameter.value, float) and not math.isfinite(parameter.value):
            return f"parameter {parameter.name} must be finite, not {parameter.value}"
    return ""
