import math
import signal
import subprocess
import time

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")
from conftest import calibrate_for  # noqa: E402
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from pinhole_scene import Box, Scene  # noqa: E402
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParametersAtomically  # noqa: E402
from rclpy.qos import ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from vision_cell import (  # noqa: E402
    TIMEOUT,
    VisionCell,
    camera_info,
    image,
    parameter_messages,
    private_ros,
    start,
)

BOX = Box(0.5, -0.25, 0.35)
SCENE = Scene(boxes=(BOX,))
BARREL = (-0.25, 0.08, 0.001, -0.0015, 0.0)


@pytest.fixture(scope="module")
def picture():
    return SCENE.render()


@pytest.fixture(scope="module")
def empty():
    return Scene().render()


@pytest.fixture(scope="module", autouse=True)
def _context():
    with private_ros():
        yield


@pytest.fixture(scope="module")
def calibration_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("vision") / "camera.yaml"
    calibrate_for(Scene()).save(path)
    return path


@pytest.fixture(scope="module")
def cell(calibration_file):
    cell = VisionCell(calibration_file)
    yield cell
    cell.close()


def miss(message, box=BOX):
    return math.dist((message.point.x, message.point.y), (box.x, box.y))


def test_centre_and_yaw_of_the_cube_with_the_images_stamp(cell, picture):
    message = image(picture, "bgra8")
    message.header.stamp.nanosec = 123456789
    point = cell.point(message)
    assert point.header == message.header.__class__(stamp=message.header.stamp, frame_id="base_link")
    assert miss(point) < 5e-4
    assert point.point.z == pytest.approx(BOX.height / 2)
    cell.wait(lambda: cell.poses and cell.poses[-1].header == point.header, "cube_pose")
    pose = cell.poses[-1].pose
    assert pose.position == point.point
    assert 2 * math.atan2(pose.orientation.z, pose.orientation.w) == pytest.approx(BOX.yaw, abs=0.01)


def test_every_encoding_gives_the_same_point(cell, picture):
    points = [
        cell.point(image(picture, encoding, padding)).point
        for encoding, padding in (("bgr8", 0), ("bgr8", 12), ("rgb8", 0), ("bgra8", 0), ("rgba8", 64), ("rgb16", 0))
    ]
    for point in points[1:]:
        assert math.dist((point.x, point.y), (points[0].x, points[0].y)) < 1e-4


@pytest.mark.parametrize("encoding", ["mono8", "8UC1", "8UC3", "16UC1", "32FC1", "", "nonsense"])
def test_an_encoding_without_colours_is_refused_by_name(cell, picture, encoding):
    before = len(cell.points)
    message = image(picture)
    message.encoding = encoding
    status = cell.look(message)
    assert status.level == DiagnosticStatus.ERROR
    assert f"encoding '{encoding}'" in status.message
    assert len(cell.points) == before


@pytest.mark.parametrize(
    "spoil",
    [
        {"data": bytes(100)},
        {"data": bytes(640 * 480 * 3 + 1)},
        {"data": b""},
        {"step": 0},
        {"width": 0},
        {"height": 0},
        {"width": 2**31},
        {"height": 2**31, "width": 2**31, "step": 2**31},
    ],
)
def test_a_malformed_picture_is_refused_and_the_next_good_one_works(cell, picture, spoil):
    before = len(cell.points)
    message = image(picture)
    for field, value in spoil.items():
        setattr(message, field, value)
    assert cell.look(message).level == DiagnosticStatus.ERROR
    assert len(cell.points) == before
    assert miss(cell.point(image(picture))) < 5e-4


def test_a_picture_of_another_shape_is_refused(cell):
    status = cell.look(image(np.full((360, 640, 3), 90, np.uint8)))
    assert status.level == DiagnosticStatus.ERROR
    assert "640 x 360, of another shape" in status.message


def test_another_size_of_the_same_shape_works(cell):
    large = Scene(width=1280, height=960, boxes=(BOX,), oversampling=2)
    assert miss(cell.point(image(large.render()))) < 5e-4


