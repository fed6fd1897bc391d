import os
from dataclasses import replace

import numpy as np
import pytest
import yaml
from conftest import calibrate_for
from pinhole_scene import Scene

from ur5e_nik_vision.calibration import Calibration, fit_calibration
from ur5e_nik_vision.camera import Lens
from ur5e_nik_vision.errors import CalibrationError

BARREL = (-0.25, 0.08, 0.001, -0.0015, 0.0)


@pytest.fixture(scope="module")
def barrel():
    scene = Scene(distortion=BARREL)
    return scene, calibrate_for(scene)


def random_points(z, count=60):
    rng = np.random.default_rng(3)
    return np.column_stack([rng.uniform((0.2, -0.4), (0.8, 0.4), (count, 2)), np.full(count, z)])


@pytest.mark.parametrize("z", [0.0, 0.045, 0.1, -0.05])
def test_points_at_any_height_are_met(barrel, scene, calibration, z):
    for view, calibrated in (barrel, (scene, calibration)):
        points = random_points(z)
        assert np.abs(calibrated.to_plane(view.project(points), z) - points[:, :2]).max() < 1e-5
        assert np.abs(calibrated.to_image(points) - view.project(points)).max() < 1e-2


def test_heights_may_differ_from_point_to_point(calibration, scene):
    points = random_points(0.0)
    points[:, 2] = np.linspace(0, 0.1, len(points))
    there = calibration.to_plane(scene.project(points), points[:, 2])
    assert np.abs(there - points[:, :2]).max() < 1e-5


def test_residuals_of_fitted_and_held_out_points_are_kept(calibration):
    assert (calibration.fit.count, calibration.held_out.count) == (59, 58)
    assert calibration.held_out.max < 1e-3


def test_held_out_points_do_not_enter_the_fit(scene):
    lens = Lens.from_camera_info(640, 480, scene.matrix.ravel(), [], "plumb_bob")
    points = random_points(0.0, 40)
    held_out = np.arange(40) % 2 == 1
    pixels = scene.project(points)
    pixels[held_out] += 0.4
    result = fit_calibration(lens, pixels, points, held_out, "base_link", 1e-2)
    assert result.fit.max < 1e-3
    assert result.held_out.median > 0.5


def test_a_file_brings_back_what_was_saved(barrel, tmp_path):
    _, calibrated = barrel
    calibrated.save(tmp_path / "camera.yaml")
    loaded = Calibration.load(tmp_path / "camera.yaml")
    assert np.array_equal(loaded.homography, calibrated.homography)
    assert np.array_equal(loaded.camera.position, calibrated.camera.position)
    assert np.array_equal(loaded.camera.lens.distortion, calibrated.camera.lens.distortion)
    assert (loaded.size, loaded.frame_id, loaded.plane_z) == ((640, 480), "base_link", 0.0)
    assert (loaded.fit, loaded.held_out) == (calibrated.fit, calibrated.held_out)


def test_a_failed_write_leaves_the_old_file(calibration, tmp_path, monkeypatch):
    path = tmp_path / "camera.yaml"
    calibration.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        replace(calibration, plane_z=0.5).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["camera.yaml"]


def test_another_size_of_the_same_shape_is_scaled(calibration):
    large = Scene(width=1280, height=960)
    points = random_points(0.045)
    scaled = calibration.scaled(1280, 960)
    assert np.abs(scaled.to_plane(large.project(points), 0.045) - points[:, :2]).max() < 1e-5


def test_another_shape_is_refused(calibration):
    with pytest.raises(CalibrationError, match="640 x 360, of another shape .* 640 x 480"):
        calibration.scaled(640, 360)


def test_the_live_lens_replaces_the_files(calibration):
    live = Scene(distortion=BARREL)
    lens = Lens.from_camera_info(640, 480, live.matrix.ravel(), BARREL, "plumb_bob")
    points = random_points(0.045)
    there = calibration.with_lens(lens).to_plane(live.project(points), 0.045)
    assert np.abs(there - points[:, :2]).max() < 1e-5


def test_another_lens_is_refused(calibration):
    zoomed = Scene(fov=40.0)
    lens = Lens.from_camera_info(640, 480, zoomed.matrix.ravel(), [], "plumb_bob")
    with pytest.raises(CalibrationError, match="another lens"):
        calibration.with_lens(lens)


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("homography", None, "homography is missing"),
        ("homography", [[1, 0], [0, 1]], "homography must be 3 x 3 numbers"),
        ("homography", [[0.0] * 3] * 3, "singular"),
        ("homography", [[float("nan")] * 3] * 3, "NaN"),
        ("camera_position", [0.5, 0.0, -1.0], "look down"),
        ("camera_position", [0.1, 0.0, 1.2], "disagree"),
        ("camera_rotation", [[1, 0, 0], [0, 1, 0], [0, 0, 2]], "no rotation"),
        ("camera_matrix", [[0.0] * 3] * 3, "uncalibrated"),
        ("image_size", ["wide", "high"], "image_size must be 2 numbers"),
        ("image_size", [0, 480], "0 x 480"),
        ("frame_id", "", "frame_id"),
        ("plane_z", "low", "plane_z must be a number"),
        ("residuals_mm", {"fit": 3}, "residuals_mm"),
    ],
)
def test_damaged_files_are_refused_by_the_key(calibration, tmp_path, key, value, fault):
    path = tmp_path / "camera.yaml"
    calibration.save(path)
    content = yaml.safe_load(path.read_text())
    if value is None:
        del content[key]
    else:
        content[key] = value
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CalibrationError, match=f"camera.yaml.*{fault}"):
        Calibration.load(path)


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "{", "\x00", "just words"])
def test_files_that_are_no_calibration_are_refused(tmp_path, text):
    path = tmp_path / "camera.yaml"
    path.write_text(text)
    with pytest.raises(CalibrationError, match="camera.yaml"):
        Calibration.load(path)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(CalibrationError, match="No such file.*calibrate"):
        Calibration.load(tmp_path / "none.yaml")


def test_bad_point_sets_are_refused(scene):
    lens = Lens.from_camera_info(640, 480, scene.matrix.ravel(), [], "plumb_bob")
    points = random_points(0.0, 20)
    pixels = scene.project(points)
    held_out = np.arange(20) % 2 == 1

    def fit(pixels=pixels, points=points, held_out=held_out, limit=1e-3):
        return fit_calibration(lens, pixels, points, held_out, "base_link", limit)

    with pytest.raises(CalibrationError, match="one horizontal plane"):
        fit(points=points + np.linspace(0, 0.1, 20)[:, None] * (0, 0, 1))
    with pytest.raises(CalibrationError, match="held out"):
        fit(held_out=np.zeros(20, bool))
    with pytest.raises(CalibrationError, match="swapped"):
        fit(pixels=pixels[:, ::-1])
    moved = pixels.copy()
    moved[6] += 30
    with pytest.raises(CalibrationError, match="residual .* at point 6 .* above the limit of 1.00 mm"):
        fit(pixels=moved)
    with pytest.raises(CalibrationError, match="at least 4"):
        fit(held_out=np.arange(20) > 2)
