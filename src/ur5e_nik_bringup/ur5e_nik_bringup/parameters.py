"""The settings as ROS parameters: declared with descriptions and ranges, checked at start and when set."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from ur5e_nik_bringup.settings import Settings


def declare(node: Node) -> None:
    """Declare every setting on ``node``. Raises ValueError with one plain line when a given value is bad."""
    for item in fields(Settings):
        default = getattr(Settings(), item.name)
        try:
            node.declare_parameter(item.name, default, _descriptor(item.metadata, default))
        except (InvalidParameterTypeException, InvalidParameterValueException) as refused:
            raise ValueError(f"parameter {item.name}: {refused}") from None
    problem = read(node).problem()
    if problem:
        raise ValueError(f"parameter {problem}")
    node.add_on_set_parameters_callback(lambda changes: _checked(node, changes))


def read(node: Node) -> Settings:
    """The settings as they are set now."""
    return Settings(**{item.name: _plain(node.get_parameter(item.name).value) for item in fields(Settings)})


def _checked(node: Node, changes: list[Parameter]) -> SetParametersResult:
    ours = asdict(read(node))
    changed = {p.name: _plain(p.value) for p in changes if p.name in ours}
    problem = replace(read(node), **changed).problem() if changed else ""
    return SetParametersResult(successful=not problem, reason=problem)


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    return value if isinstance(value, (str, int, float)) else list(value)


def _descriptor(how: Any, default: Any) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=how["description"], read_only=how["fixed"])
    if isinstance(default, int):
        descriptor.integer_range = [IntegerRange(from_value=int(how["low"]), to_value=int(how["high"]), step=0)]
    elif isinstance(default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=how["low"], to_value=how["high"], step=0.0)]
    return descriptor
