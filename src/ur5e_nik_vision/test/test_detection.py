"""Detection on pictures made by the pinhole tracer; limits are the project's goals."""

import math
import re
from dataclasses import replace

import cv2
import hypothesis
import numpy as np
import pytest
from conftest import calibrate_for
from hypothesis import strategies as st
from pinhole_scene import Box, Scene

from ur5e_nik_vision.colour import COLOURS
from ur5e_nik_vision.detection import NOWHERE, DetectorSettings, find_cubes, fold_yaw, watches
from ur5e_nik_vision.errors import VisionError

RED = COLOURS["red"]
SETTINGS = DetectorSettings()
WIDE = replace(SETTINGS, region=(0.1, 0.9, -0.5, 0.5))
BARREL = (-0.25, 0.08, 0.001, -0.0015, 0.0)


def find(scene, calibration, settings=SETTINGS, colour=RED):
    return find_cubes(scene.render(), calibration, {"any": colour}, settings)


def miss(cube, box):
    """Distance to the box's centre [m]."""
    return math.dist(cube.position, (box.x, box.y, box.bottom + box.height / 2))


def reasons(detection):
    return [rejection.reason for rejection in detection.rejections]


def random_boxes(rng, count, **changes):
    boxes = []
    while len(boxes) < count:
        box = Box(rng.uniform(0.37, 0.63), rng.uniform(-0.40, -0.06), rng.uniform(-4, 4), **changes)
        if all(math.hypot(box.x - other.x, box.y - other.y) > 0.1 for other in boxes):
            boxes.append(box)
    return boxes


def measured(scene, calibration, settings=SETTINGS, pictures=12, noise=0.0, **changes):
    """Errors of position [mm] and yaw [deg] over random scenes; every box must be found."""
    rng = np.random.default_rng(7)
    position, yaw = [], []
    for index in range(pictures):
        boxes = random_boxes(rng, 1 + index % 5, **changes)
        picture = scene.with_boxes(*boxes).render()
        picture = np.clip(picture + rng.normal(0, noise, picture.shape), 0, 255).astype(np.uint8)
        cubes = find_cubes(picture, calibration, {"red": RED}, settings).cubes
        assert len(cubes) == len(boxes)
        for box in boxes:
            cube = min(cubes, key=lambda cube: miss(cube, box))
            position.append(1e3 * miss(cube, box))
            yaw.append(abs(math.degrees(fold_yaw(cube.yaw - box.yaw))))
    return np.array(position), np.array(yaw)


@pytest.mark.parametrize(("oversampling", "mean", "worst"), [(5, 0.05, 0.2), (1, 0.2, 0.8)])
def test_position_and_yaw_of_random_cubes(scene, calibration, oversampling, mean, worst):
    position, yaw = measured(replace(scene, oversampling=oversampling), calibration)
    assert position.mean() < mean
    assert position.max() < worst
    assert yaw.mean() < 0.5
    assert yaw.max() < 2


@pytest.mark.parametrize("table", [(60, 60, 60), (250, 250, 250), (60, 90, 120), (0, 0, 0)])
def test_the_surroundings_may_be_dark_or_bright(scene, calibration, table):
    position, yaw = measured(replace(scene, table=table), calibration, pictures=6)
    assert position.mean() < 0.5
    assert position.max() < 1.5
    assert yaw.mean() < 0.5


def test_sensor_noise_costs_little(scene, calibration):
    position, yaw = measured(scene, calibration, pictures=6, noise=5.0)
    assert position.mean() < 0.1
    assert yaw.mean() < 0.3


def test_lens_distortion_is_honoured(calibration):
    scene = Scene(distortion=BARREL)
    position, _ = measured(scene, calibrate_for(scene), pictures=6)
    assert position.max() < 0.3


