"""The Webots world of the cell, made from the scene description. World frame: base_link; metres, radians.

`ros2 run ur5e_nik_bringup webots_world --help` writes one with other cubes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ur5e_nik_bringup.scene_file import load_scene

Array = NDArray[np.float64]

RELEASE = "R2025a"
URL = f"https://raw.githubusercontent.com/cyberbotics/webots/{RELEASE}/projects"
PROTOS = (
    f"{URL}/robots/universal_robots/protos/UR5e.proto",
    f"{URL}/devices/robotiq/protos/Robotiq3fGripper.proto",
)
TIME_STEP = 8  # [ms]; a controller's period must be a multiple of it
ARM = "UR5e"
OVERHEAD_CAMERA = "overhead_camera"
CAMERA_DEVICE = "camera"
GRIPPER_MOUNT = 0.04  # from tool0 to the palm's frame, along the tool's axis
LEG = 0.06  # of the table
LIGHT = math.pi  # intensity of a light that makes a white surface that faces it white
# Soft enough to be stable, hard enough that the fingers stop on a cube instead of sinking into it.
CUBE_SOFT_CFM = 3e-5


class WorldError(ValueError):
    """A world that cannot be made; the message is one line."""


def world(scene: Mapping[str, Any], seed: int, cubes: int, colours: Sequence[str] = ()) -> str:
    """The text of a .wbt file with ``cubes`` cubes at the poses that ``seed`` stands for.

    colours: of the cubes in turn; empty: all have the scene's. Raises WorldError when so many do not fit.
    """
    turns = itertools.cycle(colours or [scene["cubes"]["color"]])
    table, mast, camera = scene["table"], scene["mast"], scene["overhead_camera"]
    floor = table["top"] - table["height"]
    parts = [
        _world_info(scene),
        _viewpoint(scene["overview_camera"]),
        # Without a picture in the background its colour is the ambient light: white, so that red stays red.
        _node("Background", skyColor=[(0.75, 0.75, 0.75)]),
        *(_light(scene["lights"][name]) for name in ("key", "fill")),
        _floor(floor),
        *_table(table, mast["color"], floor),
        *_mast(mast, camera, table["top"]),
        *(_tray(name, tray, table["top"]) for name, tray in scene["trays"].items()),
        *(
            _cube(f"cube_{index}", pose, scene["cubes"], next(turns))
            for index, pose in enumerate(cube_poses(scene, seed, cubes))
        ),
        _arm(),
        _overhead_camera(camera),
    ]
    head = [
        f"#VRML_SIM {RELEASE} utf8",
        "# Made from the scene description by: ros2 run ur5e_nik_bringup webots_world",
        "",
    ]
    return "\n".join([*head, *(f'EXTERNPROTO "{proto}"' for proto in PROTOS), "", *parts, ""])


def cube_poses(scene: Mapping[str, Any], seed: int, count: int) -> list[tuple[float, float, float]]:
    """x, y and yaw of each cube on the pick tray: the same as the embedded simulation has for this seed."""
    most = scene["cubes"]["max_count"]
    if not 0 <= count <= most:
        raise WorldError(f"{count} cubes were asked for, 0 to {most} are possible")
    rules, tray = scene["random_cubes"], scene["trays"]["pick"]
    center = np.asarray(tray["center"])
    reach = np.asarray(tray["size"]) / 2 - rules["edge_margin"]
    random = np.random.default_rng(seed)
    for _ in range(1000):
        chosen: list[Array] = []
        for _ in range(200):
            if len(chosen) == count:
                break
            candidate = center + random.uniform(-reach, reach)
            if all(np.hypot(*(candidate - other)) >= rules["min_distance"] for other in chosen):
                chosen.append(candidate)
        if len(chosen) == count:
            yaws = random.uniform(-math.pi, math.pi, count)
            return [(float(x), float(y), float(yaw)) for (x, y), yaw in zip(chosen, yaws, strict=True)]
    raise WorldError(f"{count} cubes with {rules['min_distance']} m between them do not fit on the pick tray")


# The parts of the world


def _world_info(scene: Mapping[str, Any]) -> str:
    contact = _node(
        "ContactProperties",
        material1="cube",
        coulombFriction=[(scene["cubes"]["friction"],)],
        bounce=0.0,
        softCFM=CUBE_SOFT_CFM,
    )
    return _node(
        "WorldInfo",
        title="Pick and place with a UR5e",
        info=["Made from the scene description; change that one and make the world again."],
        basicTimeStep=TIME_STEP,
        contactProperties=[_Raw(contact)],
    )


def _viewpoint(view: Mapping[str, Any]) -> str:
    forward = np.subtract(view["target"], view["position"])
    forward = forward / np.linalg.norm(forward)
    left = np.cross([0.0, 0.0, 1.0], forward)
    left = left / np.linalg.norm(left)
    rotation = np.column_stack([forward, left, np.cross(forward, left)])
    return _node(
        "Viewpoint",
        fieldOfView=math.radians(view["horizontal_fov"]),
        orientation=axis_angle(rotation),
        position=view["position"],
    )


def _light(light: Mapping[str, Any]) -> str:
    return _node("DirectionalLight", direction=light["direction"], intensity=LIGHT * light["strength"])


def _floor(z: float) -> str:
    shape = _shape((0.52, 0.56, 0.60), _node("Plane", size=(6.0, 6.0)))
    return _solid("floor", (0.0, 0.0, z), [shape], _node("Plane", size=(6.0, 6.0)))


def _table(table: Mapping[str, Any], leg_color: Sequence[float], floor: float) -> list[str]:
    (x, y), (length, width) = table["center"], table["size"]
    top, under = table["top"], table["top"] - table["thickness"]
    parts = [_box("table", (x, y, (top + under) / 2), (length, width, table["thickness"]), table["color"])]
    for index, (side_x, side_y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        corner = (x + side_x * (length - 2 * LEG) / 2, y + side_y * (width - 2 * LEG) / 2, (under + floor) / 2)
        parts.append(_box(f"table_leg_{index}", corner, (LEG, LEG, under - floor), leg_color))
    return parts


def _mast(mast: Mapping[str, Any], camera: Mapping[str, Any], foot: float) -> list[str]:
    """The camera hangs below the boom, out of its own sight."""
    (x, y), width, color = mast["position"], mast["width"], mast["color"]
    boom = camera["position"][2] + 0.08
    way = x - camera["position"][0]
    return [
        _box("mast", (x, y, (foot + boom) / 2), (width, width, boom - foot), color),
        _box("boom", (x - way / 2, camera["position"][1], boom), (abs(way) + width, width, width), color),
    ]


def _tray(name: str, tray: Mapping[str, Any], table_top: float) -> str:
    """A sheet from the table's top to z = 0 and four rims around it, as one solid."""
    (x, y), (length, width) = tray["center"], tray["size"]
    rim, height = tray["rim_width"], tray["rim_height"] - table_top
    z = (tray["rim_height"] + table_top) / 2
    rim_color = [0.55 * value for value in tray["color"]]
    boxes = [((0.0, 0.0, table_top / 2), (length + 2 * rim, width + 2 * rim, -table_top), tray["color"])]
    for side in (-1, 1):
        boxes.append(((side * (length + rim) / 2, 0.0, z), (rim, width + 2 * rim, height), rim_color))
        boxes.append(((0.0, side * (width + rim) / 2, z), (length, rim, height), rim_color))
    shapes = [
        _node("Pose", translation=at, children=[_Raw(_shape(color, _node("Box", size=size)))])
        for at, size, color in boxes
    ]
    bounds = [_Raw(_node("Pose", translation=at, children=[_Raw(_node("Box", size=size))])) for at, size, _ in boxes]
    return _solid(f"{name}_tray", (x, y, 0.0), shapes, _node("Group", children=bounds))


