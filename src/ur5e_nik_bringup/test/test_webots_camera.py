"""Three accounts of one camera: the Webots world's, MuJoCo's and the homography's; pixels from the first's centre."""

from pathlib import Path

import numpy as np
import pytest
import vrml

from ur5e_nik_bringup.scene_file import load_scene, scene_path
from ur5e_nik_bringup.webots_calibration import file_text, main
from ur5e_nik_vision.calibration import Calibration

SHARE = Path(__file__).resolve().parents[1]
FILE = SHARE / "config" / "webots_camera.yaml"


def corners(height=0.0):
    """The corners of both trays (8, 3) at a height."""
    found = []
    for tray in load_scene()["trays"].values():
        for x in (-1, 1):
            for y in (-1, 1):
                found.append([*np.add(tray["center"], np.multiply(tray["size"], (x, y)) / 2), height])
    return np.array(found)


def pinhole(points, position, right, down, forward, focal, size):
    rays = points - position
    depth = rays @ forward
    center = (np.array(size) - 1) / 2
    return center + focal * np.stack([rays @ right / depth, rays @ down / depth], axis=-1)


def seen_by_webots(points):
    _, nodes = vrml.parse((SHARE / "worlds" / "pick_place.wbt").read_text())
    (robot,) = [node for node in nodes if node.fields.get("name") == "overhead_camera"]
    (device,) = robot["children"]
    x, y, z, angle = robot["rotation"]
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    size = device["width"], device["height"]
    focal = size[0] / (2 * np.tan(device["fieldOfView"] / 2))
    # Webots: x forward, y left, z up.
    return pinhole(points, robot["translation"], -rotation[:, 1], -rotation[:, 2], rotation[:, 0], focal, size)


def seen_by_mujoco(points):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco==3.17.0")
    from ur5e_nik_mujoco import model, scene

    description = scene.load_scene(scene_path())
    compiled = model.build_model(description, [])
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    camera = compiled.camera("overhead_camera").id
    right, up, back = data.cam_xmat[camera].reshape(3, 3).T
    size = description.overhead_camera.width, description.overhead_camera.height
    focal = size[1] / (2 * np.tan(np.radians(compiled.cam_fovy[camera]) / 2))
    return pinhole(points, data.cam_xpos[camera], right, -up, -back, focal, size)


def seen_by_homography(points):
    return Calibration.load(FILE).to_image(points)


@pytest.mark.parametrize("height", [0.0, 0.0225, 0.045])
def test_the_three_agree_at_the_corners_of_the_trays(height):
    points = corners(height)
    webots, mujoco, homography = seen_by_webots(points), seen_by_mujoco(points), seen_by_homography(points)
    assert np.abs(webots - mujoco).max() < 0.1
    assert np.abs(webots - homography).max() < 0.1
    assert np.all((webots > 0) & (webots < [639, 479]))  # and in the picture


def test_up_in_the_picture_is_forward():
    near, far = seen_by_webots(np.array([[0.4, 0.0, 0.0], [0.6, 0.0, 0.0]]))
    assert far[1] < near[1]
    left, right = seen_by_webots(np.array([[0.5, 0.2, 0.0], [0.5, -0.2, 0.0]]))
    assert left[0] < right[0]


def test_the_committed_calibration_is_the_one_that_the_scene_makes():
    assert FILE.read_text() == file_text(load_scene()), (
        f"make it again: ros2 run ur5e_nik_bringup webots_calibration --output {FILE}"
    )


def test_pixels_become_the_points_they_show():
    calibration = Calibration.load(FILE)
    points = corners(0.045)
    assert calibration.to_plane(seen_by_webots(points), 0.045) == pytest.approx(points[:, :2], abs=1e-6)


def test_the_command_writes_a_file_that_vision_reads(tmp_path, monkeypatch):
    out = tmp_path / "camera.yaml"
    monkeypatch.setattr("sys.argv", ["webots_calibration", "--output", str(out)])
    assert main() == 0
    assert Calibration.load(out).size == (640, 480)


def test_a_folder_that_is_not_there_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["webots_calibration", "--output", str(tmp_path / "no" / "camera.yaml")])
    assert main() == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
