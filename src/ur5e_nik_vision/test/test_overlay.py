from dataclasses import replace

import numpy as np
from pinhole_scene import Box

from ur5e_nik_vision import overlay
from ur5e_nik_vision.colour import COLOURS
from ur5e_nik_vision.detection import DetectorSettings, find_cubes

SETTINGS = DetectorSettings()


def drawn(scene, calibration, *boxes, settings=SETTINGS):
    picture = scene.with_boxes(*boxes).render()
    detection = find_cubes(picture, calibration, {"red": COLOURS["red"]}, settings)
    chosen = detection.cubes[0] if detection.cubes else None
    before = picture.copy()
    result = overlay.draw(picture, detection, chosen, "red", calibration, settings)
    assert np.array_equal(picture, before)
    assert result.shape == picture.shape
    return result, detection


def has(picture, colour, pixel, reach):
    u, v = np.rint(pixel).astype(int)
    window = picture[max(v - reach, 0) : v + reach + 1, max(u - reach, 0) : u + reach + 1]
    return (np.abs(window.astype(int) - colour).max(axis=-1) < 30).any()


def test_the_chosen_cube_and_the_others_are_outlined(scene, calibration):
    result, detection = drawn(scene, calibration, Box(0.5, -0.2, 0.3), Box(0.4, -0.35, 0.1))
    for cube, colour in zip(detection.cubes, (overlay.CHOSEN, overlay.OTHER), strict=True):
        assert all(has(result, colour, corner, 2) for corner in cube.top)
        assert has(result, colour, cube.pixel, 1)


def test_watched_cubes_are_outlined(scene, calibration):
    result, detection = drawn(scene, calibration, Box(0.48, 0.22, 0.3))
    (cube,) = detection.watched
    assert all(has(result, overlay.WATCHED, corner, 2) for corner in cube.top)


def test_refused_things_are_outlined(scene, calibration):
    result, detection = drawn(scene, calibration, Box(0.30, -0.2, 0.3))
    assert not detection.cubes
    assert has(result, overlay.REFUSED, detection.rejections[0].border[0], 1)


def test_the_legend_says_why_there_is_none(scene, calibration):
    result, _ = drawn(scene, calibration)
    assert has(result, overlay.REFUSED, (40, 10), 12)


def test_many_refusals_and_odd_places_are_drawn(scene, calibration):
    settings = DetectorSettings(region=(0.1, 0.9, -0.6, 0.6), min_area=9.0)
    boxes = [Box(0.17 + 0.06 * (i % 12), 0.45 - 0.09 * (i // 6), 0.3 * i, width=0.02) for i in range(60)]
    drawn(replace(scene, oversampling=1), calibration, *boxes, settings=settings)


def test_a_notice_fits_any_picture():
    for size in ((480, 640), (40, 40), (1, 1)):
        picture = np.full((*size, 3), 90, np.uint8)
        assert overlay.draw_notice(picture, "the picture is of another shape").shape == picture.shape