def _cube(name: str, pose: tuple[float, float, float], cubes: Mapping[str, Any], colour: str) -> str:
    x, y, yaw = pose
    box = _node("Box", size=(cubes["edge"],) * 3)
    return _node(
        "Solid",
        translation=(x, y, cubes["edge"] / 2),
        rotation=(0.0, 0.0, 1.0, yaw),
        children=[_Raw(_shape(cubes["colors"][colour], box))],
        name=name,
        contactMaterial="cube",
        boundingObject=_Raw(box),
        physics=_Raw(_node("Physics", density=-1.0, mass=cubes["mass"])),
    )


def _arm() -> str:
    # The PROTO's robot frame is base_link; the slot's +y is the tool's axis, as the gripper's own.
    gripper = _node("Robotiq3fGripper", translation=(0.0, GRIPPER_MOUNT, 0.0))
    return _node("UR5e", name=ARM, controller="<extern>", toolSlot=[_Raw(gripper)])


def _overhead_camera(camera: Mapping[str, Any]) -> str:
    device = _node(
        "Camera",
        name=CAMERA_DEVICE,
        fieldOfView=math.radians(camera["horizontal_fov"]),
        width=camera["width"],
        height=camera["height"],
        antiAliasing=True,
    )
    # A Webots camera looks along its +x; turned down like this its picture's up is +x and its right -y.
    return _node(
        "Robot",
        translation=camera["position"],
        rotation=(0.0, 1.0, 0.0, math.pi / 2),
        children=[_Raw(device)],
        name=OVERHEAD_CAMERA,
        controller="<extern>",
    )


