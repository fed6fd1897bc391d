import cv2
import numpy as np
import pytest

from ur5e_nik_vision.colour import COLOURS, ColourRange
from ur5e_nik_vision.errors import ColourError


def patch(red, green, blue):
    return np.full((4, 4, 3), (blue, green, red), np.uint8)


@pytest.mark.parametrize("rgb", [(255, 0, 0), (255, 20, 0), (255, 0, 20), (200, 30, 60)])
def test_red_is_found_on_both_sides_of_hue_zero(rgb):
    assert COLOURS["red"].mask(patch(*rgb)).all()


@pytest.mark.parametrize(
    ("name", "rgb"),
    [
        ("red", (204, 13, 10)),
        ("green", (15, 140, 41)),
        ("blue", (18, 61, 191)),
        ("yellow", (230, 189, 15)),
    ],
)
def test_each_colour_finds_its_own_and_no_other(name, rgb):
    for other, colour in COLOURS.items():
        assert colour.mask(patch(*rgb)).all() == (other == name)


@pytest.mark.parametrize("rgb", [(0, 0, 0), (255, 255, 255), (90, 90, 90), (120, 100, 95)])
def test_grey_is_no_colour(rgb):
    assert not any(colour.mask(patch(*rgb)).any() for colour in COLOURS.values())


def test_low_above_high_wraps_around_and_low_below_high_does_not():
    hues = np.zeros((1, 180, 3), np.uint8)
    hues[0, :, 0] = np.arange(180)
    hues[..., 1:] = 255
    picture = cv2.cvtColor(hues, cv2.COLOR_HSV2BGR)
    kept = np.flatnonzero(ColourRange(170, 10, 0, 0).mask(picture)[0])
    assert set(kept) == {*range(170, 180), *range(11)}
    kept = np.flatnonzero(ColourRange(10, 170, 0, 0).mask(picture)[0])
    assert set(kept) == set(range(10, 171))


@pytest.mark.parametrize(
    ("limits", "fault"),
    [
        ((-1, 10, 0, 0), "hue_low is -1"),
        ((0, 180, 0, 0), "hue_high is 180; it must be 0 to 179"),
        ((0, 10, 256, 0), "saturation_min"),
        ((0, 10, 0, -3), "value_min"),
    ],
)
def test_limits_outside_their_range_are_refused(limits, fault):
    with pytest.raises(ColourError, match=fault):
        ColourRange(*limits)
