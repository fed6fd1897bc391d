"""The tuning command on pictures of the test's own; its window with a highgui that the test plays."""

import os
import subprocess
import sys

import cv2
import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")
import yaml  # noqa: E402
from pinhole_scene import Box, Scene  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from vision_cell import TIMEOUT, VisionCell, image, private_ros, start  # noqa: E402

from ur5e_nik_vision import tune  # noqa: E402
from ur5e_nik_vision.colour import COLOURS, ColourRange  # noqa: E402

GREENISH = (60, 170, 60)
SCENE = Scene(boxes=(Box(0.5, -0.2, 0.3, colour=GREENISH), Box(0.4, -0.35)), oversampling=2)


@pytest.fixture(scope="module", autouse=True)
def _context():
    with private_ros():
        yield


@pytest.fixture(scope="module")
def picture():
    return SCENE.render()


@pytest.fixture
def file(picture, tmp_path):
    path = tmp_path / "scene.png"
    cv2.imwrite(str(path), picture)
    return path


def run(folder, *arguments):
    """Exit code, standard output and standard error of the command, without a display."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-m", "ur5e_nik_vision.tune", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_mask_and_result_are_written_side_by_side_and_the_range_as_parameters(file, tmp_path):
    code, out, err = run(tmp_path, file, "--colour", "green", "--saturation-min", 120)
    assert code == 0, err
    assert "cubes: 1" in out
    seen = cv2.imread(str(tmp_path / "tune.png"))
    assert seen.shape == (480, 1280, 3)
    # Left: the green cube as it is, the red one dark, as it is not in the mask.
    u, v = np.rint(SCENE.project(np.array([[0.5, -0.2, 0.045], [0.4, -0.35, 0.045]]))).astype(int).T
    assert seen[v[0], u[0]].tolist() == list(GREENISH)
    assert seen[v[1], u[1]].max() < 60
    parameters = yaml.safe_load((tmp_path / "colour.yaml").read_text())["/**"]["ros__parameters"]
    assert parameters["colour"] == "green"
    assert parameters["green"] == {"hue_low": 40, "hue_high": 85, "saturation_min": 120, "value_min": 20}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["colour.yaml", "scene.png", "tune.png"]


def test_the_node_loads_what_was_saved(file, tmp_path, calibration):
    code, _, err = run(tmp_path, file, "--colour", "green", "--hue-low", 44)
    assert code == 0, err
    calibration.save(tmp_path / "camera.yaml")
    cell = VisionCell(tmp_path / "camera.yaml", parameter_file=tmp_path / "colour.yaml")
    answer = cell.call(GetParameters, "get_parameters", GetParameters.Request(names=["green.hue_low", "colour"]))
    assert [answer.values[0].integer_value, answer.values[1].string_value] == [44, "green"]
    cell.close()


def test_a_picture_from_the_topic(picture, tmp_path):
    node = rclpy.create_node("camera", namespace="/tune_topic")
    images = node.create_publisher(Image, "camera/image_color", 1)
    arguments = ["--no-window", "--preview", tmp_path / "a.png", "--output", tmp_path / "a.yaml"]
    process = start("tune", arguments, namespace="/tune_topic")
    while process.poll() is None:
        images.publish(image(picture, "bgra8"))
        rclpy.spin_once(node, timeout_sec=0.1)
    out, err = process.communicate()
    node.destroy_node()
    assert process.returncode == 0, err
    assert "cubes: 1" in out


def test_a_picture_of_another_shape_has_its_mask_alone(tmp_path, picture):
    cv2.imwrite(str(tmp_path / "wide.png"), picture[:300])
    code, out, _ = run(tmp_path, tmp_path / "wide.png")
    assert code == 0
    assert "cubes not looked for: the picture is 640 x 300, of another shape" in out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["nowhere.png"], "'nowhere.png' is no picture"),
        (["text.png"], "'text.png' is no picture"),
        (["--timeout", 1], "no picture arrived on /camera/image_color"),
        (["scene.png", "--hue-low", 200], "hue_low is 200; it must be 0 to 179"),
        (["scene.png", "--calibration", "none.yaml"], "cannot read calibration file"),
        (["scene.png", "--colour", "pink"], "invalid choice: 'pink'"),
        (["scene.png", "--output", "no/colour.yaml"], "does not exist or cannot be written"),
    ],
)
def test_bad_input_is_explained_and_writes_nothing(file, tmp_path, arguments, fault):
    (tmp_path / "text.png").write_text("not a picture")
    code, out, err = run(tmp_path, *arguments)
    assert code in (1, 2)
    assert fault in err.strip().splitlines()[-1]
    assert out == ""
    assert not list(tmp_path.glob("*.yaml"))


class Highgui:
    """Sliders and keys that the test moves and presses."""

    def __init__(self, monkeypatch, keys, moves=()):
        self.sliders, self.keys, self.moves, self.shown = {}, list(keys), dict(moves), []
        for name in ("namedWindow", "destroyAllWindows"):
            monkeypatch.setattr(cv2, name, lambda *_: None)
        monkeypatch.setattr(cv2, "createTrackbar", lambda name, _, value, *__: self.sliders.setdefault(name, value))
        monkeypatch.setattr(cv2, "getTrackbarPos", lambda name, _: self.sliders[name])
        monkeypatch.setattr(cv2, "imshow", lambda _, picture: self.shown.append(picture))
        monkeypatch.setattr(cv2, "getWindowProperty", lambda *_: 1.0)
        monkeypatch.setattr(cv2, "waitKey", lambda _: self.press())

    def press(self):
        self.sliders.update(self.moves)
        return ord(self.keys.pop(0)) if self.keys[0] else (self.keys.pop(0), -1)[1]


def show(colour):
    return np.full((4, 4, 3), colour.hue_low, np.uint8), ""


def test_sliders_change_the_range_and_s_saves_it(monkeypatch):
    window = Highgui(monkeypatch, ["", "", "s"], {"hue_low": 160})
    assert tune.slide(COLOURS["red"], show) == ColourRange(160, 10, 90, 20)
    assert [int(picture[0, 0, 0]) for picture in window.shown] == [168, 160]


@pytest.mark.parametrize("key", ["q", "\x1b"])
def test_leaving_the_window_saves_nothing(monkeypatch, key):
    Highgui(monkeypatch, ["", key])
    assert tune.slide(COLOURS["red"], show) is None
