"""The homography between picture and plane: fitted on point pairs, degenerate sets refused."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CalibrationError

Array = NDArray[np.float64]

# Second smallest singular value of the normalised DLT matrix; 0 when the points leave it undetermined.
MIN_CONDITION = 1e-2


def fit_homography(pixels: ArrayLike, points: ArrayLike) -> Array:
    """The (3, 3) homography that maps pixels to plane points, both (N, 2), N >= 4.

    The normalised direct linear transform, then refined by least squares on the plane; OpenCV
    takes the points in single precision (about 1e-7 of their spread).
    The picture's v axis points down and the camera looks at the plane from above (plane axes
    right-handed about the line of sight towards the camera), so the map is a mirror image.

    Raises CalibrationError: lists of unequal length, fewer than 4 points, NaN, repeated points,
    points on (nearly) one line, all but one on one line, swapped axes.
    """
    pixels, points = _checked(pixels, points)
    if _condition(pixels, points) < MIN_CONDITION:
        raise CalibrationError(
            "all or all but one of the points lie on one line; give at least 4 points of which no 3 are on one line"
        )
    homography, _ = cv2.findHomography(pixels, points, 0)
    if homography is None or not np.all(np.isfinite(homography)):
        raise CalibrationError("the points determine no homography; spread them over the picture")
    homography = np.asarray(homography, dtype=np.float64)
    depth = pixels @ homography[2, :2] + homography[2, 2]
    if np.any(depth * depth[0] <= 0):
        raise CalibrationError(
            "the points are not a plane's picture (some would lie behind the camera); "
            "check that both lists have the same order"
        )
    if np.linalg.det(homography) * depth[0] >= 0:
        raise CalibrationError(
            "the map is not a mirror image, so axes are swapped; pixels are (right, down), "
            "plane points (x, y) with z towards the camera"
        )
    return homography / homography[2, 2]


def apply_homography(homography: Array, points: Array) -> Array:
    """Points (..., 2) mapped by a (3, 3) homography."""
    mapped = points @ homography[:, :2].T + homography[:, 2]
    return mapped[..., :2] / mapped[..., 2:]


def residuals(homography: Array, pixels: ArrayLike, points: ArrayLike) -> Array:
    """Distance on the plane between each mapped pixel and its point, (N,), in the points' unit."""
    mapped = apply_homography(homography, np.asarray(pixels, dtype=np.float64))
    return np.linalg.norm(mapped - np.asarray(points, dtype=np.float64), axis=-1)


def _checked(pixels: ArrayLike, points: ArrayLike) -> tuple[Array, Array]:
    arrays = []
    for name, values in (("pixel", pixels), ("plane point", points)):
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise CalibrationError(f"the {name}s are no list of number pairs") from None
        if array.ndim != 2 or array.shape[1] != 2:
            raise CalibrationError(f"the {name}s must be pairs, shape (N, 2), not {array.shape}")
        if not np.all(np.isfinite(array)):
            raise CalibrationError(f"a {name} is NaN or infinite; every one must be finite")
        arrays.append(array)
    if len(arrays[0]) != len(arrays[1]):
        raise CalibrationError(f"{len(arrays[0])} pixels but {len(arrays[1])} plane points; give one of each per pair")
    if len(arrays[0]) < 4:
        raise CalibrationError(f"{len(arrays[0])} points; a homography needs at least 4")
    for name, array in zip(("pixels", "plane points"), arrays, strict=True):
        if len(np.unique(array, axis=0)) < len(array):
            raise CalibrationError(f"two {name} are equal; every point must be its own")
    return arrays[0], arrays[1]


def _condition(source: Array, target: Array) -> float:
    """How well the pairs determine a homography: 0 not at all, about 0.3 for a full grid."""
    source, target = _normalised(source), _normalised(target)
    one = np.ones((len(source), 1))
    zero = np.zeros((len(source), 3))
    homogeneous = np.hstack([source, one])
    rows = np.vstack(
        [
            np.hstack([homogeneous, zero, -target[:, :1] * homogeneous]),
            np.hstack([zero, homogeneous, -target[:, 1:] * homogeneous]),
        ]
    )
    singular = np.linalg.svd(rows, compute_uv=False)
    return float(singular[7] / singular[0])


def _normalised(points: Array) -> Array:
    centred = points - points.mean(axis=0)
    return centred / (np.sqrt(np.mean(np.sum(centred**2, axis=1)) / 2) or 1.0)
