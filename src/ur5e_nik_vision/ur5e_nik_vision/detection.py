"""From a picture to cubes: mask, silhouettes, footprints, and a reason for each refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration
from .colour import ColourRange
from .errors import VisionError
from .square_fit import Boxes, refine_boxes, rough_boxes

Array = NDArray[np.float64]
Region = tuple[float, float, float, float]  # x_min, x_max, y_min, y_max [m]
NOWHERE: Region = (0.0, 0.0, 0.0, 0.0)

# Only so many of the largest objects are looked at, so that a noisy picture costs no time.
MAX_OBJECTS = 24
CONTOUR_POINTS = 72
OPENING = np.ones((3, 3), np.uint8)
# Sides of a cube's footprint may differ by this share before it counts as another thing.
MAX_UNEQUAL = 0.12
# A top face alone must be more square, or a part of a side face counts as top.
MAX_UNEQUAL_TOP = 0.05
# A cube's border strays from the fitted silhouette by no more, relative to its edge and in pixels.
MAX_STRAY = 0.06
MAX_STRAY_PIXELS = 2.0
# Share of samples along each side that must show a clear edge.
MIN_SEEN = 0.4


@dataclass(frozen=True)
class DetectorSettings:
    """What to look for and where; metres, in the calibration's frame.

    cube_height: of the cubes' top faces above surface_z, the plane on which they stand.
    cube_width: expected edge of their footprints; 0: as cube_height.
    size_tolerance: how far a width may be from the expected one, as a share of it.
    region: x_min, x_max, y_min, y_max; centres outside it are refused.
    watch_region: the same of where cubes are measured that are not to be picked; four zeros: nowhere.
    min_area: smallest silhouette looked at [pixels].
    """

    cube_height: float = 0.045
    cube_width: float = 0.0
    size_tolerance: float = 0.35
    surface_z: float = 0.0
    region: Region = (0.34, 0.66, -0.43, -0.03)
    watch_region: Region = (0.33, 0.63, 0.07, 0.37)
    min_area: float = 200.0

    def __post_init__(self) -> None:
        for name in ("region", "watch_region"):
            x_min, x_max, y_min, y_max = region = getattr(self, name)
            if not (x_min < x_max and y_min < y_max) and (name == "region" or any(region)):
                raise VisionError(f"{name} {list(region)} is empty; it is x_min, x_max, y_min, y_max in metres")

    @property
    def expected_width(self) -> float:
        """Edge of the footprint to expect [m]; 0: any."""
        return self.cube_width or self.cube_height


@dataclass(frozen=True)
class Cube:
    """One whole cube.

    colour: its name; position: (3,) its centre [m]; yaw: of a side's normal, in (-pi/4, pi/4] [rad]; width: measured
    edge of its footprint [m]; pixel: (2,) of its top face's centre; top, bottom: (4, 2) pixels of
    the corners of its upper and lower face.
    """

    colour: str
    position: Array
    yaw: float
    width: float
    pixel: Array
    top: Array
    bottom: Array


@dataclass(frozen=True)
class Rejection:
    """Something of the right colour that is no whole cube in the region.

    colour: its name; reason: one line; pixel: (2,) its centroid; position: (3,) roughly where it is, if it is as high
    as a cube [m]; border: (N, 2) pixels.
    """

    colour: str
    reason: str
    pixel: Array
    position: Array
    border: NDArray[np.int32]


@dataclass(frozen=True)
class _Silhouette:
    """A connected region of a colour's mask: its border (N, 2) and centroid (2,) in pixels."""

    colour: str
    border: NDArray[np.int32]
    centroid: Array


@dataclass(frozen=True)
class Detection:
    """What one picture shows: cubes in the region and in the watched one, and what was refused.

    Of each colour the largest silhouette comes first.
    """

    cubes: tuple[Cube, ...]
    rejections: tuple[Rejection, ...]
    watched: tuple[Cube, ...] = ()


def find_cubes(
    picture: NDArray[np.uint8],
    calibration: Calibration,
    colours: Mapping[str, ColourRange],
    settings: DetectorSettings,
) -> Detection:
    """All whole cubes of some colours in a (H, W, 3) BGR picture of the calibration's size."""
    refused: list[tuple[_Silhouette, str]] = []
    silhouettes: list[_Silhouette] = []
    for colour, border in _borders(picture, colours):
        silhouette, reason = _screen(colour, border, picture.shape, calibration, settings)
        if reason:
            refused.append((silhouette, reason))
        else:
            silhouettes.append(silhouette)
    cubes: list[Cube] = []
    watched: list[Cube] = []
    results = _fit(silhouettes, picture, calibration, settings)
    for silhouette, result in zip(silhouettes, results, strict=True):
        if isinstance(result, Cube):
            inside = _inside(result.position[0], result.position[1], settings.region, 0.0)
            (cubes if inside else watched).append(result)
        else:
            refused.append((silhouette, result))
    return Detection(tuple(cubes), _rejections(refused, calibration, settings), tuple(watched))


