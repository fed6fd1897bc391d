"""The description of the cell: what `config/scene.yaml` holds, checked.

Metres, kilograms, degrees and base_link coordinates; colours are RGB in [0, 1].
"""

from __future__ import annotations

import dataclasses
import math
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

Vector2 = tuple[float, float]
Vector3 = tuple[float, float, float]
Vector6 = tuple[float, float, float, float, float, float]

_POSITIVE = {"exclusive_minimum": 0.0}
_NOT_NEGATIVE = {"minimum": 0.0}
_COLOR = {"minimum": 0.0, "maximum": 1.0}
_FOV = {"minimum": 1.0, "maximum": 170.0}
_PIXELS = {"minimum": 16, "maximum": 4096}


class SceneError(ValueError):
    """A scene that cannot be built; the message is one line that names the key."""


@dataclass(frozen=True)
class Table:
    """A table top; `top` is its height in base_link, `height` that above the floor."""

    center: Vector2
    size: Vector2 = dataclasses.field(metadata=_POSITIVE)
    top: float
    thickness: float = dataclasses.field(metadata=_POSITIVE)
    height: float = dataclasses.field(metadata=_POSITIVE)
    color: Vector3 = dataclasses.field(metadata=_COLOR)


@dataclass(frozen=True)
class Tray:
    """A sheet with its surface at z = 0 and a rim around it; `size` is the surface inside the rim."""

    center: Vector2
    size: Vector2 = dataclasses.field(metadata=_POSITIVE)
    rim_height: float = dataclasses.field(metadata=_POSITIVE)
    rim_width: float = dataclasses.field(metadata=_POSITIVE)
    color: Vector3 = dataclasses.field(metadata=_COLOR)


@dataclass(frozen=True)
class Trays:
    """Where the cubes come from and where they go."""

    pick: Tray
    place: Tray


@dataclass(frozen=True)
class Places:
    """A grid of places around the place tray's centre: rows along x, columns along y."""

    rows: int = dataclasses.field(metadata=_POSITIVE)
    columns: int = dataclasses.field(metadata=_POSITIVE)
    spacing: float = dataclasses.field(metadata=_POSITIVE)


@dataclass(frozen=True)
class Cubes:
    """All cubes alike but for the colour; `color` is the one where none is named."""

    edge: float = dataclasses.field(metadata=_POSITIVE)
    mass: float = dataclasses.field(metadata=_POSITIVE)
    friction: float = dataclasses.field(metadata=_POSITIVE)
    max_count: int = dataclasses.field(metadata=_POSITIVE)
    color: str
    colors: dict[str, Vector3] = dataclasses.field(metadata=_COLOR)


@dataclass(frozen=True)
class RandomCubes:
    """Rules of the random poses: uniform over the pick tray, any yaw."""

    edge_margin: float = dataclasses.field(metadata=_NOT_NEGATIVE)
    min_distance: float = dataclasses.field(metadata=_POSITIVE)


@dataclass(frozen=True)
class OverheadCamera:
    """Looks straight down; image up is +x, image right is -y."""

    position: Vector3
    width: int = dataclasses.field(metadata=_PIXELS)
    height: int = dataclasses.field(metadata=_PIXELS)
    horizontal_fov: float = dataclasses.field(metadata=_FOV)


@dataclass(frozen=True)
class OverviewCamera:
    """Looks at `target`, the picture upright."""

    position: Vector3
    target: Vector3
    width: int = dataclasses.field(metadata=_PIXELS)
    height: int = dataclasses.field(metadata=_PIXELS)
    horizontal_fov: float = dataclasses.field(metadata=_FOV)


@dataclass(frozen=True)
class Mast:
    """What holds the overhead camera."""

    position: Vector2
    width: float = dataclasses.field(metadata=_POSITIVE)
    color: Vector3 = dataclasses.field(metadata=_COLOR)


