"""The command in a process of its own, with a camera that the test plays."""

import re
import signal
import time

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")
import yaml  # noqa: E402
from pinhole_scene import Scene  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import CameraInfo, Image  # noqa: E402
from test_chessboard import BOARD, board_picture  # noqa: E402
from vision_cell import TIMEOUT, camera_info, image, private_ros, start  # noqa: E402

from ur5e_nik_msgs.srv import ResetScene  # noqa: E402
from ur5e_nik_vision.calibration import Calibration  # noqa: E402

SCENE = Scene()
NUMBERS = ("--inner-corners", 16, 9, "--square", 0.05, "--origin", 0.70, 0.375, 0.0)


@pytest.fixture(scope="module")
def board():
    return board_picture(SCENE, BOARD)


@pytest.fixture(scope="module", autouse=True)
def _context():
    with private_ros():
        yield


@pytest.fixture
def camera():
    node = rclpy.create_node("camera", namespace=f"/camera_{time.monotonic_ns()}")
    yield node
    node.destroy_node()


def calibrate(camera, *arguments, picture=None, info=None, until=None, reliability=ReliabilityPolicy.RELIABLE):
    """Run the command while a camera publishes; exit code, standard output, standard error."""
    images = camera.create_publisher(Image, "camera/image_color", QoSProfile(depth=1, reliability=reliability))
    infos = camera.create_publisher(CameraInfo, "camera/camera_info", 1)
    process = start("calibrate", arguments, namespace=camera.get_namespace())
    deadline = time.monotonic() + 2 * TIMEOUT
    while process.poll() is None:
        assert time.monotonic() < deadline
        if picture is not None and images.get_subscription_count():
            images.publish(picture)
        if info is not None:
            infos.publish(info)
        if until is not None and until():
            process.send_signal(signal.SIGINT)
            until = None
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            rclpy.spin_once(camera, timeout_sec=0.05)
    out, err = process.communicate()
    assert "Traceback" not in err, err
    return process.returncode, out, err


def refused(camera, tmp_path, *arguments, **topics):
    """The one line of a refusal, which must leave the old file as it is."""
    output = tmp_path / "camera.yaml"
    output.write_text("old")
    code, out, err = calibrate(camera, *arguments, "--output", output, **topics)
    assert (code, out) == (1, "")
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("calibrate: ")
    assert [path.name for path in tmp_path.glob("*camera*")] == ["camera.yaml"]
    assert output.read_text() == "old"
    return err


@pytest.mark.parametrize("reliability", [ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT])
def test_a_calibration_through_the_topics(camera, board, tmp_path, reliability):
    output = tmp_path / "camera.yaml"
    code, out, err = calibrate(
        camera,
        *NUMBERS,
        "--output",
        output,
        picture=image(board, "bgra8"),
        info=camera_info(SCENE),
        reliability=reliability,
    )
    assert code == 0, err
    assert "residual on 72 fitted points" in out
    assert "residual on 72 held-out points" in out
    result = Calibration.load(output)
    assert result.held_out.median < 0.05
    assert result.camera.position == pytest.approx(SCENE.position, abs=1e-3)
    assert output.stat().st_mode & 0o777 == 0o644


def test_the_board_is_read_from_a_scene_file_and_laid_by_the_simulation(camera, board, tmp_path):
    scene_file = tmp_path / "scene.yaml"
    scene_file.write_text("calibration_board: {inner_corners: [16, 9], square: 0.05, origin: [0.7, 0.375, 0.0]}")
    laid = []
    picture = image(np.full_like(board, 140))
    shown = image(board)

    def reset(request, response):
        laid.append(request.calibration_board)
        if request.calibration_board:
            picture.data = shown.data
        response.success = True
        return response

    camera.create_service(ResetScene, "sim/reset", reset)
    output = tmp_path / "camera.yaml"
    code, _, err = calibrate(
        camera, "--board", scene_file, "--lay-board", "--output", output, picture=picture, info=camera_info(SCENE)
    )
    assert code == 0, err
    assert laid == [True, False]
    assert Calibration.load(output).held_out.median < 0.05


def test_no_simulation_to_lay_the_board(camera, tmp_path):
    assert "sim/reset" in refused(camera, tmp_path, *NUMBERS, "--lay-board", "--timeout", 1)


def test_no_picture(camera, tmp_path):
    fault = refused(camera, tmp_path, *NUMBERS, "--timeout", 1)
    assert f"no picture arrived on {camera.get_namespace()}/camera/image_color" in fault


def test_no_camera_info(camera, board, tmp_path):
    fault = refused(camera, tmp_path, *NUMBERS, "--timeout", 8, picture=image(board))
    assert "no camera_info arrived" in fault