def test_a_tilted_camera_is_honoured():
    a = np.radians(12)
    turn = np.array(Scene().turn) @ [[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    scene = Scene(turn=turn, position=(0.25, 0.0, 1.2))
    position, _ = measured(scene, calibrate_for(scene), pictures=6)
    assert position.max() < 0.3


@pytest.mark.parametrize("height", [0.0, 0.03, 0.05, 0.10])
def test_parallax_is_removed_in_all_corners_of_the_table(scene, calibration, height):
    width = height or 0.045
    settings = replace(WIDE, cube_height=height)
    for x in (0.27, 0.73):
        for y in (-0.37, 0.37):
            box = Box(x, y, 0.3, width=width, height=height)
            (cube,) = find(scene.with_boxes(box), calibration, settings).cubes
            assert miss(cube, box) < 2e-4


def test_a_raised_surface_is_honoured(scene, calibration):
    box = Box(0.4, -0.35, 0.3, bottom=0.15)
    settings = replace(SETTINGS, surface_z=0.15)
    (cube,) = find(scene.with_boxes(box), calibration, settings).cubes
    assert miss(cube, box) < 2e-4


def test_side_faces_do_not_pull_the_centre(scene, calibration):
    for shades in ((1.0,) * 5, (0.3, 0.3, 0.3, 0.3, 1.0), (1.0, 1.0, 1.0, 1.0, 0.6)):
        box = Box(0.45, -0.40, 0.6, shades=shades)
        (cube,) = find(scene.with_boxes(box), calibration).cubes
        assert miss(cube, box) < 2e-4


@pytest.mark.parametrize("yaw", [-45.0, -44.9, -30.0, 0.0, 15.0, 44.9, 45.0, 60.0, 90.0, 135.0])
def test_yaw_is_the_same_squares_in_one_quarter_turn(scene, calibration, yaw):
    box = Box(0.5, -0.2, np.radians(yaw))
    (cube,) = find(scene.with_boxes(box), calibration).cubes
    assert -math.pi / 4 < cube.yaw <= math.pi / 4
    assert abs(fold_yaw(cube.yaw - box.yaw)) < np.radians(0.3)


@pytest.mark.parametrize(
    ("degrees", "folded"), [(45, 45), (-45, 45), (46, -44), (90, 0), (-90, 0), (134, 44), (200, 20)]
)
def test_fold_yaw(degrees, folded):
    assert math.degrees(fold_yaw(math.radians(degrees))) == pytest.approx(folded)


@pytest.mark.parametrize("rgb", [(255, 0, 0), (255, 20, 0), (255, 0, 20), (200, 30, 60)])
def test_every_red_is_found(scene, calibration, rgb):
    box = Box(0.5, -0.2, 0.3, colour=rgb[::-1])
    (cube,) = find(scene.with_boxes(box), calibration).cubes
    assert miss(cube, box) < 2e-4


def test_faces_on_both_sides_of_hue_zero_are_one_cube(scene, calibration):
    def tint(picture):
        red = picture[..., 2] - picture[..., 1] > 60
        picture[:, :452][red[:, :452]] *= (0.2, 1.0, 1.0)
        picture[:, 452:][red[:, 452:]] *= (1.0, 0.2, 1.0)
        return picture

    box = Box(0.5, -0.2, 0.3, colour=(15, 15, 220))
    tinted = replace(scene.with_boxes(box), painters=(tint,))
    picture = tinted.render()
    hue = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)[:, :, 0]
    inside = hue[RED.mask(picture) > 0]
    assert (inside > 170).sum() > 200
    assert (inside < 10).sum() > 200
    detection = find(tinted, calibration)
    (cube,) = detection.cubes
    assert miss(cube, box) < 1e-3
    assert not detection.rejections


@pytest.mark.parametrize(
    ("name", "rgb"), [("green", (15, 140, 41)), ("blue", (18, 61, 191)), ("yellow", (230, 189, 15))]
)
def test_other_colours(scene, calibration, name, rgb):
    box = Box(0.5, -0.2, 0.3, colour=rgb[::-1])
    (cube,) = find(scene.with_boxes(box), calibration, colour=COLOURS[name]).cubes
    assert miss(cube, box) < 2e-4
    assert not find(scene.with_boxes(box), calibration).cubes


def paint_brightness(factor):
    return lambda picture: picture * factor


def paint_cast(factors):
    return lambda picture: picture * np.array(factors)


def paint_half_shadow(picture):
    columns = np.arange(picture.shape[1])
    return picture * np.where(columns < 478, 0.45, 1.0)[None, :, None]


def paint_glare(picture):
    spot = cv2.GaussianBlur(np.zeros(picture.shape[:2]), (1, 1), 0)
    cv2.circle(spot, (482, 240), 6, 1.0, -1)
    spot = cv2.GaussianBlur(spot, (7, 7), 0)[..., None]
    return picture * (1 - spot) + spot * np.array((170.0, 170.0, 255.0))


@pytest.mark.parametrize(
    "paint",
    [paint_brightness(f) for f in (0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.4, 1.5)]
    + [paint_cast(c) for c in ((1.1, 1.0, 0.9), (0.9, 1.0, 1.1), (1.1, 0.9, 1.0), (0.9, 1.1, 0.9))]
    + [paint_half_shadow, paint_glare],
)
@pytest.mark.parametrize("yaw", [0.1, 0.6])
def test_bad_light_moves_the_point_by_less_than_3_mm_or_takes_it_away(scene, calibration, paint, yaw):
    box = Box(0.5, -0.24, yaw)
    detection = find(replace(scene.with_boxes(box), painters=(paint,)), calibration)
    assert all(miss(cube, box) < 3e-3 for cube in detection.cubes)
    assert detection.cubes or detection.rejections or "0.2" in str(paint)


@pytest.mark.parametrize("factor", [0.4, 0.7, 1.4])
def test_cubes_are_found_in_dim_and_bright_light(scene, calibration, factor):
    lit = replace(scene, painters=(paint_brightness(factor),))
    position, _ = measured(lit, calibration, pictures=5)
    assert position.max() < 0.5


def test_side_faces_too_dark_for_the_mask_leave_the_top_face(scene, calibration):
    box = Box(0.45, -0.35, 0.5, shades=(0.05, 0.05, 0.05, 0.05, 1.0))
    (cube,) = find(scene.with_boxes(box), calibration).cubes
    assert miss(cube, box) < 5e-4


def test_an_empty_table_shows_nothing(scene, calibration):
    detection = find(scene, calibration)
    assert detection.cubes == ()
    assert detection.rejections == ()


def test_a_cube_sliding_out_of_the_picture_is_never_misplaced(scene, calibration):
    phases = []
    for step in range(14):
        box = Box(0.5, -0.43 - 0.0075 * step, 0.2)
        detection = find(scene.with_boxes(box), calibration, WIDE)
        assert all(miss(cube, box) < 5e-4 for cube in detection.cubes)
        phases.append("found" if detection.cubes else " ".join(reasons(detection)))
    cut = phases.index("cut by the picture's edge")
    assert phases[:cut] == ["found"] * cut
    assert "found" not in phases[cut:]
    assert phases[-1] == ""


def test_a_cube_that_touches_the_edge_by_one_pixel_is_refused(scene, calibration):
    picture = np.full((480, 640, 3), 140, np.uint8)
    picture[200:230, 609:640] = (25, 25, 200)
    assert reasons(find_cubes(picture, calibration, {"red": RED}, WIDE)) == ["cut by the picture's edge"]


def test_a_picture_full_of_red_shows_no_cube(calibration):
    picture = np.full((480, 640, 3), (25, 25, 200), np.uint8)
    assert reasons(find_cubes(picture, calibration, {"red": RED}, WIDE)) == ["cut by the picture's edge"]


@pytest.mark.parametrize("hidden", [0.2, 0.35, 0.5, 0.7])
@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_a_partly_hidden_cube_is_refused(scene, calibration, hidden, yaw):
    reach = 0.045 / 2 * (abs(math.cos(yaw)) + abs(math.sin(yaw)))
    x_hidden = 0.5 + reach - hidden * 2 * reach
    cover = Box(x_hidden + 0.1, -0.2, 0.0, width=0.2, depth=0.06, bottom=0.05, height=0.01)
    boxes = (Box(0.5, -0.2, yaw), replace(cover, colour=(40, 40, 40)))
    detection = find(scene.with_boxes(*boxes), calibration)
    assert detection.cubes == ()
    assert "hidden" in reasons(detection)[-1]


def test_touching_cubes_are_reported_as_one_thing_that_cannot_be_grasped(scene, calibration):
    c, s = 0.045 * math.cos(0.3), 0.045 * math.sin(0.3)
    boxes = (Box(0.5, -0.2, 0.3), Box(0.5 + c, -0.2 + s, 0.3), Box(0.42, -0.35, 0.1))
    detection = find(scene.with_boxes(*boxes), calibration)
    assert len(detection.cubes) == 1
    assert miss(detection.cubes[0], boxes[2]) < 2e-4
    assert "touch" in reasons(detection)[0]


def test_cubes_outside_the_region_are_refused(scene, calibration):
    boxes = (Box(0.5, -0.2), Box(0.66, 0.22), Box(0.30, -0.2))
    detection = find(scene.with_boxes(*boxes), calibration)
    assert len(detection.cubes) == 1
    assert len(detection.rejections) == 2
    assert all("outside the region" in reason for reason in reasons(detection))
    for rejection, box in zip(sorted(detection.rejections, key=lambda r: r.position[0]), boxes[:0:-1], strict=True):
        assert miss(rejection, box) < 0.01


def test_cubes_in_the_watched_region_are_measured_apart(scene, calibration):
    boxes = (Box(0.5, -0.2, 0.3), Box(0.48, 0.22, 0.1), Box(0.58, 0.12, -0.4))
    detection = find(scene.with_boxes(*boxes), calibration)
    assert [miss(cube, boxes[0]) < 5e-4 for cube in detection.cubes] == [True]
    assert detection.rejections == ()
    assert len(detection.watched) == 2
    for cube, box in zip(sorted(detection.watched, key=lambda cube: cube.position[0]), boxes[1:], strict=True):
        assert miss(cube, box) < 5e-4
        assert abs(fold_yaw(cube.yaw - box.yaw)) < np.radians(0.5)
    assert watches(calibration, SETTINGS)
    assert not watches(calibration, replace(SETTINGS, watch_region=(0.33, 0.90, 0.07, 0.37)))
    assert not watches(calibration, replace(SETTINGS, watch_region=NOWHERE))
    nowhere = find(scene.with_boxes(*boxes), calibration, replace(SETTINGS, watch_region=NOWHERE))
    assert nowhere.watched == ()
    assert len(nowhere.rejections) == 2


PAINTS = {"red": (25, 25, 200), "green": (41, 140, 15), "blue": (191, 61, 18), "yellow": (15, 188, 230)}


@pytest.mark.parametrize("light", [0.6, 0.8, 1.0])
def test_each_cube_is_found_once_and_has_its_own_colour(scene, calibration, light):
    """Noise and side faces in the shade make no cube of another colour beside it."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        paints = {name: tuple(round(light * level) for level in paint) for name, paint in PAINTS.items()}
        boxes = [replace(box, colour=paint) for box, paint in zip(random_boxes(rng, 4), paints.values(), strict=True)]
        picture = scene.with_boxes(*boxes).render()
        picture = np.clip(picture + rng.normal(0, 4.0, picture.shape), 0, 255).astype(np.uint8)
        cubes = find_cubes(picture, calibration, COLOURS, SETTINGS).cubes
        assert sorted(cube.colour for cube in cubes) == sorted(paints)
        for name, box in zip(paints, boxes, strict=True):
            (cube,) = (cube for cube in cubes if cube.colour == name)
            assert miss(cube, box) < 1e-3


def test_the_region_is_of_centres_not_of_silhouettes(scene, calibration):
    inside, outside = Box(0.5, -0.424), Box(0.4, -0.436)
    detection = find(scene.with_boxes(inside, outside), calibration)
    assert len(detection.cubes) == 1
    assert miss(detection.cubes[0], inside) < 5e-4
    assert "outside the region" in reasons(detection)[0]


@pytest.mark.parametrize(
    ("draw", "fault"),
    [
        (lambda p: cv2.circle(p, (480, 240), 18, (25, 25, 200), -1, cv2.LINE_AA), "not a cube"),
        (
            lambda p: cv2.fillPoly(p, [np.array([(460, 260), (500, 260), (480, 222)])], (25, 25, 200), cv2.LINE_AA),
            "not",
        ),
        (lambda p: cv2.rectangle(p, (470, 220), (500, 290), (25, 25, 200), -1), "too large|square"),
        (lambda p: cv2.rectangle(p, (470, 235), (476, 290), (25, 25, 200), -1), "square"),
        (lambda p: cv2.rectangle(p, (470, 235), (480, 245), (25, 25, 200), -1), "too small"),
        (lambda p: cv2.rectangle(p, (350, 235), (366, 251), (25, 25, 200), -1), "too narrow"),
        (lambda p: cv2.rectangle(p, (430, 200), (490, 260), (25, 25, 200), -1), "too large"),
    ],
)
def test_red_things_that_are_no_cube_are_refused(calibration, draw, fault):
    picture = draw(np.full((480, 640, 3), 140, np.uint8))
    detection = find_cubes(picture, calibration, {"red": RED}, SETTINGS)
    assert detection.cubes == ()
    assert re.search(fault, reasons(detection)[0])


def test_a_reflection_below_a_cube_is_no_cube_and_moves_none_far(scene, calibration):
    box = Box(0.5, -0.2, 0.0)

    def reflect(picture):
        low = int(scene.project([(0.475, -0.2, 0)])[0, 1]) + 3
        picture[low : low + 8, 470:492] = (60, 60, 140)
        return picture

    detection = find(replace(scene.with_boxes(box), painters=(reflect,)), calibration)
    assert all(miss(cube, box) < 3e-3 for cube in detection.cubes)


def test_noise_of_the_colour_is_ignored_quickly(calibration):
    picture = np.full((480, 640, 3), 140, np.uint8)
    spots = np.random.default_rng(0).random((480, 640)) < 0.2
    picture[spots] = (25, 25, 200)
    detection = find_cubes(picture, calibration, {"red": RED}, SETTINGS)
    assert detection.cubes == ()
    assert len(detection.rejections) <= 24


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.lists(
        st.lists(st.tuples(st.integers(300, 660), st.integers(80, 400)), min_size=1, max_size=8), min_size=1, max_size=4
    ),
    st.sampled_from([0, 140, 255]),
)
def test_red_shapes_of_any_kind_end_in_finite_cubes_or_reasons(calibration, shapes, table):
    picture = np.full((480, 640, 3), table, np.uint8)
    for shape in shapes:
        cv2.fillPoly(picture, [np.array(shape)], (25, 25, 200))
    with np.errstate(all="raise", under="ignore"):
        detection = find_cubes(picture, calibration, {"red": RED}, replace(WIDE, min_area=9.0))
    for cube in detection.cubes:
        assert np.isfinite([*cube.position, cube.yaw, cube.width]).all()
        assert 0.65 * 0.045 <= cube.width <= 1.35 * 0.045
    assert all(rejection.reason for rejection in detection.rejections)


def test_other_picture_sizes(calibration):
    scene = Scene(width=1280, height=960, oversampling=2)
    box = Box(0.45, -0.3, 0.5)
    (cube,) = find(scene.with_boxes(box), calibration.scaled(1280, 960)).cubes
    assert miss(cube, box) < 2e-4


@pytest.mark.parametrize("region", [(0.6, 0.3, -0.4, 0), (0.3, 0.6, 0, 0)])
def test_an_empty_region_is_refused(region):
    with pytest.raises(VisionError, match="empty"):
        DetectorSettings(region=region)
