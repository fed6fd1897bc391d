import numpy as np
from pinhole_scene import Box

from ur5e_nik_vision.colour import COLOURS
from ur5e_nik_vision.detection import Cube, DetectorSettings, find_cubes
from ur5e_nik_vision.selection import Selector

NOWHERE = np.zeros((4, 2))


def cube(x, y, width=0.045):
    return Cube("red", np.array([x, y, 0.0225]), 0.0, width, np.zeros(2), NOWHERE, NOWHERE)


def test_nothing_to_choose_from():
    assert Selector().choose([]) is None


def test_the_largest_is_chosen_wherever_it_is():
    small, large = cube(0.4, -0.1, 0.036), cube(0.6, -0.4, 0.058)
    assert Selector().choose([small, large]) is large


def test_of_equals_the_nearest_to_the_base_in_any_order():
    near, far = cube(0.4, -0.1, 0.0448), cube(0.6, -0.4, 0.0452)
    assert Selector().choose([far, near]) is near
    assert Selector().choose([near, far]) is near


def test_equal_cubes_do_not_flip_under_noise():
    rng = np.random.default_rng(0)
    selector = Selector()
    # At the same distance from the base, so that noise decides alone.
    places = [(0.5, -0.2), (0.2, -0.5)]
    first = None
    for _ in range(100):
        cubes = [cube(x + rng.normal(0, 1e-3), y + rng.normal(0, 1e-3), 0.045 + rng.normal(0, 1e-3)) for x, y in places]
        rng.shuffle(cubes)
        chosen = selector.choose(cubes)
        side = chosen.position[0] > 0.35
        assert first in (None, side)
        first = side


def test_a_choice_is_left_when_it_is_gone_or_clearly_smaller():
    selector = Selector()
    near, far = cube(0.4, -0.1), cube(0.6, -0.4)
    selector.choose([near, far])
    assert selector.choose([far]) is far
    assert selector.choose([near, far]) is far
    larger = cube(0.4, -0.1, 0.055)
    assert selector.choose([larger, far]) is larger


def test_a_choice_that_moves_is_followed():
    selector = Selector()
    selector.choose([cube(0.6, -0.4), cube(0.62, -0.1)])
    start = selector.choose([cube(0.6, -0.4), cube(0.62, -0.1)]).position[1]
    for step in range(10):
        moving, still = cube(0.62, start - 0.01 * step), cube(0.6, -0.4)
        if start < -0.2:
            moving, still = cube(0.6, start + 0.01 * step), cube(0.62, -0.1)
        assert selector.choose([still, moving]) is moving


def test_a_hundred_noisy_pictures_of_two_cubes_choose_one(scene, calibration):
    rng = np.random.default_rng(1)
    clean = scene.with_boxes(Box(0.5, -0.3, 0.2), Box(0.38, -0.44 + 0.02, 0.9)).render()
    selector = Selector()
    chosen = []
    for _ in range(100):
        shift = rng.integers(-1, 2, 2)
        picture = np.roll(clean, shift, axis=(0, 1))
        picture = np.clip(picture + rng.normal(0, 4, picture.shape), 0, 255).astype(np.uint8)
        cubes = find_cubes(picture, calibration, {"red": COLOURS["red"]}, DetectorSettings()).cubes
        chosen.append(selector.choose(cubes).position[0] > 0.44)
    assert len(set(chosen)) == 1