def test_nothing_is_published_without_a_cube(cell, picture, empty):
    cell.point(image(picture))
    before = len(cell.points), len(cell.poses)
    for _ in range(10):
        status = cell.look(image(empty))
        assert status.level == DiagnosticStatus.WARN
        assert status.message == "no red cube: nothing of that colour"
    cell.spin(0.3)
    assert (len(cell.points), len(cell.poses)) == before


@pytest.mark.parametrize(
    ("boxes", "reason"),
    [
        ([Box(0.30, -0.2)], "outside the region"),
        ([Box(0.5, -0.48, 0.2)], "cut by the picture's edge"),
        ([Box(0.5, -0.2, width=0.012, height=0.01)], "too small"),
        ([Box(0.5, -0.2), Box(0.545, -0.2)], "touch"),
        ([Box(0.5, -0.2), Box(0.52, -0.2, width=0.05, bottom=0.05, height=0.01, colour=(40, 40, 40))], "hidden"),
    ],
)
def test_what_is_no_whole_cube_is_not_published_but_explained(cell, boxes, reason):
    before = len(cell.points)
    status = cell.look(image(Scene(boxes=tuple(boxes), oversampling=2).render()))
    assert status.level == DiagnosticStatus.WARN
    assert reason in status.message
    assert reason in " ".join(pair.value for pair in status.values)
    cell.spin(0.2)
    assert len(cell.points) == before


def test_cubes_at_their_places_alone_are_none_to_pick(cell):
    before = len(cell.points)
    status = cell.look(image(Scene(boxes=(Box(0.48, 0.22),)).render()))
    assert status.message == "no red cube: 1 in the watched region only"
    assert len(cell.points) == before


def test_every_judged_picture_has_its_detections(cell, empty):
    boxes = (Box(0.5, -0.2, 0.3), Box(0.4, -0.35), Box(0.48, 0.22))
    two = image(Scene(boxes=boxes, oversampling=2).render())
    chosen = cell.point(two)
    told = cell.detections[-1]
    assert told.header == chosen.header
    assert [cube.graspable for cube in told.cubes] == [True, True, False]
    assert told.cubes[2].reason == "in the watched region"
    assert told.cubes[told.chosen].pose.position == chosen.point
    assert all(cube.width == pytest.approx(0.045, abs=0.002) for cube in told.cubes[:2])

    blank = image(empty)
    cell.look(blank)
    cell.wait(lambda: cell.detections[-1].header.stamp == blank.header.stamp, "cube_detections")
    assert cell.detections[-1].chosen == -1
    assert not cell.detections[-1].cubes
    assert "red" in cell.detections[-1].message


def test_the_debug_image_is_published_to_who_listens(cell, picture):
    pictures = []
    listener = cell.node.create_subscription(Image, "debug_image", pictures.append, 1)
    deadline = time.monotonic() + TIMEOUT
    while not pictures:
        assert time.monotonic() < deadline
        cell.look(image(picture))
    cell.node.destroy_subscription(listener)
    drawn = pictures[-1]
    assert (drawn.encoding, drawn.width, drawn.height, drawn.step) == ("bgr8", 640, 480, 1920)
    pixels = np.frombuffer(drawn.data, np.uint8).reshape(480, 640, 3)
    assert 500 < (pixels != picture).any(axis=-1).sum() < pixels[..., 0].size / 2


def test_distortion_from_camera_info_is_honoured(calibration_file):
    cell = VisionCell(calibration_file)
    bent = Scene(boxes=(BOX,), distortion=BARREL)
    message = image(bent.render())
    assert miss(cell.point(message)) > 2e-3
    deadline = time.monotonic() + TIMEOUT
    while miss(cell.point(message)) > 5e-4:
        assert time.monotonic() < deadline
        cell.infos.publish(camera_info(bent))
        cell.spin(0.2)
    cell.close()


