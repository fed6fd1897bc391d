from dataclasses import replace

import numpy as np
import pytest
from pinhole_scene import Scene

from ur5e_nik_vision.camera import Camera, Lens, pose_from_points, size_scaling
from ur5e_nik_vision.errors import CalibrationError

K = [792.0, 0, 319.5, 0, 792.0, 239.5, 0, 0, 1]
BARREL = (-0.25, 0.08, 0.001, -0.0015, 0.0)
DOWN = np.array([[0, -1, 0], [-1, 0, 0], [0, 0, -1.0]])


def lens(d=(), model="plumb_bob", k=K, size=(640, 480)):
    return Lens.from_camera_info(*size, k, d, model)


@pytest.mark.parametrize("d", [(), BARREL, BARREL[:4], (*BARREL, 0.01, 0.02, 0.003)])
def test_distort_undoes_undistort(d):
    optics = lens(d, "rational_polynomial" if len(d) == 8 else "plumb_bob")
    pixels = np.random.default_rng(0).uniform((0, 0), (639, 479), (3, 50, 2))
    assert np.abs(optics.distort(optics.undistort(pixels)) - pixels).max() < 1e-3


@pytest.mark.parametrize("distortion", [(), BARREL])
def test_projection_agrees_with_an_independent_pinhole(distortion):
    scene = Scene(distortion=distortion)
    camera = Camera(lens(distortion, k=scene.matrix.ravel()), np.array(scene.position), np.array(scene.turn).T)
    points = np.random.default_rng(1).uniform((0.2, -0.4, 0), (0.8, 0.4, 0.1), (40, 3))
    assert np.abs(camera.project(points) - scene.project(points)).max() < 1e-6


@pytest.mark.parametrize("distortion", [(), BARREL])
def test_on_plane_undoes_project_at_any_height(distortion):
    camera = Camera(lens(distortion), np.array([0.5, 0, 1.2]), DOWN)
    points = np.random.default_rng(2).uniform((0.2, -0.4), (0.8, 0.4), (40, 2))
    for z in (0.0, 0.045, -0.2):
        pixels = camera.project(np.column_stack([points, np.full(40, z)]))
        assert np.abs(camera.on_plane(pixels, z) - points).max() < 1e-6


def test_pose_is_recovered_from_a_grid():
    tilt = np.radians(4)
    turn = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    scene = Scene(position=(0.45, 0.03, 1.1), turn=(np.array(Scene().turn) @ turn), distortion=BARREL)
    x, y = np.meshgrid(np.linspace(0.2, 0.8, 7), np.linspace(-0.4, 0.4, 9))
    points = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
    camera = pose_from_points(lens(BARREL, k=scene.matrix.ravel()), scene.project(points), points)
    assert camera.position == pytest.approx(scene.position, abs=1e-5)
    assert camera.rotation == pytest.approx(np.array(scene.turn).T, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"k": [0.0] * 9}, "uncalibrated"),
        ({"k": [np.nan, *K[1:]]}, "finite"),
        ({"k": K[:6]}, "9 finite"),
        ({"d": [np.inf]}, "NaN or infinite"),
        ({"d": [0.1, 0.1, 0, 0], "model": "equidistant"}, "'equidistant' is not supported"),
        ({"d": [0.1, 0.1, 0]}, "4, 5 or 8"),
        ({"d": [-3.0, 2.0, 0, 0, 0]}, "fold"),
        ({"size": (0, 480)}, "0 x 480"),
        ({"size": (640, 2**31)}, "640 x 2147483648"),
    ],
)
def test_a_camera_info_that_is_none_is_refused(change, fault):
    with pytest.raises(CalibrationError, match=fault):
        lens(**change)


def test_no_coefficients_or_only_zeros_mean_no_distortion_whatever_the_model():
    assert not lens([]).distorts
    assert not lens([0.0] * 5).distorts
    assert not lens([0.0] * 4, "equidistant").distorts
    assert not lens([], "").distorts


def test_scaling_keeps_the_centre_of_the_picture_in_place():
    small = lens(BARREL)
    large = small.scaled(1280, 960)
    assert large.matrix[:2, 2] == pytest.approx([639.5, 479.5])
    assert large.matrix[0, 0] == pytest.approx(2 * small.matrix[0, 0])
    corner = np.array([[-0.5, -0.5], [639.5, 479.5]])
    homogeneous = np.column_stack([corner, [1, 1]])
    scaled = homogeneous @ size_scaling((640, 480), (1280, 960)).T
    assert scaled[:, :2] == pytest.approx(np.array([[-0.5, -0.5], [1279.5, 959.5]]))


@pytest.mark.parametrize("size", [(640, 360), (1920, 1080), (480, 640), (640, 479 - 10)])
def test_another_shape_is_refused(size):
    with pytest.raises(CalibrationError, match="another shape"):
        lens().scaled(*size)


def test_rounding_by_a_pixel_is_no_other_shape():
    assert replace(lens(), width=1920, height=1080).scaled(1366, 768).width == 1366
