"""The vision node's parameters: what each means, what is allowed, and the settings they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from .calibration import Calibration
from .colour import COLOURS, HUE_MAX, LEVEL_MAX, ColourRange
from .detection import DetectorSettings, Region
from .errors import VisionError

DEFAULTS = DetectorSettings()
REGION_LIMIT = 10.0
LIMITS = ("hue_low", "hue_high", "saturation_min", "value_min")


@dataclass(frozen=True)
class Settings:
    """All that the node's parameters say, checked."""

    colours: dict[str, ColourRange]
    detector: DetectorSettings
    calibration: Calibration
    status_rate: float

    @property
    def names(self) -> str:
        """Of the colours, for a person."""
        return " or ".join(self.colours)


def declare(node: Node) -> None:
    """Declare every parameter. Raises rclpy's exceptions for a start value of wrong type or range."""
    node.declare_parameter("calibration_file", "", _text("Calibration of the camera; empty: the embedded camera's."))
    node.declare_parameter(
        "colour", "red", _text(f"Colours of the cubes to find, with commas between them: {', '.join(COLOURS)}.")
    )
    for name, colour in COLOURS.items():
        _integer(node, f"{name}.hue_low", colour.hue_low, HUE_MAX, "Lowest hue [2 deg]")
        _integer(
            node,
            f"{name}.hue_high",
            colour.hue_high,
            HUE_MAX,
            "Highest hue [2 deg]; below hue_low: the range wraps around through 0",
        )
        _integer(node, f"{name}.saturation_min", colour.saturation_min, LEVEL_MAX, "Lowest saturation")
        _integer(node, f"{name}.value_min", colour.value_min, LEVEL_MAX, "Lowest value (brightness)")
    _float(
        node,
        "cube_height",
        DEFAULTS.cube_height,
        (0.0, 0.5),
        "Height of the cubes [m]; their centre is half of it above surface_z",
    )
    _float(
        node,
        "cube_width",
        DEFAULTS.cube_width,
        (0.0, 0.5),
        "Expected edge of the cubes' footprint [m]; 0: as cube_height",
    )
    _float(
        node,
        "size_tolerance",
        DEFAULTS.size_tolerance,
        (0.01, 10.0),
        "How far a footprint may be from the expected width, as a share of it",
    )
    _float(
        node,
        "surface_z",
        DEFAULTS.surface_z,
        (-5.0, 5.0),
        "Height of the surface on which the cubes stand [m], in the calibration's frame",
    )
    _float(node, "min_area", DEFAULTS.min_area, (9.0, 1e7), "Smallest silhouette [pixels]")
    node.declare_parameter(
        "region",
        list(DEFAULTS.region),
        _text(
            "Where cubes are looked for: x_min, x_max, y_min, y_max [m] of their centres, each "
            f"within +-{REGION_LIMIT:.0f}; default: the pick tray."
        ),
    )
    node.declare_parameter(
        "watch_region",
        list(DEFAULTS.watch_region),
        _text(
            "Where cubes are measured that are not to be picked: x_min, x_max, y_min, y_max [m], each within "
            f"+-{REGION_LIMIT:.0f}; default: the place tray; four zeros: nowhere."
        ),
    )
    _float(node, "status_rate", 2.0, (0.1, 50.0), "Messages on vision_status per second")


def read(values: Mapping[str, Any]) -> Settings:
    """Settings from parameter values by name. Raises VisionError naming the wrong parameter."""
    names = [name.strip() for name in values["colour"].split(",")]
    for name in names:
        if name not in COLOURS:
            raise VisionError(f"colour is '{name}'; known colours: {', '.join(COLOURS)}")
    region, watch_region = (_region(name, values[name]) for name in ("region", "watch_region"))
    numbers = {}
    for key in ("cube_height", "cube_width", "size_tolerance", "surface_z", "min_area"):
        numbers[key] = values[key]
        if not math.isfinite(numbers[key]):
            raise VisionError(f"{key} is {numbers[key]}; it must be finite")
    if not math.isfinite(values["status_rate"]):
        raise VisionError(f"status_rate is {values['status_rate']}; it must be finite")
    calibration = Calibration.load(_calibration_path(values["calibration_file"]))
    camera_z = calibration.camera.position[2]
    if numbers["surface_z"] + numbers["cube_height"] >= 0.95 * camera_z:
        raise VisionError(f"surface_z + cube_height must stay well below the camera, which is at {camera_z:.3f} m")
    return Settings(
        colours={name: ColourRange(*(values[f"{name}.{limit}"] for limit in LIMITS)) for name in dict.fromkeys(names)},
        detector=DetectorSettings(region=region, watch_region=watch_region, **numbers),
        calibration=calibration,
        status_rate=values["status_rate"],
    )


def _region(name: str, values: Sequence[float]) -> Region:
    if len(values) != 4:
        raise VisionError(f"{name} has {len(values)} numbers; it is x_min, x_max, y_min, y_max")
    if not all(math.isfinite(limit) and abs(limit) <= REGION_LIMIT for limit in values):
        raise VisionError(f"{name} {list(values)} must lie within +-{REGION_LIMIT:.0f} m")
    x_min, x_max, y_min, y_max = values
    return x_min, x_max, y_min, y_max


def _calibration_path(parameter: str) -> Path:
    if parameter:
        return Path(parameter).expanduser()
    share = Path(get_package_share_directory("ur5e_nik_vision"))
    return share / "config" / "overhead_camera.yaml"


def _text(description: str) -> ParameterDescriptor:
    return ParameterDescriptor(description=description)


def _integer(node: Node, name: str, default: int, highest: int, description: str) -> None:
    limits = [IntegerRange(from_value=0, to_value=highest, step=1)]
    node.declare_parameter(
        name,
        default,
        ParameterDescriptor(description=f"{description}, 0 to {highest}.", integer_range=limits),
    )


def _float(node: Node, name: str, default: float, limits: tuple[float, float], description: str) -> None:
    low, high = limits
    node.declare_parameter(
        name,
        default,
        ParameterDescriptor(
            description=f"{description}, {low:g} to {high:g}.",
            floating_point_range=[FloatingPointRange(from_value=low, to_value=high, step=0.0)],
        ),
    )
