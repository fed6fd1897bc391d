"""Pictures of boxes under a pinhole camera, made ray by ray; nothing of the package is used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

RED = (25, 25, 200)
TABLE = (140, 150, 155)


@dataclass(frozen=True)
class Box:
    """An upright box: centre x, y of its footprint, yaw [rad], edges, bottom z; metres."""

    x: float
    y: float
    yaw: float = 0.0
    width: float = 0.045
    height: float = 0.045
    depth: float | None = None
    bottom: float = 0.0
    colour: tuple[int, int, int] = RED
    # Shades of the faces +x, -x, +y, -y, top in the box's own frame.
    shades: tuple[float, ...] = (0.7, 0.5, 0.8, 0.45, 1.0)


@dataclass(frozen=True)
class Scene:
    """A camera over a table. Optical axes in the world: right (-y), down (-x), forward (-z)."""

    width: int = 640
    height: int = 480
    fov: float = 44.0
    position: tuple[float, float, float] = (0.5, 0.0, 1.2)
    turn: tuple[tuple[float, ...], ...] = ((0, -1, 0), (-1, 0, 0), (0, 0, -1))
    distortion: tuple[float, ...] = ()
    table: tuple[int, int, int] = TABLE
    boxes: tuple[Box, ...] = ()
    oversampling: int = 6
    painters: tuple = field(default=())

    @property
    def matrix(self) -> np.ndarray:
        f = self.width / (2 * np.tan(np.radians(self.fov) / 2))
        return np.array([[f, 0, (self.width - 1) / 2], [0, f, (self.height - 1) / 2], [0, 0, 1.0]])

    def project(self, points) -> np.ndarray:
        """Pixels (N, 2) of points (N, 3), with the Brown-Conrady distortion k1 k2 p1 p2 k3."""
        camera = (np.asarray(points, float) - self.position) @ np.array(self.turn).T
        return self._distorted(camera[:, :2] / camera[:, 2:]) @ self.matrix[:2, :2].T + [
            self.matrix[0, 2],
            self.matrix[1, 2],
        ]

    def _distorted(self, xy: np.ndarray) -> np.ndarray:
        if not self.distortion:
            return xy
        k1, k2, p1, p2, k3 = self.distortion
        x, y = xy[..., 0], xy[..., 1]
        r2 = x * x + y * y
        radial = 1 + r2 * (k1 + r2 * (k2 + r2 * k3))
        return np.stack(
            [
                x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
                y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
            ],
            axis=-1,
        )

    def rays(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Directions (..., 3) in the world of the light that falls on pixels u, v."""
        m = self.matrix
        seen = np.stack([(u - m[0, 2]) / m[0, 0], (v - m[1, 2]) / m[1, 1]], axis=-1)
        ideal = seen
        if self.distortion:
            for _ in range(12):
                ideal = ideal + seen - self._distorted(ideal)
        return np.concatenate([ideal, np.ones((*u.shape, 1))], axis=-1) @ np.array(self.turn, float)

    def render(self) -> np.ndarray:
        """The (H, W, 3) BGR picture, anti-aliased by averaging oversampling^2 rays a pixel."""
        picture = np.empty((self.height, self.width, 3))
        picture[:] = self.table
        boxes = sorted(self.boxes, key=lambda box: box.bottom)
        for u0, u1, v0, v1 in self._windows(boxes):
            picture[v0:v1, u0:u1] = self._trace(boxes, u0, u1, v0, v1)
        for paint in self.painters:
            picture = paint(picture)
        return np.clip(np.rint(picture), 0, 255).astype(np.uint8)

    def _windows(self, boxes):
        for box in boxes:
            corners = np.array(
                [
                    _footprint(box, sx, sy) + (box.bottom + sz * box.height,)
                    for sx in (-0.5, 0.5)
                    for sy in (-0.5, 0.5)
                    for sz in (0, 1)
                ]
            )
            pixels = self.project(corners)
            u0, v0 = np.floor(pixels.min(axis=0)).astype(int) - 2
            u1, v1 = np.ceil(pixels.max(axis=0)).astype(int) + 3
            u0, v0 = max(u0, 0), max(v0, 0)
            u1, v1 = min(u1, self.width), min(v1, self.height)
            if u0 < u1 and v0 < v1:
                yield u0, u1, v0, v1

    def _trace(self, boxes, u0, u1, v0, v1):
        n = self.oversampling
        offset = (np.arange(n) + 0.5) / n - 0.5
        v, u = np.meshgrid(
            (np.arange(v0, v1)[:, None] + offset).ravel(),
            (np.arange(u0, u1)[:, None] + offset).ravel(),
            indexing="ij",
        )
        rays = self.rays(u, v)
        colours = np.empty((*u.shape, 3))
        colours[:] = self.table
        nearest = np.full(u.shape, np.inf)
        for box in boxes:
            distance, face = _hit(box, np.array(self.position, float), rays)
            front = distance < nearest
            shade = np.array(box.shades)[face][..., None] * np.array(box.colour, float)
            colours = np.where(front[..., None], shade, colours)
            nearest = np.minimum(nearest, distance)
        return colours.reshape(v1 - v0, n, u1 - u0, n, 3).mean(axis=(1, 3))

    def with_boxes(self, *boxes: Box) -> Scene:
        return replace(self, boxes=boxes)


def _footprint(box: Box, sx: float, sy: float) -> tuple[float, float]:
    c, s = np.cos(box.yaw), np.sin(box.yaw)
    dx, dy = sx * box.width, sy * (box.depth or box.width)
    return box.x + c * dx - s * dy, box.y + s * dx + c * dy


def _hit(box: Box, origin: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance along each ray to the box (inf: none) and the face: +x, -x, +y, -y, top."""
    c, s = np.cos(box.yaw), np.sin(box.yaw)
    own = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])
    start = own @ (origin - [box.x, box.y, box.bottom + box.height / 2])
    direction = rays @ own.T
    half = np.array([box.width, box.depth or box.width, max(box.height, 1e-9)]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (-half - start) / direction, (half - start) / direction
    near, far = np.minimum(a, b), np.maximum(a, b)
    entry, leave = near.max(axis=-1), far.min(axis=-1)
    axis = near.argmax(axis=-1)
    positive = np.take_along_axis(direction, axis[..., None], -1)[..., 0] < 0
    face = np.select([axis == 0, axis == 1], [1 - positive, 3 - positive], 4)
    return np.where((entry < leave) & (entry > 0), entry, np.inf), face