@dataclass(frozen=True)
class CalibrationBoard:
    """A chessboard; from `origin`, its first inner corner, columns go on in -y and rows in -x."""

    inner_corners: tuple[int, int] = dataclasses.field(metadata={"minimum": 2})
    square: float = dataclasses.field(metadata=_POSITIVE)
    origin: Vector3
    border: float = dataclasses.field(metadata=_NOT_NEGATIVE)

    def corners(self) -> NDArray[np.float64]:
        """Inner corners row by row, (rows * columns, 3) [m] in base_link."""
        columns, rows = self.inner_corners
        row, column = np.divmod(np.arange(rows * columns), columns)
        steps = np.column_stack([-row, -column, np.zeros_like(row)])
        return np.asarray(self.origin) + steps * self.square


@dataclass(frozen=True)
class Light:
    """A light from far away, shining along `direction`."""

    direction: Vector3
    strength: float = dataclasses.field(metadata=_COLOR)


@dataclass(frozen=True)
class Lights:
    """Strengths are shares of full white; `headlight` shines from the camera."""

    ambient: float = dataclasses.field(metadata=_COLOR)
    headlight: float = dataclasses.field(metadata=_COLOR)
    key: Light
    fill: Light


@dataclass(frozen=True)
class Arm:
    """Postures [deg] in the order of the DH, and the deceleration of a stop [deg/s^2]."""

    start_posture: Vector6 = dataclasses.field(metadata={"minimum": -360.0, "maximum": 360.0})
    rest_posture: Vector6 = dataclasses.field(metadata={"minimum": -360.0, "maximum": 360.0})
    max_stop_deceleration: float = dataclasses.field(metadata=_POSITIVE)


@dataclass(frozen=True)
class Gripper:
    """TCP beyond tool0 [m], the closed angle of its joint [rad], the pads' opening [m]."""

    tcp_offset: float = dataclasses.field(metadata=_POSITIVE)
    closed: float = dataclasses.field(metadata=_POSITIVE)
    stroke: float = dataclasses.field(metadata=_POSITIVE)


@dataclass(frozen=True)
class Scene:
    """The whole cell."""

    table: Table
    trays: Trays
    places: Places
    cubes: Cubes
    random_cubes: RandomCubes
    overhead_camera: OverheadCamera
    overview_camera: OverviewCamera
    mast: Mast
    calibration_board: CalibrationBoard
    lights: Lights
    arm: Arm
    gripper: Gripper


@dataclass(frozen=True)
class CubePose:
    """Where a cube lies: its centre's x and y [m] in base_link and its yaw about z [rad]."""

    x: float
    y: float
    yaw: float


