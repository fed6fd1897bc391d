"""What a calibrated camera knows: pixels to metres at any height, and its YAML file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from .atomic_file import write_text
from .camera import Camera, Lens, pose_from_points, size_scaling
from .errors import CalibrationError
from .homography import apply_homography, fit_homography, residuals

Array = NDArray[np.float64]

# The homography and the pose are two accounts of one camera; a file where they differ is damaged.
MAX_DISAGREEMENT = 2.0
# A live camera_info this far from the file's, relative to the picture's width, is another lens.
MAX_LENS_CHANGE = 0.02


@dataclass(frozen=True)
class Residuals:
    """Distances between measured and true plane points [mm]."""

    count: int
    median: float
    mean: float
    max: float

    @classmethod
    def of(cls, distances: Array) -> Residuals:
        """From distances (N,) in metres."""
        mm = 1e3 * distances
        return cls(len(mm), *(round(float(f(mm)), 4) for f in (np.median, np.mean, np.max)))


@dataclass(frozen=True)
class Calibration:
    """An overhead camera over a horizontal plane; metres in frame_id.

    homography: (3, 3), ideal pixel to (x, y) at height plane_z. The camera's position lifts such
    a point to another height along the line of sight.
    """

    camera: Camera
    homography: Array
    plane_z: float
    frame_id: str
    fit: Residuals
    held_out: Residuals

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return self.camera.lens.width, self.camera.lens.height

    @cached_property
    def _to_ideal(self) -> Array:
        return np.asarray(np.linalg.inv(self.homography), dtype=np.float64)

    def to_plane(self, pixels: Array, z: ArrayLike) -> Array:
        """Points (..., 2) x, y that pixels (..., 2) show, if they are at height z (scalar or (...))."""
        flat = apply_homography(self.homography, self.camera.lens.undistort(pixels))
        return self._shift(flat, self._lift(z))

    def to_image(self, points: Array) -> Array:
        """Pixels (..., 2) of points (..., 3) below the camera."""
        flat = self._shift(points[..., :2], 1 / self._lift(points[..., 2]))
        ideal = apply_homography(self._to_ideal, flat)
        return self.camera.lens.distort(ideal)

    def scaled(self, width: int, height: int) -> Calibration:
        """For a picture of another size. Raises CalibrationError if its shape is another, too."""
        if (width, height) == self.size:
            return self
        scaling = size_scaling(self.size, (width, height))
        lens = self.camera.lens.scaled(width, height)
        return replace(
            self,
            camera=replace(self.camera, lens=lens),
            homography=self.homography @ np.linalg.inv(scaling),
        )

    def with_lens(self, lens: Lens) -> Calibration:
        """With the lens that camera_info reports, of the same size.

        Raises CalibrationError when it is another lens than the one that was calibrated.
        """
        change = np.abs(lens.matrix - self.camera.lens.matrix).max()
        if change > MAX_LENS_CHANGE * lens.width:
            raise CalibrationError(
                f"camera_info reports fx {lens.matrix[0, 0]:.1f}, cx {lens.matrix[0, 2]:.1f}, "
                f"the calibration was made with fx {self.camera.lens.matrix[0, 0]:.1f}, "
                f"cx {self.camera.lens.matrix[0, 2]:.1f}: another lens; calibrate again"
            )
        return replace(self, camera=replace(self.camera, lens=lens))

    def save(self, path: Path) -> None:
        """Write the YAML file in one step: a reader sees the old file or the new one."""
        camera, lens = self.camera, self.camera.lens
        content = {
            "image_size": [lens.width, lens.height],
            "frame_id": self.frame_id,
            "plane_z": self.plane_z,
            "homography": self.homography.tolist(),
            "camera_matrix": lens.matrix.tolist(),
            "distortion_model": "rational_polynomial" if lens.distortion.size == 8 else "plumb_bob",
            "distortion": lens.distortion.tolist(),
            "camera_position": camera.position.tolist(),
            "camera_rotation": camera.rotation.tolist(),
            "residuals_mm": {"fit": vars(self.fit), "held_out": vars(self.held_out)},
        }
        text = (
            "# Made by: ros2 run ur5e_nik_vision calibrate. Metres in frame_id, pixels from the\n"
            "# centre of the first one. homography: undistorted pixel to (x, y) at plane_z.\n"
            + yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
        )
        write_text(path, text)

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Read a file that save() wrote. Raises CalibrationError with the file's name and the fault."""
        try:
            content = yaml.safe_load(path.read_text())
        except OSError as error:
            raise CalibrationError(
                f"cannot read calibration file '{path}': {error.strerror}; "
                "make one with: ros2 run ur5e_nik_vision calibrate"
            ) from None
        except (yaml.YAMLError, UnicodeDecodeError):
            raise CalibrationError(f"calibration file '{path}' is not YAML") from None
        try:
            return cls._parse(content)
        except CalibrationError as error:
            raise CalibrationError(f"calibration file '{path}': {error}") from None

    @classmethod
    def _parse(cls, content: Any) -> Calibration:
        if not isinstance(content, dict):
            raise CalibrationError("holds no keys; make it with: ros2 run ur5e_nik_vision calibrate")
        width, height = _numbers(content, "image_size", (2,))
        lens = Lens.from_camera_info(
            int(width),
            int(height),
            _numbers(content, "camera_matrix", (3, 3)),
            _numbers(content, "distortion", (-1,)),
            content.get("distortion_model", "plumb_bob"),
        )
        rotation = _numbers(content, "camera_rotation", (3, 3))
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-4 or np.linalg.det(rotation) < 0:
            raise CalibrationError("camera_rotation is no rotation matrix")
        camera = Camera(lens, _numbers(content, "camera_position", (3,)), rotation)
        frame_id = content.get("frame_id")
        if not isinstance(frame_id, str) or not frame_id:
            raise CalibrationError("frame_id must name the frame of the positions")
        kept: Any = content.get("residuals_mm")
        try:
            fit, held_out = (Residuals(**kept[name]) for name in ("fit", "held_out"))
        except (TypeError, KeyError):
            raise CalibrationError(
                "residuals_mm must hold fit and held_out, each with count, median, mean and max"
            ) from None
        calibration = cls(
            camera,
            _numbers(content, "homography", (3, 3)),
            float(_numbers(content, "plane_z", ())),
            frame_id,
            fit,
            held_out,
        )
        calibration._check()
        return calibration

    def _check(self) -> None:
        if self.camera.position[2] <= self.plane_z or self.camera.rotation[2, 2] >= 0:
            raise CalibrationError("the camera must look down on the plane")
        if np.linalg.cond(self.homography) > 1e12:
            raise CalibrationError("the homography is singular")
        width, height = self.size
        pixels = np.array([(x, y) for x in (0.0, width - 1.0) for y in (0.0, height - 1.0)])
        flat = self.to_plane(pixels, self.plane_z)
        points = np.column_stack([flat, np.full(len(flat), self.plane_z)])
        error = np.linalg.norm(self.camera.project(points) - pixels, axis=-1).max()
        if not error < MAX_DISAGREEMENT * max(1.0, width / 640):
            raise CalibrationError(
                f"homography and camera pose disagree by {error:.1f} pixels at the picture's corners"
            )

    def _lift(self, z: ArrayLike) -> Array:
        """How far a line of sight has still to go at height z, relative to plane_z."""
        height = self.camera.position[2]
        return np.asarray((height - np.asarray(z)) / (height - self.plane_z), dtype=np.float64)

    def _shift(self, points: Array, factor: Array) -> Array:
        foot = self.camera.position[:2]
        return foot + (points - foot) * factor[..., None]


