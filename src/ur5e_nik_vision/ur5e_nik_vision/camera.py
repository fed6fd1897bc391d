"""A pinhole camera with lens distortion, and its pose over the plane."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CalibrationError

Array = NDArray[np.float64]

DISTORTION_MODELS = ("plumb_bob", "rational_polynomial")
MAX_SIDE = 16384
# Corners of a picture, undistorted and distorted again, must come back this near [pixels].
MAX_ROUND_TRIP = 0.05


@dataclass(frozen=True)
class Lens:
    """The optics of a camera, as sensor_msgs/CameraInfo gives them.

    matrix: (3, 3), pixels, the centre of the first pixel is (0, 0).
    distortion: OpenCV's coefficients k1, k2, p1, p2[, k3[, k4, k5, k6]]; all zero: none.
    An ideal pixel is where a distortion-free lens of the same matrix would show the point.
    """

    width: int
    height: int
    matrix: Array
    distortion: Array

    @classmethod
    def from_camera_info(cls, width: int, height: int, k: ArrayLike, d: ArrayLike, distortion_model: str) -> Lens:
        """Check the fields of a CameraInfo: k 9 numbers row by row, d any number of coefficients.

        Raises CalibrationError: zero or absurd size, no focal length (an uncalibrated camera
        sends k = 0), NaN, an unknown distortion model, coefficients that fold the picture.
        """
        if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
            raise CalibrationError(f"camera_info says {width} x {height} pixels")
        matrix = np.asarray(k, dtype=np.float64)
        distortion = np.asarray(d, dtype=np.float64).ravel()
        if matrix.size != 9 or not np.all(np.isfinite(matrix)):
            raise CalibrationError("the camera matrix must hold 9 finite numbers")
        matrix = matrix.reshape(3, 3)
        if matrix[0, 0] <= 0 or matrix[1, 1] <= 0 or abs(matrix[2, 2] - 1) > 1e-9:
            raise CalibrationError("the camera matrix has no positive focal lengths: the camera is uncalibrated")
        if not np.all(np.isfinite(distortion)):
            raise CalibrationError("a distortion coefficient is NaN or infinite")
        if not np.any(distortion):
            distortion = np.zeros(5)
        elif distortion_model not in DISTORTION_MODELS:
            raise CalibrationError(
                f"distortion model '{distortion_model}' is not supported; supported: {', '.join(DISTORTION_MODELS)}"
            )
        elif distortion.size not in (4, 5, 8):
            raise CalibrationError(f"{distortion.size} distortion coefficients; {distortion_model} has 4, 5 or 8")
        lens = cls(int(width), int(height), matrix, distortion)
        corners = np.array([(x, y) for x in (0.0, width - 1.0) for y in (0.0, height - 1.0)])
        error = np.abs(lens.distort(lens.undistort(corners)) - corners).max()
        if not error < MAX_ROUND_TRIP:
            raise CalibrationError("the distortion coefficients fold the picture's corners; calibrate the lens again")
        return lens

    @property
    def distorts(self) -> bool:
        """Whether ideal pixels differ from the picture's."""
        return bool(np.any(self.distortion))

    def undistort(self, pixels: Array) -> Array:
        """Ideal pixels (..., 2) of the picture's pixels (..., 2)."""
        if not self.distorts:
            return pixels
        criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 40, 1e-6)
        flat = np.ascontiguousarray(pixels, dtype=np.float64).reshape(-1, 1, 2)
        ideal = cv2.undistortImagePoints(flat, self.matrix, self.distortion, None, criteria)
        return np.asarray(ideal, dtype=np.float64).reshape(pixels.shape)

    def distort(self, ideal: Array) -> Array:
        """The picture's pixels (..., 2) of ideal pixels (..., 2)."""
        if not self.distorts:
            return ideal
        rays = np.ones((*ideal.shape[:-1], 3))
        rays[..., :2] = ideal
        rays = rays @ np.linalg.inv(self.matrix).T
        pixels, _ = cv2.projectPoints(rays.reshape(-1, 1, 3), np.zeros(3), np.zeros(3), self.matrix, self.distortion)
        return np.asarray(pixels, dtype=np.float64).reshape(ideal.shape)

    def scaled(self, width: int, height: int) -> Lens:
        """The same optics at another size of the same shape. Raises CalibrationError otherwise."""
        if (width, height) == (self.width, self.height):
            return self
        matrix = size_scaling((self.width, self.height), (width, height)) @ self.matrix
        return replace(self, width=width, height=height, matrix=matrix)


@dataclass(frozen=True)
class Camera:
    """A lens at a place: position (3,) and rotation (3, 3) of its optical frame.

    Metres in the frame of the plane (base_link); columns of rotation are the optical frame's
    right, down and forward axes.
    """

    lens: Lens
    position: Array
    rotation: Array

    def project(self, points: Array) -> Array:
        """Pixels (..., 2) of points (..., 3) in front of the camera."""
        rays = (points - self.position) @ self.rotation
        ideal = rays[..., :2] / rays[..., 2:] @ self.lens.matrix[:2, :2].T
        return self.lens.distort(ideal + self.lens.matrix[:2, 2])

    def on_plane(self, pixels: Array, z: float) -> Array:
        """Points (..., 2) x, y of the horizontal plane at z that pixels (..., 2) show."""
        ideal = self.lens.undistort(pixels)
        homogeneous = np.concatenate([ideal, np.ones((*ideal.shape[:-1], 1))], axis=-1)
        rays = homogeneous @ (self.rotation @ np.linalg.inv(self.lens.matrix)).T
        return self.position[:2] + rays[..., :2] * ((z - self.position[2]) / rays[..., 2:])


def size_scaling(old: tuple[int, int], new: tuple[int, int]) -> Array:
    """(3, 3) map from pixels of a picture of size old (width, height) to those of size new.

    Raises CalibrationError when the shapes differ by more than the rounding of one pixel.
    """
    if abs(old[0] * new[1] - old[1] * new[0]) > max(*old, *new) / 2:
        raise CalibrationError(
            f"the picture is {new[0]} x {new[1]}, of another shape than the calibration's "
            f"{old[0]} x {old[1]}; calibrate at this size"
        )
    sx, sy = new[0] / old[0], new[1] / old[1]
    # Pixel centres are whole numbers, so a picture's corner is at (-0.5, -0.5).
    return np.array([[sx, 0, (sx - 1) / 2], [0, sy, (sy - 1) / 2], [0, 0, 1]])


def pose_from_points(lens: Lens, pixels: Array, points: Array) -> Camera:
    """The camera that shows points (N, 3) of one plane at pixels (N, 2). Raises CalibrationError."""
    ideal = lens.undistort(pixels)
    found, turn, move = cv2.solvePnP(
        np.ascontiguousarray(points),
        np.ascontiguousarray(ideal),
        lens.matrix,
        None,
        flags=cv2.SOLVEPNP_SQPNP,
    )
    if found:
        turn, move = cv2.solvePnPRefineLM(points, ideal, lens.matrix, None, turn, move)
    if not found or not np.all(np.isfinite([turn, move])):
        raise CalibrationError("no camera pose fits the points")
    rotation = cv2.Rodrigues(turn)[0].T
    return Camera(lens, -(rotation @ move).ravel(), rotation)