@pytest.mark.parametrize(
    ("info", "level"),
    [
        (camera_info(Scene(), k=[0.0] * 9), DiagnosticStatus.OK),
        (camera_info(Scene(), k=[math.nan] * 9), DiagnosticStatus.OK),
        (camera_info(Scene(), d=[math.inf] * 5), DiagnosticStatus.OK),
        (camera_info(Scene(), d=[0.1] * 4, distortion_model="fisheye"), DiagnosticStatus.OK),
        (camera_info(Scene(), width=0), DiagnosticStatus.OK),
        (camera_info(Scene(width=1280, height=960)), DiagnosticStatus.OK),
        (camera_info(Scene(fov=40.0)), DiagnosticStatus.ERROR),
        (camera_info(Scene(width=640, height=360)), DiagnosticStatus.ERROR),
    ],
)
def test_a_useless_camera_info_leaves_the_files_lens_and_another_lens_is_refused(cell, picture, info, level):
    cell.infos.publish(info)
    cell.spin(0.3)
    status = cell.look(image(picture))
    assert status.level == level, status.message
    cell.infos.publish(camera_info(Scene()))
    cell.spin(0.3)
    assert miss(cell.point(image(picture))) < 5e-4


@pytest.mark.parametrize("order", [("BEST_EFFORT", "RELIABLE"), ("RELIABLE", "BEST_EFFORT")])
def test_publishers_of_both_reliabilities_are_heard_one_after_the_other(calibration_file, picture, order):
    cell = VisionCell(calibration_file, reliability=ReliabilityPolicy[order[0]])
    assert miss(cell.point(image(picture))) < 5e-4
    cell.node.destroy_publisher(cell.images)
    cell.images = cell.camera(ReliabilityPolicy[order[1]])
    assert miss(cell.point(image(picture))) < 5e-4
    cell.close()


def test_no_picture_of_a_reliable_camera_is_lost_at_ten_a_second(cell, picture):
    cell.point(image(picture))
    cell.spin(1.0)
    before = len(cell.points)
    message = image(picture)
    for _ in range(20):
        cell.images.publish(message)
        cell.spin(0.1)
    cell.spin(0.5)
    assert len(cell.points) - before >= 15


def test_after_a_burst_the_newest_picture_is_the_one_that_counts(cell, picture):
    cell.point(image(picture))
    message = image(picture)
    for stamp in range(1000, 1040):
        message.header.stamp.sec = stamp
        cell.images.publish(message)
    cell.wait(lambda: cell.points[-1].header.stamp.sec == 1039, "point of the newest picture")
    stamps = [point.header.stamp.sec for point in cell.points if point.header.stamp.sec >= 1000]
    assert stamps == sorted(set(stamps))


def test_a_namespace_moves_every_topic(cell):
    published = dict(cell.node.get_publisher_names_and_types_by_node("vision", cell.namespace))
    for topic in ("cube_position", "cube_pose", "cube_detections", "debug_image", "vision_status", "diagnostics"):
        assert f"{cell.namespace}/{topic}" in published


def test_silence_of_the_camera_is_reported(cell, picture):
    cell.look(image(picture))
    cell.wait(lambda: cell.status.level == DiagnosticStatus.STALE, "stale status")
    assert "no picture for" in cell.status.message


def test_every_parameter_is_described_and_numbers_have_ranges(cell):
    names = cell.call(ListParameters, "list_parameters", ListParameters.Request()).result.names
    own = [name for name in names if name not in ("use_sim_time", "start_type_description_service")]
    answer = cell.call(DescribeParameters, "describe_parameters", DescribeParameters.Request(names=own))
    assert len(answer.descriptors) > 20
    for descriptor in answer.descriptors:
        assert descriptor.description, descriptor.name
        if descriptor.type in (2, 3):
            assert descriptor.integer_range or descriptor.floating_point_range, descriptor.name


def set_parameters(cell, **values):
    values = {name.replace("__", "."): value for name, value in values.items()}
    request = SetParametersAtomically.Request(parameters=parameter_messages(values))
    return cell.call(SetParametersAtomically, "set_parameters_atomically", request).result


BAD = [
    ({"red__hue_low": 200}, "200"),
    ({"green__hue_high": -1}, "-1"),
    ({"red__saturation_min": 256}, "256"),
    ({"min_area": -1.0}, "min_area"),
    ({"cube_height": math.nan}, "cube_height"),
    ({"cube_height": 2.0}, "cube_height"),
    ({"size_tolerance": 0.0}, "size_tolerance"),
    ({"surface_z": 1.19}, "below the camera"),
    ({"region": [0.6, 0.3, -0.4, 0.0]}, "empty"),
    ({"region": [0.3, 0.6, -0.4]}, "3 numbers"),
    ({"region": [0.3, math.nan, -0.4, 0.0]}, "region"),
    ({"region": [0.3, 99.0, -0.4, 0.0]}, "10 m"),
    ({"colour": "mauve"}, "mauve"),
    ({"colour": ""}, "known colours"),
    ({"calibration_file": "/nowhere/camera.yaml"}, "/nowhere/camera.yaml"),
    ({"status_rate": 0.0}, "status_rate"),
    ({"min_area": "large"}, "DOUBLE"),
]