def watches(calibration: Calibration, settings: DetectorSettings) -> bool:
    """Whether the picture shows all of the watched region, so that a cube that is not seen there is not there."""
    if not any(settings.watch_region):
        return False
    x_min, x_max, y_min, y_max = settings.watch_region
    corners = [(x, y, settings.surface_z) for x in (x_min, x_max) for y in (y_min, y_max)]
    pixels = calibration.to_image(np.array(corners))
    return bool(np.all((pixels > 0) & (pixels < np.array(calibration.size) - 1)))


def _rejections(
    refused: list[tuple[_Silhouette, str]], calibration: Calibration, settings: DetectorSettings
) -> tuple[Rejection, ...]:
    if not refused:
        return ()
    pixels = np.stack([silhouette.centroid for silhouette, _ in refused])
    middle = settings.surface_z + settings.cube_height / 2
    return tuple(
        Rejection(silhouette.colour, reason, silhouette.centroid, np.array([x, y, middle]), silhouette.border)
        for (silhouette, reason), (x, y) in zip(refused, calibration.to_plane(pixels, middle), strict=True)
    )


def _borders(picture: NDArray[np.uint8], colours: Mapping[str, ColourRange]) -> list[tuple[str, NDArray[np.int32]]]:
    """Colour and border (N, 2) of every silhouette, the largest of each colour first."""
    # Smoothed only for the mask: sensor noise frays its border; the fit reads the picture itself.
    smooth = cv2.blur(picture, (3, 3))
    hsv = np.asarray(cv2.cvtColor(smooth, cv2.COLOR_BGR2HSV), dtype=np.uint8)
    borders = []
    for name, colour in colours.items():
        mask = cv2.morphologyEx(colour.mask_hsv(hsv), cv2.MORPH_OPEN, OPENING)
        found, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        largest = sorted(found, key=len)[-MAX_OBJECTS:]
        borders += [(name, np.asarray(border[:, 0], dtype=np.int32)) for border in reversed(largest)]
    return borders


def fold_yaw(yaw: float) -> float:
    """The same square's yaw in (-pi/4, pi/4] [rad]."""
    return yaw - math.pi / 2 * math.ceil(yaw / (math.pi / 2) - 0.5)


def _screen(
    colour: str,
    border: NDArray[np.int32],
    shape: tuple[int, ...],
    calibration: Calibration,
    settings: DetectorSettings,
) -> tuple[_Silhouette, str]:
    """The silhouette with a border, and why it is not worth a fit, or ""."""
    moments = cv2.moments(border)
    if moments["m00"] > 0:
        centroid = np.array([moments["m10"], moments["m01"]]) / moments["m00"]
    else:
        centroid = border.mean(axis=0)
    silhouette = _Silhouette(colour, border, centroid)
    # moments takes the border pixels' centres for corners; Pick's theorem adds what that leaves out.
    area = moments["m00"] + len(border) / 2 + 1
    if area < settings.min_area:
        return silhouette, f"too small: {area:.0f} of {settings.min_area:.0f} pixels"
    low, high = border.min(axis=0), border.max(axis=0)
    if low.min() <= 0 or high[0] >= shape[1] - 1 or high[1] >= shape[0] - 1:
        return silhouette, "cut by the picture's edge"
    middle = settings.surface_z + settings.cube_height / 2
    x, y = calibration.to_plane(centroid, middle)
    margin = settings.expected_width / 2
    if not any(_inside(x, y, region, margin) for region in (settings.region, settings.watch_region)):
        return silhouette, f"outside the region, at x {x:.2f}, y {y:.2f}"
    return silhouette, ""


def _fit(
    silhouettes: list[_Silhouette],
    picture: NDArray[np.uint8],
    calibration: Calibration,
    settings: DetectorSettings,
) -> list[Cube | str]:
    """The cube that each silhouette shows, or why it shows none."""
    top = settings.surface_z + settings.cube_height
    results = _fit_boxes(silhouettes, picture, calibration, settings, settings.surface_z, top)
    failed = [i for i, result in enumerate(results) if not isinstance(result, Cube)]
    # In bad light side faces may be too dark for the mask: then the top face is all there is.
    flat = [silhouettes[i] for i in failed]
    for i, result in zip(failed, _fit_boxes(flat, picture, calibration, settings, top, top), strict=True):
        if isinstance(result, Cube):
            results[i] = result
    return results


