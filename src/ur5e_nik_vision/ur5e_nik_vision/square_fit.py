"""Fits the square footprint of upright cubes to their silhouettes, all cubes at once.

Seen from above, each side of an upright box ends in its top edge where the camera does not see
the side face, and in its bottom edge where it does. Lifted to the heights of those edges, all
silhouette points of a box lie on one rectangle: its footprint. No side face pulls its centre.
Where the side faces are too dark to be seen, the silhouette is the top face alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from .calibration import Calibration

Array = NDArray[np.float64]

YAWS = np.radians(np.arange(0.0, 90.0, 7.5))
SAMPLES = np.linspace(-0.8, 0.8, 17)
STEP = 0.5
# Pixels across an edge. The pixels half of one from a mask's border must lie well inside.
TAPS = np.arange(-2.5, 2.5 + STEP / 2, STEP)
ENDS = 3
ITERATIONS = 2
MIN_CONTRAST = 12.0
MAX_SCATTER = 1.0


@dataclass(frozen=True)
class Boxes:
    """Rectangular footprints of N boxes that stand on one plane.

    centre: (N, 2) [m]; yaw: (N,) [rad], of the normal of side 0; half: (N, 2) half sizes [m]
    along side 0's and side 1's normals; seen: (N, 4) share of each side's samples that showed
    a clear edge.
    """

    centre: Array
    yaw: Array
    half: Array
    seen: Array

    def normals(self) -> Array:
        """Outward normals of the four sides, (N, 4, 2)."""
        return _normals(self.yaw)

    def corners(self) -> Array:
        """Corners of the footprints, (N, 4, 2), counter-clockwise."""
        normals = self.normals()
        along = normals * self.half[:, [0, 1, 0, 1], None]
        return self.centre[:, None] + along + np.roll(along, -1, axis=1)


def rough_boxes(contours: Array, centroids: Array, calibration: Calibration, bottom: float, top: float) -> Boxes:
    """Boxes from mask contours: the yaw of smallest footprint, within a few degrees and pixels.

    contours: (N, M, 2) pixels on each silhouette's border; centroids: (N, 2) of the silhouettes,
    pixels; bottom, top: heights of the boxes' faces [m], equal for top faces alone.
    """
    # A box is symmetric about its centre, and so, nearly, is its silhouette.
    middle = calibration.to_plane(centroids, (bottom + top) / 2)
    low = calibration.to_plane(contours, bottom) - middle[:, None]
    high = calibration.to_plane(contours, top) - middle[:, None]
    normals = _normals(YAWS)
    directions = normals.reshape(-1, 2).T
    reach_low = (low @ directions).max(axis=1).reshape(-1, *normals.shape[:2])
    reach_high = (high @ directions).max(axis=1).reshape(-1, *normals.shape[:2])
    foot = calibration.camera.position[:2] - middle
    seen = (foot @ directions).reshape(reach_low.shape) > (reach_low + reach_high) / 2
    reach = np.where(seen, reach_low, reach_high)
    sizes = reach[:, :, :2] + reach[:, :, 2:]
    best = np.argmin(sizes.prod(axis=-1), axis=1)
    rows = np.arange(len(best))
    reach, normal = reach[rows, best], normals[best]
    shift = (reach[:, :2] - reach[:, 2:]) / 2
    centre = middle + np.einsum("nk,nki->ni", shift, normal[:, :2])
    return Boxes(centre, YAWS[best], sizes[rows, best] / 2, np.zeros((len(best), 4)))


def refine_boxes(
    boxes: Boxes, picture: NDArray[np.uint8], calibration: Calibration, bottom: float, top: float
) -> Boxes:
    """Boxes moved onto the edges of the (H, W, 3) BGR picture, to a few hundredths of a pixel."""
    for _ in range(ITERATIONS):
        boxes = _step(boxes, picture, calibration, bottom, top)
    return boxes


def _step(boxes: Boxes, picture: NDArray[np.uint8], calibration: Calibration, bottom: float, top: float) -> Boxes:
    normals = boxes.normals()
    tangents = np.stack([-normals[..., 1], normals[..., 0]], axis=-1)
    reach = boxes.half[:, [0, 1, 0, 1]]
    lateral = boxes.half[:, [1, 0, 1, 0], None] * SAMPLES
    foot = calibration.camera.position[:2] - boxes.centre
    visible = np.einsum("ni,nki->nk", foot, normals) > reach

    flat = (
        boxes.centre[:, None, None]
        + (normals * reach[..., None])[:, :, None]
        + tangents[:, :, None] * lateral[..., None]
    )
    points = np.empty((*flat.shape[:-1], 3))
    points[..., :2] = flat
    points[..., 2] = np.where(visible, bottom, top)[..., None]
    pixels = calibration.to_image(points)
    points[..., :2] += 1e-3 * normals[:, :, None]
    across = calibration.to_image(points) - pixels
    scale = np.linalg.norm(across, axis=-1)
    offset, clear = _edge_offsets(picture, pixels, across / scale[..., None])
    offset = offset * 1e-3 / scale

    # Robust over the samples of a side: a highlight or a neighbour spoils a few of them.
    ranked = np.sort(np.where(clear, offset, np.inf), axis=-1)
    half_way = np.maximum(clear.sum(axis=-1, keepdims=True) - 1, 0) // 2
    middle = np.take_along_axis(ranked, half_way, axis=-1)
    clear &= np.abs(offset - middle) < MAX_SCATTER * 1e-3 / scale
    count = clear.sum(axis=-1)
    weight = clear / np.maximum(count, 1)[..., None]
    mean = (weight * offset).sum(axis=-1)
    turn = -(clear * lateral * offset).sum(axis=(-1, -2)) / np.maximum((clear * lateral**2).sum(axis=(-1, -2)), 1e-12)
    shift = (mean[:, :2] - mean[:, 2:]) / 2
    return Boxes(
        boxes.centre + np.einsum("nk,nki->ni", shift, normals[:, :2]),
        boxes.yaw + np.clip(turn, -0.1, 0.1),
        boxes.half + (mean[:, :2] + mean[:, 2:]) / 2,
        count / len(SAMPLES),
    )


def _edge_offsets(picture: NDArray[np.uint8], pixels: Array, across: Array) -> tuple[Array, NDArray[np.bool_]]:
    """How far along across (..., 2) from pixels (..., 2) the edge lies [pixels], and if it is clear.

    Each profile is unmixed into box and surroundings: 0 for the box's colour in any shade,
    1 for the surroundings. The sum of the rest is the edge's place.
    """
    track = (pixels[..., None, :] + across[..., None, :] * TAPS[:, None]).astype(np.float32)
    track = track.reshape(-1, len(TAPS), 2)
    values = cv2.remap(picture, track[..., 0], track[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    values = values.reshape(*pixels.shape[:-1], len(TAPS), 3).astype(np.float32)
    inside = values[..., :ENDS, :].mean(axis=-2)
    outside = values[..., -ENDS:, :].mean(axis=-2)
    colour = inside / np.maximum(np.linalg.norm(inside, axis=-1, keepdims=True), 1.0)
    other = outside - (outside * colour).sum(axis=-1, keepdims=True) * colour
    strength = np.linalg.norm(other, axis=-1)
    # Against black surroundings only the brightness tells, shades and all.
    plain = strength < MIN_CONTRAST
    other = np.where(plain[..., None], outside - inside, other)
    origin = np.where(plain[..., None], inside, 0.0)
    square = (other**2).sum(axis=-1)
    share = ((values - origin[..., None, :]) * other[..., None, :]).sum(axis=-1)
    share = np.clip(share / np.maximum(square, 1e-9)[..., None], -0.25, 1.25)
    offset = TAPS[-1] + STEP / 2 - share.sum(axis=-1) * STEP
    return offset, square > MIN_CONTRAST**2


def _normals(yaw: Array) -> Array:
    angles = yaw[..., None] + np.radians([0.0, 90.0, 180.0, 270.0])
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