def test_no_board_in_the_picture(camera, board, tmp_path):
    blank = image(np.full_like(board, 140))
    fault = refused(camera, tmp_path, *NUMBERS, "--timeout", 5, picture=blank, info=camera_info(SCENE))
    assert "no chessboard of 16 x 9 inner corners" in fault


def test_a_grey_camera(camera, board, tmp_path):
    grey = image(board)
    grey.encoding = "mono8"
    fault = refused(camera, tmp_path, *NUMBERS, "--timeout", 5, picture=grey, info=camera_info(SCENE))
    assert "encoding 'mono8'" in fault


@pytest.mark.parametrize(
    ("arguments", "changes", "fault"),
    [
        ((), {"d": [-0.2, 0.05, 0.0, 0.0, 0.0]}, "above the limit of 1.00 mm"),
        (("--image-up", "+y"), {}, "90 deg away from \\+y"),
        ((), {"k": [0.0] * 9}, "uncalibrated"),
        ((), {"width": 640, "height": 360}, "another shape"),
        ((), {"d": [0.1] * 4, "distortion_model": "fisheye"}, "'fisheye' is not supported"),
    ],
)
def test_a_bad_calibration_is_refused(camera, board, tmp_path, arguments, changes, fault):
    line = refused(camera, tmp_path, *NUMBERS, *arguments, picture=image(board), info=camera_info(SCENE, **changes))
    assert re.search(fault, line), line


def measured_points(**changes):
    points = np.array([(x, y, 0.0) for x in (0.2, 0.5, 0.8) for y in (-0.4, 0.0, 0.4)])
    content = {"pixels": SCENE.project(points).tolist(), "points": points.tolist()}
    return {**content, **{name: change(content[name]) for name, change in changes.items()}}


def test_points_measured_by_hand(camera, board, tmp_path):
    points = tmp_path / "points.yaml"
    points.write_text(yaml.safe_dump(measured_points()))
    output = tmp_path / "camera.yaml"
    code, out, err = calibrate(
        camera, "--points", points, "--output", output, picture=image(board), info=camera_info(SCENE)
    )
    assert code == 0, err
    assert "residual on 1 held-out points" in out
    assert Calibration.load(output).camera.position == pytest.approx(SCENE.position, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"pixels": lambda rows: rows[:3], "points": lambda rows: rows[:3]}, "at least 4|held out"),
        ({"pixels": lambda rows: rows[:8]}, "8 pixels but 9 points"),
        ({"pixels": lambda rows: [rows[0], rows[0], *rows[2:]]}, "equal"),
        ({"pixels": lambda rows: [[v, u] for u, v in rows]}, "swapped"),
        ({"points": lambda rows: [[y, x, z] for x, y, z in rows]}, "swapped"),
        ({"points": lambda rows: [[float("nan"), y, z] for x, y, z in rows]}, "NaN"),
        ({"points": lambda rows: [[x, y, x] for x, y, z in rows]}, "one horizontal plane"),
        ({"points": lambda rows: [[x, y] for x, y, z in rows]}, "triples"),
        (
            {
                "pixels": lambda rows: [[u, 7.0] for u, v in rows],
                "points": lambda rows: [[0.5, y, 0] for _, y, _ in rows],
            },
            "equal|one line",
        ),
        ({"points": lambda rows: [[x + 0.05 * (x > 0.7), y, z] for x, y, z in rows]}, "above the limit"),
        ({"points": lambda rows: "none"}, "needs pixels"),
    ],
)
def test_bad_points_are_refused(camera, board, tmp_path, changes, fault):
    points = tmp_path / "points.yaml"
    points.write_text(yaml.safe_dump(measured_points(**changes)))
    line = refused(camera, tmp_path, "--points", points, picture=image(board), info=camera_info(SCENE))
    assert re.search(fault, line), line


def test_ctrl_c_leaves_the_old_file(camera, tmp_path):
    began = time.monotonic()
    fault = refused(camera, tmp_path, *NUMBERS, until=lambda: time.monotonic() - began > 3)
    assert "stopped; nothing was written" in fault


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ((), "name the board"),
        (("--square", 0.05), "name the board"),
        ((*NUMBERS, "--board", "scene.yaml"), "name the board"),
        ((*NUMBERS, "--pictures", 0), "--pictures is 0; it must be 1 to 1000"),
        ((*NUMBERS, "--timeout", "nan"), "--timeout is nan"),
        ((*NUMBERS, "--image-up", "up"), "invalid choice"),
        ((*NUMBERS, "--output", "/nowhere/camera.yaml"), "folder '/nowhere' does not exist"),
    ],
)
def test_bad_arguments_are_explained(arguments, fault):
    process = start("calibrate", arguments)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 2
    assert fault in err
    assert "Traceback" not in err
