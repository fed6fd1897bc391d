import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ur5e_nik_vision.errors import CalibrationError
from ur5e_nik_vision.homography import apply_homography, fit_homography, residuals

PIXELS = np.array([(10, 20), (600, 30), (590, 450), (30, 440), (300, 200)], float)


def true_map(pixels):
    """An overhead camera, slightly tilted: image up is +x, image right is -y."""
    u, v = np.asarray(pixels, float).T
    scale = 1 + 1e-4 * u - 5e-5 * v
    return np.column_stack([(0.86 - 0.0015 * v) / scale, (0.48 - 0.0015 * u) / scale])


def test_recovers_a_known_map():
    homography = fit_homography(PIXELS, true_map(PIXELS))
    other = np.array([(111.5, 222.25), (0, 0), (639, 479)])
    assert np.abs(apply_homography(homography, other) - true_map(other)).max() < 1e-6
    assert residuals(homography, other, true_map(other)).max() < 1e-6


def test_residuals_are_distances_on_the_plane():
    homography = fit_homography(PIXELS, true_map(PIXELS))
    moved = true_map(PIXELS) + (0.003, 0.004)
    assert residuals(homography, PIXELS, moved) == pytest.approx(0.005, abs=1e-6)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_than_four_points_are_refused(count):
    with pytest.raises(CalibrationError, match="at least 4|pairs"):
        fit_homography(PIXELS[:count], true_map(PIXELS)[:count])


@pytest.mark.parametrize(
    "pixels",
    [
        [(0, 0), (100, 0), (200, 0), (300, 0)],
        [(0, 0), (100, 50), (200, 100), (300, 150), (400, 200)],
        [(0, 0), (100, 0), (200, 0), (100, 200)],
        [(0, 0), (100, 1), (200, 0), (100, 200)],
    ],
)
def test_points_on_a_line_are_refused(pixels):
    with pytest.raises(CalibrationError, match="one line"):
        fit_homography(pixels, true_map(pixels))


def test_repeated_points_are_refused():
    pixels = PIXELS.copy()
    pixels[1] = pixels[0]
    with pytest.raises(CalibrationError, match="two pixels are equal"):
        fit_homography(pixels, true_map(PIXELS))
    points = true_map(PIXELS)
    points[3] = points[2]
    with pytest.raises(CalibrationError, match="two plane points are equal"):
        fit_homography(PIXELS, points)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused(bad):
    pixels = PIXELS.copy()
    pixels[2, 1] = bad
    with pytest.raises(CalibrationError, match="NaN or infinite"):
        fit_homography(pixels, true_map(PIXELS))
    with pytest.raises(CalibrationError, match="NaN or infinite"):
        fit_homography(PIXELS, pixels)


@pytest.mark.parametrize("lists", [(4, 5), (5, 4)])
def test_lists_of_unequal_length_are_refused(lists):
    with pytest.raises(CalibrationError, match=f"{lists[0]} pixels but {lists[1]} plane points"):
        fit_homography(PIXELS[: lists[0]], true_map(PIXELS)[: lists[1]])


@pytest.mark.parametrize("pixels", [[1, 2, 3, 4], [[1, 2, 3]] * 4, "four", [[1, "a"]] * 4, [[1], [1, 2]]])
def test_lists_that_are_no_pairs_are_refused(pixels):
    with pytest.raises(CalibrationError, match="pair"):
        fit_homography(pixels, true_map(PIXELS)[:4])


def test_swapped_axes_are_refused():
    for pixels, points in (
        (PIXELS[:, ::-1], true_map(PIXELS)),
        (PIXELS, true_map(PIXELS)[:, ::-1]),
    ):
        with pytest.raises(CalibrationError, match="swapped"):
            fit_homography(pixels, points)


def test_points_in_another_order_are_refused_or_leave_residuals():
    pixels = PIXELS[[0, 2, 1, 3, 4]]
    try:
        homography = fit_homography(pixels, true_map(PIXELS))
    except CalibrationError:
        return
    assert residuals(homography, pixels, true_map(PIXELS)).max() > 0.05


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=8, max_size=8), st.integers(0, 10_000))
def test_any_four_spread_points_are_met_exactly(jitter, seed):
    pixels = PIXELS[:4] + np.reshape(jitter, (4, 2))
    pixels = pixels[np.random.default_rng(seed).permutation(4)]
    homography = fit_homography(pixels, true_map(pixels))
    assert residuals(homography, pixels, true_map(pixels)).max() < 1e-6
