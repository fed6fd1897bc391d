"""The picture with what was found drawn in, for a person to look at."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration
from .detection import Cube, Detection, DetectorSettings, Region

Picture = NDArray[np.uint8]
Bgr = tuple[int, int, int]

CHOSEN: Bgr = (80, 255, 80)
OTHER: Bgr = (255, 220, 80)
REFUSED: Bgr = (60, 170, 255)
REGION: Bgr = (200, 120, 20)
WATCHED: Bgr = (190, 190, 190)
GROUND: Bgr = (40, 40, 40)
FONT = cv2.FONT_HERSHEY_SIMPLEX
# Drawing coordinates are in sixteenths of a pixel.
FRACTION = 4
MAX_LINES = 12


def draw(
    picture: Picture,
    detection: Detection,
    chosen: Cube | None,
    names: str,
    calibration: Calibration,
    settings: DetectorSettings,
) -> Picture:
    """A copy of a (H, W, 3) BGR picture with the regions, cubes, refusals and a legend.

    names: of the colours. The chosen cube is drawn with a thick outline and its axes.
    """
    canvas = picture.copy()
    scale = max(0.4, 0.45 * picture.shape[1] / 640)
    _outline(canvas, _region_pixels(settings.region, calibration, settings), REGION, 1)
    if any(settings.watch_region):
        _outline(canvas, _region_pixels(settings.watch_region, calibration, settings), WATCHED, 1)
    for cube in detection.watched:
        _outline(canvas, cube.top, WATCHED, 1)
    lines: list[tuple[str, Bgr]] = []
    for number, cube in enumerate(detection.cubes, 1):
        colour = CHOSEN if cube is chosen else OTHER
        _outline(canvas, _silhouette(cube), colour, 1)
        _outline(canvas, cube.top, colour, 2 if cube is chosen else 1)
        _axes(canvas, cube, colour)
        _text(canvas, str(number), cube.top.max(axis=0), 1.2 * scale, colour)
        x, y, _ = 1e3 * cube.position
        lines.append(
            (
                f"{number} {cube.colour} cube  x {x:.1f}  y {y:.1f} mm  yaw {math.degrees(cube.yaw):+.1f} deg"
                + ("  <- pick" if cube is chosen else ""),
                colour,
            )
        )
    for letter, refusal in zip("abcdefghijklmnopqrstuvwxyz", detection.rejections, strict=False):
        cv2.polylines(canvas, [refusal.border], True, REFUSED, 1, cv2.LINE_AA)
        _text(canvas, letter, refusal.border.max(axis=0), 1.2 * scale, REFUSED)
        lines.append((f"{letter} {refusal.reason}", REFUSED))
    if not detection.cubes:
        nothing = "" if detection.rejections or detection.watched else ": nothing of that colour"
        lines.insert(0, (f"no {names} cube{nothing}", REFUSED))
    _legend(canvas, lines, scale)
    return canvas


def draw_notice(picture: Picture, notice: str) -> Picture:
    """A copy of the picture with one line on it: why it was not used."""
    canvas = picture.copy()
    _legend(canvas, [(notice, REFUSED)], max(0.4, 0.45 * picture.shape[1] / 640))
    return canvas


def _region_pixels(region: Region, calibration: Calibration, settings: DetectorSettings) -> NDArray[np.float64]:
    x_min, x_max, y_min, y_max = region
    z = settings.surface_z
    corners = [(x_min, y_min, z), (x_max, y_min, z), (x_max, y_max, z), (x_min, y_max, z)]
    return calibration.to_image(np.array(corners))


def _silhouette(cube: Cube) -> NDArray[np.float64]:
    corners = np.vstack([cube.top, cube.bottom]).astype(np.float32)
    return cv2.convexHull(corners)[:, 0].astype(np.float64)


def _outline(canvas: Picture, pixels: NDArray[np.float64], colour: Bgr, thickness: int) -> None:
    fixed = np.rint(pixels * 2**FRACTION).astype(np.int32)
    cv2.polylines(canvas, [fixed], True, colour, thickness, cv2.LINE_AA, FRACTION)


def _axes(canvas: Picture, cube: Cube, colour: Bgr) -> None:
    """A cross at the top face's centre, its long arm towards the side that yaw names."""
    # Corner 0 and corner 3 bound the side whose normal has the yaw.
    ahead = (cube.top[0] + cube.top[3]) / 2
    aside = (cube.top[0] + cube.top[1]) / 2
    for end, start in ((ahead, cube.pixel), (aside, 2 * cube.pixel - aside)):
        a, b = np.rint(np.array([start, end]) * 2**FRACTION).astype(int).tolist()
        cv2.line(canvas, a, b, colour, 1, cv2.LINE_AA, FRACTION)
    centre = np.rint(cube.pixel * 2**FRACTION).astype(int).tolist()
    cv2.circle(canvas, centre, 2 << FRACTION, colour, -1, cv2.LINE_AA, FRACTION)


def _legend(canvas: Picture, lines: Sequence[tuple[str, Bgr]], scale: float) -> None:
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], (f"... and {len(lines) - MAX_LINES + 1} more", REFUSED)]
    if not lines:
        return
    sizes = [cv2.getTextSize(text, FONT, scale, 1)[0] for text, _ in lines]
    step = round(1.7 * max(height for _, height in sizes))
    right = min(canvas.shape[1], 16 + max(width for width, _ in sizes))
    panel = canvas[: step * len(lines) + step // 2, :right]
    panel[:] = panel // 4
    for row, (text, colour) in enumerate(lines, 1):
        cv2.putText(canvas, text, (8, row * step), FONT, scale, colour, 1, cv2.LINE_AA)


def _text(canvas: Picture, text: str, corner: NDArray[np.float64], scale: float, colour: Bgr) -> None:
    """A short name on a dark ground, readable on anything."""
    (width, height), below = cv2.getTextSize(text, FONT, scale, 1)
    # Below and right of the corner, but never outside the picture.
    size = np.array([width + 6, height + below + 2])
    low = np.rint(np.clip(corner, 0, np.maximum(np.array(canvas.shape[1::-1]) - size, 0))).astype(int)
    x, y = low.tolist()
    cv2.rectangle(canvas, (x, y), (x + int(size[0]), y + int(size[1])), GROUND, cv2.FILLED)
    cv2.putText(canvas, text, (x + 3, y + height + 1), FONT, scale, colour, 1, cv2.LINE_AA)
