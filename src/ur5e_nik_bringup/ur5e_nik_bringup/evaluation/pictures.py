"""Pictures made worse on purpose: bad light, noise, cubes cut by the edge or hidden. numpy only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Array = NDArray[np.float64]
Random = np.random.Generator

NOISE_SIGMA = 5.0
SHADOW = 0.5
CAST = 0.1
BRIGHTNESS = (0.4, 1.4)
# Share of a cube's extent that is out of sight; with less hidden than this, its place can still be told.
CUT = (0.02, 0.95)
HIDDEN = (0.25, 0.95)
# What hides a cube is as large as a gripper and as dark [pixels, BGR].
HIDER_REACH = 90.0
HIDER = (52, 50, 48)


@dataclass(frozen=True)
class View:
    """A camera that looks straight down: image up is +x, image right is -y.

    focal: [pixels]; middle: (2,) u and v of the principal point; position: (3,) [m].
    """

    focal: float
    middle: tuple[float, float]
    position: tuple[float, float, float]

    def pixels(self, points: Array) -> Array:
        """Pixels (..., 2) of points (..., 3) [m]."""
        x, y, z = self.position
        depth = z - points[..., 2]
        right, down = (y - points[..., 1]) / depth, (x - points[..., 0]) / depth
        return np.stack([right, down], axis=-1) * self.focal + self.middle


def box_corners(centre: Array, yaw: float, edge: float) -> Array:
    """The eight corners (8, 3) of a cube that lies flat [m]."""
    signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * edge / 2
    c, s = math.cos(yaw), math.sin(yaw)
    return np.asarray(centre + signs @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]))


def darker_or_brighter(picture: Picture, _: Array, random: Random) -> Picture:
    """All of it 0.4 to 1.4 times as bright."""
    return _to_bytes(picture * np.float32(random.uniform(*BRIGHTNESS)))


def colour_cast(picture: Picture, _: Array, random: Random) -> Picture:
    """Each channel 10 % stronger or weaker."""
    return _to_bytes(picture * (1 + CAST * random.choice([-1, 1], 3)).astype(np.float32))


def sensor_noise(picture: Picture, _: Array, random: Random) -> Picture:
    """Noise of sigma 5 on every pixel and channel."""
    return _to_bytes(picture + np.float32(NOISE_SIGMA) * random.standard_normal(picture.shape, np.float32))


def half_shadow(picture: Picture, corners: Array, random: Random) -> Picture:
    """Half as bright on one side of a line, at any angle, through the cube with corners (N, 2) [pixels]."""
    through = corners[random.integers(len(corners))] * 0.5 + corners.mean(axis=0) * 0.5
    shaded = _side(picture, through, random.uniform(0, 2 * math.pi)) > 0
    return _to_bytes(picture * np.where(shaded, SHADOW, 1.0).astype(np.float32)[..., None])


def cut(picture: Picture, corners: Array, random: Random) -> Picture:
    """The picture moved until one of its edges cuts the cube with corners (N, 2) [pixels]."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    share, axis, far = random.uniform(*CUT), random.integers(2), random.integers(2)
    # Coordinates are (u, v), arrays are (v, u).
    size = picture.shape[1 - axis]
    edge = size - 1 - (1 - share) * (high - low)[axis] if far else -share * (high - low)[axis]
    shift = round(float(low[axis] - edge))
    source = np.clip(np.arange(size) + shift, 0, size - 1)
    return np.ascontiguousarray(np.take(picture, source, axis=1 - axis))


def hidden(picture: Picture, corners: Array, random: Random) -> Picture:
    """Something dark reaches over the cube with corners (N, 2) [pixels], from any side."""
    angle, share = random.uniform(0, 2 * math.pi), random.uniform(*HIDDEN)
    along = corners @ [math.cos(angle), math.sin(angle)]
    middle = corners.mean(axis=0)
    depth = along.max() - share * np.ptp(along) - middle @ [math.cos(angle), math.sin(angle)]
    side, across = _side(picture, middle, angle) - depth, _side(picture, middle, angle + math.pi / 2)
    covered = (side > 0) & (side < HIDER_REACH) & (np.abs(across) < HIDER_REACH)
    return np.asarray(np.where(covered[..., None], np.array(HIDER, np.uint8), picture))


Change = Callable[[Picture, Array, Random], Picture]

# In these each cube is still whole.
LIGHT: dict[str, Change] = {
    "brightness": darker_or_brighter,
    "colour cast": colour_cast,
    "noise": sensor_noise,
    "half shadow": half_shadow,
}
# In these the one cube is whole no more.
OUT: dict[str, Change] = {"cut": cut, "hidden": hidden}


def _side(picture: Picture, point: Array, angle: float) -> Array:
    """How far each pixel (H, W) lies from a point along a direction [pixels]."""
    height, width, _ = picture.shape
    u, v = np.arange(width) - point[0], np.arange(height) - point[1]
    return np.asarray(math.cos(angle) * u[None, :] + math.sin(angle) * v[:, None])


def _to_bytes(values: NDArray) -> Picture:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