def _fit_boxes(
    silhouettes: list[_Silhouette],
    picture: NDArray[np.uint8],
    calibration: Calibration,
    settings: DetectorSettings,
    bottom: float,
    top: float,
) -> list[Cube | str]:
    if not silhouettes:
        return []
    contours = np.stack([_resample(silhouette.border) for silhouette in silhouettes])
    centroids = np.stack([silhouette.centroid for silhouette in silhouettes])
    boxes = rough_boxes(contours, centroids, calibration, bottom, top)
    boxes = refine_boxes(boxes, picture, calibration, bottom, top)
    upper, lower = (_corner_pixels(boxes, z, calibration) for z in (top, bottom))
    strays = _strays(contours, upper, lower)
    allowed = np.maximum(MAX_STRAY_PIXELS, MAX_STRAY * np.linalg.norm(upper[:, 1] - upper[:, 0], axis=-1))
    max_unequal = MAX_UNEQUAL if bottom < top else MAX_UNEQUAL_TOP
    results: list[Cube | str] = []
    for i in range(len(silhouettes)):
        stray = float(strays[i]) if strays[i] > allowed[i] else 0.0
        results.append(
            _judge(boxes, i, stray, max_unequal, settings)
            or Cube(
                colour=silhouettes[i].colour,
                position=np.array([*boxes.centre[i], settings.surface_z + settings.cube_height / 2]),
                yaw=fold_yaw(float(boxes.yaw[i])),
                width=float(boxes.half[i].sum()),
                pixel=upper[i].mean(axis=0),
                top=upper[i],
                bottom=lower[i],
            )
        )
    return results


def _judge(boxes: Boxes, i: int, stray: float, max_unequal: float, settings: DetectorSettings) -> str:
    """Why a fitted box is no whole cube in the region, or ""; stray: what its border strays too far, or 0."""
    (x, y), half, seen = boxes.centre[i], boxes.half[i], boxes.seen[i]
    if not np.all(np.isfinite([x, y, *half])) or half.min() <= 0:
        return "not a cube: no footprint fits"
    size = f"{2e3 * half[0]:.0f} x {2e3 * half[1]:.0f} mm"
    expected, width = settings.expected_width, half.sum()
    if expected and width > (1 + settings.size_tolerance) * expected:
        return f"too large: {size}; cubes that touch?"
    if np.ptp(half) > max_unequal * half.max():
        return f"not square: {size}; partly hidden, or cubes that touch?"
    if expected and width < (1 - settings.size_tolerance) * expected:
        return f"too narrow: {size}; partly hidden?"
    if stray:
        return f"not a cube: its border strays {stray:.1f} pixels from a cube's; partly hidden?"
    if seen.min() < MIN_SEEN:
        return "not a cube: a side has no clear edge"
    if not any(_inside(x, y, region, 0.0) for region in (settings.region, settings.watch_region)):
        return f"outside the region, at x {x:.3f}, y {y:.3f}"
    return ""


def _inside(x: float, y: float, region: Region, margin: float) -> bool:
    x_min, x_max, y_min, y_max = region
    return any(region) and x_min - margin <= x <= x_max + margin and y_min - margin <= y <= y_max + margin


def _resample(border: NDArray[np.int32]) -> Array:
    return border[np.arange(CONTOUR_POINTS) * len(border) // CONTOUR_POINTS].astype(np.float64)


def _corner_pixels(boxes: Boxes, z: float, calibration: Calibration) -> Array:
    corners = boxes.corners()
    return calibration.to_image(np.concatenate([corners, np.full((*corners.shape[:2], 1), z)], -1))


def _strays(contours: Array, upper: Array, lower: Array) -> Array:
    """How far borders (N, M, 2) stray from the hulls of projected corners, two (N, 4, 2) [pixels]."""
    corners = np.concatenate([upper, lower], axis=1)
    edges = np.concatenate([np.roll(upper, -1, axis=1) - upper, np.roll(lower, -1, axis=1) - lower, upper - lower], 1)
    length = np.linalg.norm(edges, axis=-1, keepdims=True)
    normals = np.stack([-edges[..., 1], edges[..., 0]], axis=-1) / np.maximum(length, 1e-6)
    normals = np.concatenate([normals, -normals], axis=1).swapaxes(1, 2)
    # Each edge of a hull is one of these edges; the others' support planes lie farther away.
    reach = (corners @ normals).max(axis=1)
    reach[np.concatenate([length, length], axis=1)[..., 0] < 1e-3] = np.inf
    outside = (contours @ normals - reach[:, None]).max(axis=-1)
    # The border's pixels lie half a pixel inside; a few of them may be spoilt.
    return np.sort(np.abs(outside + 0.5), axis=1)[:, int(0.95 * contours.shape[1])]
