from functools import cache

import cv2
import numpy as np
import pytest
import yaml
from pinhole_scene import Scene

from ur5e_nik_vision.calibration import fit_calibration
from ur5e_nik_vision.camera import Lens
from ur5e_nik_vision.chessboard import Chessboard, find_corners, order_corners
from ur5e_nik_vision.errors import CalibrationError

BOARD = Chessboard(16, 9, 0.05, (0.70, 0.375, 0.0))
BARREL = (-0.25, 0.08, 0.001, -0.0015, 0.0)


@cache
def board_picture(scene, board, oversampling=6):
    """The board on the table: every sub-pixel's ray is followed to the plane."""
    n = oversampling
    offset = (np.arange(n) + 0.5) / n - 0.5
    v, u = np.meshgrid(
        (np.arange(scene.height)[:, None] + offset).ravel(),
        (np.arange(scene.width)[:, None] + offset).ravel(),
        indexing="ij",
    )
    rays = scene.rays(u, v)
    distance = (board.origin[2] - scene.position[2]) / rays[..., 2]
    x = scene.position[0] + distance * rays[..., 0]
    y = scene.position[1] + distance * rays[..., 1]
    row = np.floor((board.origin[0] - x) / board.square).astype(int) + 1
    column = np.floor((board.origin[1] - y) / board.square).astype(int) + 1
    black = (row + column) % 2 == 0
    black &= (row >= 0) & (row <= board.rows) & (column >= 0) & (column <= board.columns)
    grey = np.where(black, 30.0, 230.0).reshape(scene.height, n, scene.width, n).mean(axis=(1, 3))
    return np.repeat(np.rint(grey).astype(np.uint8)[..., None], 3, axis=-1)


def test_points_start_at_the_origin_and_go_on_in_minus_y_then_minus_x():
    points = BOARD.points()
    assert points.shape == (144, 3)
    assert points[0] == pytest.approx((0.70, 0.375, 0.0))
    assert points[1] == pytest.approx((0.70, 0.325, 0.0))
    assert points[16] == pytest.approx((0.65, 0.375, 0.0))
    assert points[-1] == pytest.approx((0.30, -0.375, 0.0))


def test_half_of_the_corners_are_held_out_and_both_halves_cover_the_board():
    held_out = BOARD.held_out()
    assert held_out.sum() == 72
    for half in (held_out, ~held_out):
        assert np.ptp(BOARD.points()[half], axis=0)[:2] == pytest.approx((0.4, 0.75))


@pytest.mark.parametrize(("distortion", "worst"), [((), 0.02), (BARREL, 0.25)])
def test_corners_are_found_in_order_and_to_a_fraction_of_a_pixel(distortion, worst):
    scene = Scene(distortion=distortion)
    corners = find_corners(board_picture(scene, BOARD), BOARD, "+x")
    assert np.linalg.norm(corners - scene.project(BOARD.points()), axis=-1).max() < worst


@pytest.mark.parametrize(("distortion", "median"), [((), 0.02), (BARREL, 0.2)])
def test_a_calibration_from_the_picture_is_right(distortion, median):
    scene = Scene(distortion=distortion)
    lens = Lens.from_camera_info(640, 480, scene.matrix.ravel(), distortion, "plumb_bob")
    corners = find_corners(board_picture(scene, BOARD), BOARD, "+x")
    result = fit_calibration(lens, corners, BOARD.points(), BOARD.held_out(), "base_link", 1e-3)
    assert result.held_out.median < median
    assert result.camera.position == pytest.approx(scene.position, abs=2e-3)
    points = np.column_stack([np.random.default_rng(0).uniform(0.3, 0.7, (50, 2)) - (0, 0.7), np.full(50, 0.045)])
    assert np.abs(result.to_plane(scene.project(points), 0.045) - points[:, :2]).max() < 3e-4


def grid_orders(pixels):
    grid = pixels.reshape(9, 16, 2)
    return [grid, grid[::-1, ::-1], grid[::-1], grid[:, ::-1]]


def test_any_order_of_the_finder_is_put_right(scene):
    pixels = scene.project(BOARD.points())
    for order in grid_orders(pixels):
        assert np.array_equal(order_corners(order.reshape(-1, 2), BOARD, "+x"), pixels)


def test_a_square_board_is_put_right_too(scene):
    board = Chessboard(7, 7, 0.05, (0.65, 0.15, 0.0))
    grid = scene.project(board.points()).reshape(7, 7, 2)
    for order in (grid, grid[::-1, ::-1], grid.swapaxes(0, 1), grid.swapaxes(0, 1)[::-1]):
        assert np.array_equal(order_corners(order.reshape(-1, 2), board, "+x"), grid.reshape(-1, 2))


@pytest.mark.parametrize(
    ("image_up", "turn"),
    [
        ("-x", ((0, 1, 0), (1, 0, 0), (0, 0, -1))),
        ("+y", ((1, 0, 0), (0, -1, 0), (0, 0, -1))),
        ("-y", ((-1, 0, 0), (0, 1, 0), (0, 0, -1))),
    ],
)
def test_a_camera_mounted_another_way_round(image_up, turn):
    scene = Scene(turn=turn)
    pixels = scene.project(BOARD.points())
    for order in grid_orders(pixels):
        assert np.array_equal(order_corners(order.reshape(-1, 2), BOARD, image_up), pixels)


def test_a_board_seen_askew_is_refused(scene):
    a = np.radians(45)
    turn = np.array([[np.cos(a), np.sin(a), 0], [-np.sin(a), np.cos(a), 0], [0, 0, 1]]) @ np.array(scene.turn)
    pixels = Scene(turn=turn).project(BOARD.points())
    with pytest.raises(CalibrationError, match="up is 45 deg away from \\+x"):
        order_corners(pixels, BOARD, "+x")


@pytest.mark.parametrize("spoil", ["blank", "cut", "covered", "other"])
def test_no_such_board_is_none(scene, spoil):
    picture = board_picture(scene, BOARD, oversampling=1).copy()
    if spoil == "blank":
        picture[:] = 130
    elif spoil == "cut":
        picture[:, 300:] = 130
    elif spoil == "covered":
        cv2.circle(picture, (300, 200), 60, (30, 30, 200), -1)
    else:
        picture = board_picture(scene, Chessboard(11, 7, 0.05, (0.70, 0.375, 0.0)), oversampling=1)
    assert find_corners(picture, BOARD, "+x") is None


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"inner_corners": [2, 9], "square": 0.05, "origin": [0, 0, 0]}, "2 inner corner columns"),
        ({"inner_corners": [16, 10**6], "square": 0.05, "origin": [0, 0, 0]}, "1000000 inner corner rows"),
        ({"inner_corners": [16, 9], "square": -0.05, "origin": [0, 0, 0]}, "positive"),
        ({"inner_corners": [16, 9], "square": 0.05, "origin": [0, 0, float("nan")]}, "finite"),
        ({"inner_corners": [16, 9], "square": 0.05}, "origin"),
        ({"inner_corners": 16, "square": 0.05, "origin": [0, 0, 0]}, "inner_corners"),
        (None, "calibration_board"),
    ],
)
def test_descriptions_of_no_board_are_refused(tmp_path, content, fault):
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump({"calibration_board": content}))
    with pytest.raises(CalibrationError, match=fault):
        Chessboard.load(path)


def test_a_description_is_read(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("calibration_board: {inner_corners: [16, 9], square: 0.05, origin: [0.7, 0.375, 0.0]}\n")
    assert Chessboard.load(path) == BOARD