def load_scene(path: str | Path) -> Scene:
    """Reads a scene file; raises SceneError, one line that names the file and the key."""
    try:
        with open(path, encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except OSError as error:
        raise SceneError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise SceneError(f"{path} is not YAML: {reason}") from error
    try:
        scene = _parse(content, Scene, "", {})
        _check(scene)
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from None
    return typing.cast(Scene, scene)


def random_cubes(scene: Scene, seed: int, count: int) -> list[CubePose]:
    """Poses of `count` cubes on the pick tray after the scene's rules; the same for the same seed.

    Raises SceneError when so many do not fit.
    """
    if not 0 <= count <= scene.cubes.max_count:
        raise SceneError(f"{count} cubes were asked for, 0 to {scene.cubes.max_count} are possible")
    rules, tray = scene.random_cubes, scene.trays.pick
    center = np.asarray(tray.center)
    reach = np.asarray(tray.size) / 2 - rules.edge_margin
    random = np.random.default_rng(seed)
    for _ in range(1000):
        # One cube after the other; a crowded tray may leave no room for the last, then all start again.
        chosen: list[NDArray[np.float64]] = []
        for _ in range(200):
            if len(chosen) == count:
                break
            candidate = center + random.uniform(-reach, reach)
            if all(np.hypot(*(candidate - other)) >= rules.min_distance for other in chosen):
                chosen.append(candidate)
        if len(chosen) == count:
            yaws = random.uniform(-math.pi, math.pi, count)
            return [CubePose(float(x), float(y), float(yaw)) for (x, y), yaw in zip(chosen, yaws, strict=True)]
    raise SceneError(f"{count} cubes with {rules.min_distance} m between them do not fit on the pick tray")


def _parse(value: Any, kind: Any, key: str, limits: typing.Mapping[str, Any]) -> Any:
    """`value` as `kind`: a dataclass, a tuple, a dict, int, float or str."""
    if dataclasses.is_dataclass(kind):
        return _parse_dataclass(value, kind, key)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if not isinstance(value, list) or len(value) != len(arguments):
            raise SceneError(f"{key} must be a list of {len(arguments)} numbers, not {value!r}")
        return tuple(
            _parse(item, argument, f"{key}[{index}]", limits)
            for index, (item, argument) in enumerate(zip(value, arguments, strict=True))
        )
    if origin is dict:
        if not isinstance(value, dict) or not value:
            raise SceneError(f"{key} must map names to values, not be {value!r}")
        return {str(name): _parse(item, arguments[1], f"{key}.{name}", limits) for name, item in value.items()}
    if kind is str:
        if not isinstance(value, str):
            raise SceneError(f"{key} must be a text, not {value!r}")
        return value
    return _parse_number(value, kind, key, limits)


def _parse_dataclass(value: Any, kind: Any, key: str) -> Any:
    name = key or "the scene"
    if not isinstance(value, dict):
        raise SceneError(f"{name} must be a mapping, not {value!r}")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    unknown = [str(entry) for entry in value if entry not in fields]
    missing = [entry for entry in fields if entry not in value]
    if unknown:
        raise SceneError(f"{name} has no key {unknown[0]!r}; its keys are {', '.join(fields)}")
    if missing:
        raise SceneError(f"{name} lacks the key {missing[0]!r}")
    types = typing.get_type_hints(kind)
    prefix = f"{key}." if key else ""
    return kind(
        **{entry: _parse(value[entry], types[entry], prefix + entry, field.metadata) for entry, field in fields.items()}
    )


def _parse_number(value: Any, kind: type, key: str, limits: typing.Mapping[str, Any]) -> int | float:
    wanted = "a whole number" if kind is int else "a number"
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
        raise SceneError(f"{key} must be {wanted}, not {value!r}")
    if not math.isfinite(value):
        raise SceneError(f"{key} must be finite, not {value!r}")
    if "exclusive_minimum" in limits and not value > limits["exclusive_minimum"]:
        raise SceneError(f"{key} must be above {limits['exclusive_minimum']:g}, not {value!r}")
    if "minimum" in limits and value < limits["minimum"]:
        raise SceneError(f"{key} must be at least {limits['minimum']:g}, not {value!r}")
    if "maximum" in limits and value > limits["maximum"]:
        raise SceneError(f"{key} must be at most {limits['maximum']:g}, not {value!r}")
    return int(value) if kind is int else float(value)


def _check(scene: Scene) -> None:
    """What no single key can tell."""
    cubes = scene.cubes
    if cubes.color not in cubes.colors:
        raise SceneError(f"cubes.color {cubes.color!r} is none of cubes.colors: {', '.join(cubes.colors)}")
    if cubes.edge >= scene.gripper.stroke:
        raise SceneError(f"cubes.edge {cubes.edge} does not fit the gripper's stroke {scene.gripper.stroke}")
    if scene.table.top > 0 or scene.table.top < -0.05:
        raise SceneError(f"table.top must be in [-0.05, 0], not {scene.table.top}")
    pick = scene.trays.pick
    if 2 * scene.random_cubes.edge_margin >= min(pick.size):
        raise SceneError("random_cubes.edge_margin leaves nothing of the pick tray")
    if cubes.edge / math.sqrt(2) > scene.random_cubes.min_distance / 2:
        raise SceneError(
            f"random_cubes.min_distance must be at least {cubes.edge * math.sqrt(2):.3f}: cubes would overlap"
        )