def fit_calibration(
    lens: Lens,
    pixels: Array,
    points: Array,
    held_out: NDArray[np.bool_],
    frame_id: str,
    max_residual: float,
) -> Calibration:
    """Calibrate on point pairs: pixels (N, 2), points (N, 3) of one horizontal plane [m].

    held_out: (N,), True for the points kept out of the fit, to judge it by.
    max_residual: largest distance allowed at any point [m].
    Raises CalibrationError as fit_homography does, and for points of several heights, no point
    held out, or a residual above the limit.
    """
    heights = points[:, 2]
    if np.ptp(heights) > 1e-6:
        raise CalibrationError("the points are not on one horizontal plane; give one z for all")
    if not held_out.any():
        raise CalibrationError("no point is held out; at least one is needed to judge the fit")
    ideal = lens.undistort(pixels)
    homography = fit_homography(ideal[~held_out], points[~held_out, :2])
    distances = residuals(homography, ideal, points[:, :2])
    worst = int(np.argmax(distances))
    if not distances[worst] <= max_residual:
        raise CalibrationError(
            f"residual {1e3 * distances[worst]:.2f} mm at point {worst} "
            f"({points[worst, 0]:.3f}, {points[worst, 1]:.3f}), above the limit of "
            f"{1e3 * max_residual:.2f} mm; check the points, the lens and that the plane is flat"
        )
    calibration = Calibration(
        pose_from_points(lens, pixels[~held_out], points[~held_out]),
        homography,
        float(heights[0]),
        frame_id,
        Residuals.of(distances[~held_out]),
        Residuals.of(distances[held_out]),
    )
    calibration._check()
    return calibration


def _numbers(content: dict[str, Any], key: str, shape: tuple[int, ...]) -> Array:
    if key not in content:
        raise CalibrationError(f"{key} is missing")
    try:
        numbers = np.asarray(content[key], dtype=np.float64).reshape(shape)
    except (TypeError, ValueError):
        raise CalibrationError(f"{key} must be {_shape_name(shape)}") from None
    if not np.all(np.isfinite(numbers)):
        raise CalibrationError(f"{key} holds a number that is NaN or infinite")
    return numbers


def _shape_name(shape: tuple[int, ...]) -> str:
    if not shape:
        return "a number"
    return "a list of numbers" if -1 in shape else f"{' x '.join(map(str, shape))} numbers"
