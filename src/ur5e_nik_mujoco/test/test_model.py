"""The model against what the cell is said to be, computed here from the numbers alone."""

import mujoco
import numpy as np
import pytest

from ur5e_nik_mujoco.cameras import Cameras
from ur5e_nik_mujoco.model import OVERHEAD, TOOL0
from ur5e_nik_mujoco.simulation import ARM_JOINTS, JOINTS, Simulation

# Standard DH of the UR5e [m, rad].
D = (0.1625, 0, 0, 0.1333, 0.0997, 0.0996)
A = (0, -0.425, -0.3922, 0, 0, 0)
ALPHA = (np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2, 0)


def forward(joints):
    """Tool0 in base_link, 4 x 4."""
    pose = np.diag([-1.0, -1.0, 1.0, 1.0])  # base_link to the DH base
    for q, d, a, alpha in zip(joints, D, A, ALPHA, strict=True):
        cq, sq, ca, sa = np.cos(q), np.sin(q), np.cos(alpha), np.sin(alpha)
        pose = pose @ [
            [cq, -sq * ca, sq * sa, a * cq],
            [sq, cq * ca, -cq * sa, a * sq],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    return pose


def project(camera, points):
    """Pixels (column, row) of points in base_link; the first pixel's centre is 0, 0."""
    focal = camera.width / 2 / np.tan(np.radians(camera.horizontal_fov) / 2)
    offset = np.asarray(points, dtype=float) - camera.position
    depth = -offset[..., 2]
    column = (camera.width - 1) / 2 - focal * offset[..., 1] / depth
    row = (camera.height - 1) / 2 - focal * offset[..., 0] / depth
    return np.stack([column, row], axis=-1)


@pytest.fixture(scope="module")
def simulation(scene):
    return Simulation(scene, 0, 4)


def test_tool0_is_that_of_the_dh(simulation):
    model, data = simulation.model, mujoco.MjData(simulation.model)
    random = np.random.default_rng(0)
    for joints in random.uniform(-np.pi, np.pi, (2000, 6)):
        data.qpos[:6] = joints
        mujoco.mj_kinematics(model, data)
        site = data.site(TOOL0)
        expected = forward(joints)
        assert np.abs(site.xpos - expected[:3, 3]).max() < 1e-6
        assert np.abs(site.xmat.reshape(3, 3) - expected[:3, :3]).max() < 1e-6


def test_pinch_point_is_where_the_scene_says(simulation, scene):
    offset = simulation.data.site("gripper_pinch").xpos - simulation.data.site(TOOL0).xpos
    axis = simulation.data.site(TOOL0).xmat.reshape(3, 3)[:, 2]
    assert np.allclose(offset, scene.gripper.tcp_offset * axis, atol=1e-6)


def test_joint_limits_are_the_arms(simulation):
    lower, upper = simulation.joint_limits
    expected = dict.fromkeys(ARM_JOINTS, 2 * np.pi) | {"elbow_joint": np.pi}
    for joint, low, high in zip(JOINTS, lower, upper, strict=True):
        if joint in expected:
            assert (low, high) == pytest.approx((-expected[joint], expected[joint]))
        else:
            assert (low, high) == pytest.approx((0.0, 0.8))


def test_start_posture_is_tool_down_over_the_middle(simulation):
    position, _ = simulation.tool0()
    assert np.allclose(simulation.data.site(TOOL0).xmat.reshape(3, 3)[:, 2], [0, 0, -1], atol=1e-9)
    assert np.allclose(position, [0.22, 0.0, 0.50], atol=1e-3)


def test_arm_hides_neither_trays_nor_board_from_the_start_posture(scene):
    simulation = Simulation(scene, 0, 0)
    board = scene.calibration_board.corners()
    regions = [
        [np.append(tray.center - reach, 0), np.append(tray.center + reach, 0)]
        for tray in (scene.trays.pick, scene.trays.place)
        for reach in [np.array(tray.size) / 2 + tray.rim_width]
    ]
    margin = [*[scene.calibration_board.square + scene.calibration_board.border] * 2, 0]
    regions.append([board.min(axis=0) - margin, board.max(axis=0) + margin])
    assert not any(hides(simulation, region) for region in regions)

    simulation.data.qpos[:6] = np.radians(scene.arm.rest_posture)
    mujoco.mj_forward(simulation.model, simulation.data)
    assert hides(simulation, regions[1]), "over the place tray the arm must be found"


def hides(simulation, region):
    """Whether a pixel of arm or gripper lies on a rectangle of the table, which is whole."""
    model, camera = simulation.model, simulation.scene.overhead_camera
    low, high = np.sort(project(camera, region), axis=0)
    assert low.min() > 0
    assert np.all(high < [camera.width - 1, camera.height - 1])
    with mujoco.Renderer(model, camera.height, camera.width) as renderer:
        renderer.enable_segmentation_rendering()
        renderer.update_scene(simulation.data, OVERHEAD)
        ids, kinds = np.moveaxis(renderer.render(), -1, 0)
    drawn = kinds == mujoco.mjtObj.mjOBJ_GEOM
    moving = drawn & (model.geom_bodyid[np.where(drawn, ids, 0)] != 0)
    pixels = np.argwhere(moving)[:, ::-1]
    return bool(np.any(np.all((pixels >= low) & (pixels <= high), axis=1)))


def test_camera_is_the_pinhole_within_a_tenth_of_a_pixel(scene):
    simulation = Simulation(scene, 0, 0)
    simulation.reset(0, 0, board=True)
    with Cameras(simulation) as cameras:
        gray = cameras.render(OVERHEAD).astype(float).mean(axis=2)
    expected = project(scene.overhead_camera, scene.calibration_board.corners())
    assert len(expected) == 16 * 9
    found = np.array([corner_near(gray, point + [1.3, -0.9]) for point in expected])
    assert np.abs(found - expected).max() < 0.1


def corner_near(gray, point, reach=6):
    """Where the gradients around a point meet at right angles to the lines from it."""
    gradient_y, gradient_x = np.gradient(gray)
    for _ in range(20):
        column, row = np.round(point).astype(int)
        rows, columns = np.mgrid[row - reach : row + reach + 1, column - reach : column + reach + 1]
        gradient = np.stack([gradient_x[rows, columns], gradient_y[rows, columns]], axis=-1)
        outer = gradient[..., :, None] * gradient[..., None, :]
        place = np.stack([columns, rows], axis=-1)[..., None]
        point = np.linalg.solve(outer.sum(axis=(0, 1)), (outer @ place).sum(axis=(0, 1)))[:, 0]
    return point


def test_cubes_are_drawn_where_they_are(scene):
    simulation = Simulation(scene, 3, 6)
    with Cameras(simulation) as cameras:
        rgb = cameras.render(OVERHEAD).astype(int)
    top = (rgb[..., 0] > 190) & (rgb[..., 1] < 90)  # side faces are darker
    for cube in simulation.cubes():
        expected = project(scene.overhead_camera, np.add(cube.position, [0, 0, 0.0225]))
        rows, columns = np.nonzero(top)
        near = np.hypot(columns - expected[0], rows - expected[1]) < 25
        center = np.array([columns[near].mean(), rows[near].mean()])
        assert np.abs(center - expected).max() < 0.5


def test_only_cubes_are_red(scene):
    simulation = Simulation(scene, 3, 0)
    for name in (OVERHEAD, "overview_camera"):
        with Cameras(simulation) as cameras:
            red, green, blue = np.moveaxis(cameras.render(name).astype(int), -1, 0)
        assert not np.any(red > 1.3 * np.maximum(green, blue) + 20)