@pytest.mark.parametrize(("values", "fault"), BAD)
def test_a_bad_value_is_refused_with_a_reason_and_changes_nothing(cell, picture, values, fault):
    result = set_parameters(cell, **values)
    assert not result.successful
    assert fault in result.reason
    assert miss(cell.point(image(picture))) < 5e-4


@pytest.mark.parametrize(
    ("values", "fault"),
    [(values, fault) for values, fault in BAD if "nan" not in str(values)],
)
def test_a_bad_value_at_the_start_ends_the_node_with_one_line(calibration_file, values, fault):
    process = start("vision_node", **{"calibration_file": str(calibration_file), **values})
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("vision: ")
    assert fault in err
    assert out == ""


def test_cubes_of_several_colours_and_those_at_their_places_are_told(cell):
    green, blue = (41, 140, 15), (191, 61, 18)
    boxes = (Box(0.5, -0.25), Box(0.6, -0.15, colour=green), Box(0.4, -0.35, colour=blue), Box(0.48, 0.22, 0.2))
    assert set_parameters(cell, colour="red,green").successful
    try:
        cell.point(image(Scene(boxes=boxes).render()))
        told = {(cube.color, cube.graspable): cube for cube in cell.detections[-1].cubes}
        assert set(told) == {("red", True), ("green", True), ("red", False)}
        for (color, graspable), box in zip(
            [("red", True), ("green", True), ("red", False)], [boxes[0], boxes[1], boxes[3]], strict=True
        ):
            position = told[color, graspable].pose.position
            assert math.hypot(position.x - box.x, position.y - box.y) < 5e-4
            assert told[color, graspable].width == pytest.approx(0.045, abs=1e-3)
        assert list(cell.detections[-1].watched) == pytest.approx([0.33, 0.63, 0.07, 0.37])
    finally:
        set_parameters(cell, colour="red")


def test_parameters_take_effect_while_the_node_runs(calibration_file, picture):
    cell = VisionCell(calibration_file)
    assert miss(cell.point(image(picture))) < 5e-4
    assert set_parameters(cell, colour="green").successful
    assert "no green cube" in cell.look(image(picture)).message
    green = Scene(boxes=(Box(0.5, -0.25, 0.35, colour=(41, 140, 15)),)).render()
    assert miss(cell.point(image(green))) < 5e-4
    assert set_parameters(cell, colour="red", red__hue_low=20, red__hue_high=40).successful
    assert "no red cube" in cell.look(image(picture)).message
    # Low above high wraps around.
    assert set_parameters(cell, red__hue_low=170, red__hue_high=10).successful
    assert miss(cell.point(image(picture))) < 5e-4
    assert set_parameters(cell, region=[0.1, 0.3, -0.4, 0.0]).successful
    assert "outside the region" in cell.look(image(picture)).message
    assert set_parameters(cell, region=[0.3, 0.7, -0.4, 0.0], cube_height=0.03, cube_width=0.045).successful
    assert cell.point(image(picture)).point.z == pytest.approx(0.015)
    cell.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True])
def test_signals_end_the_node_quickly_and_cleanly(calibration_file, picture, number, busy):
    cell = VisionCell(calibration_file)
    message = image(picture)
    if busy:
        cell.point(message)
        for _ in range(20):
            cell.images.publish(message)
    cell.process.send_signal(number)
    time.sleep(0.05)
    cell.process.send_signal(number)
    began = time.monotonic()
    try:
        out, err = cell.process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        cell.process.kill()
        raise
    assert time.monotonic() - began < 5
    assert cell.process.returncode == 0, err
    assert "Traceback" not in out + err
    cell.node.destroy_node()