def _box(name: str, at: Sequence[float], size: Sequence[float], color: Sequence[float]) -> str:
    box = _node("Box", size=size)
    return _solid(name, at, [_shape(color, box)], box)


def _solid(name: str, at: Sequence[float], shapes: list[str], bounds: str) -> str:
    return _node(
        "Solid", translation=at, children=[_Raw(shape) for shape in shapes], name=name, boundingObject=_Raw(bounds)
    )


def _shape(color: Sequence[float], geometry: str) -> str:
    appearance = _node("PBRAppearance", baseColor=color, roughness=1.0, metalness=0.0)
    return _node("Shape", appearance=_Raw(appearance), geometry=_Raw(geometry))


# VRML


class _Raw(str):
    """The text of a node."""


def _node(kind: str, **fields: Any) -> str:
    lines = [f"  {name} {_value(value)}" for name, value in fields.items()]
    return "\n".join([f"{kind} {{", *lines, "}"])


def _value(value: Any) -> str:
    if isinstance(value, _Raw):
        return _indented(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return f"{value:.12g}"
    if isinstance(value, list) and any(isinstance(item, (str, tuple)) for item in value):
        items = [item if isinstance(item, _Raw) else _value(item) for item in value]
        return "\n".join(["[", *(f"    {_indented(item, 2)}" for item in items), "  ]"])
    return " ".join(_value(float(item)) for item in value)


def _indented(text: str, levels: int = 1) -> str:
    return text.replace("\n", "\n" + "  " * levels)


def axis_angle(rotation: Array) -> tuple[float, float, float, float]:
    """Axis and angle [rad] of a rotation matrix (3, 3) by less than half a turn."""
    angle = math.acos(np.clip((np.trace(rotation) - 1) / 2, -1.0, 1.0))
    axis = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    x, y, z = axis / np.linalg.norm(axis)
    return float(x), float(y), float(z), angle


def main() -> int:
    """Write a world; 1 with one line when that cannot be done."""
    parser = argparse.ArgumentParser(
        prog="webots_world", description="Make the Webots world from the scene description."
    )
    parser.add_argument("--scene", type=Path, help="scene description (default: the installed one)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the cubes' random poses")
    parser.add_argument("--cubes", type=int, default=3, help="number of cubes on the pick tray")
    parser.add_argument("--output", type=Path, required=True, help="the .wbt file to write")
    arguments = parser.parse_args()
    try:
        arguments.output.write_text(world(load_scene(arguments.scene), arguments.seed, arguments.cubes))
    except (OSError, ValueError) as error:
        print(f"webots_world: {error}", file=sys.stderr)
        return 1
    print(f"wrote {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
