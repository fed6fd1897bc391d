"""A printed chessboard on the plane: its corners in a picture and in the plane's frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml
from numpy.typing import NDArray

from .errors import CalibrationError
from .homography import apply_homography, fit_homography

Array = NDArray[np.float64]

DIRECTIONS = {"+x": (1.0, 0.0), "-x": (-1.0, 0.0), "+y": (0.0, 1.0), "-y": (0.0, -1.0)}
# The picture's upward direction may be this far from the one that was named.
MAX_TURN = 40.0
MAX_CORNERS = 100


@dataclass(frozen=True)
class Chessboard:
    """Inner corners of a chessboard that lies flat.

    columns: inner corners along -y; rows: along -x; square: edge of a square [m]; origin: (x, y, z)
    of the inner corner with the largest x and y [m].
    """

    columns: int
    rows: int
    square: float
    origin: tuple[float, float, float]

    def __post_init__(self) -> None:
        for name, count in (("columns", self.columns), ("rows", self.rows)):
            if not 3 <= count <= MAX_CORNERS:
                raise CalibrationError(f"{count} inner corner {name}; 3 to {MAX_CORNERS} are needed")
        if not (0 < self.square < 10 and np.all(np.isfinite(self.origin))):
            raise CalibrationError("the board's square must be positive and its origin finite")

    @classmethod
    def load(cls, path: Path) -> Chessboard:
        """From a YAML file's calibration_board: inner_corners [columns, rows], square, origin.

        Raises CalibrationError naming what is missing or wrong.
        """
        try:
            content: Any = yaml.safe_load(path.read_text())
        except OSError as error:
            raise CalibrationError(f"cannot read '{path}': {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError):
            raise CalibrationError(f"'{path}' is not YAML") from None
        try:
            board = content["calibration_board"]
            columns, rows = map(int, board["inner_corners"])
            x, y, z = map(float, board["origin"])
            return cls(columns, rows, float(board["square"]), (x, y, z))
        except CalibrationError:
            raise
        except (KeyError, TypeError, ValueError):
            raise CalibrationError(
                f"'{path}' needs calibration_board: with inner_corners: [columns, rows], "
                "square: metres and origin: [x, y, z]"
            ) from None

    def points(self) -> Array:
        """All inner corners (rows * columns, 3), the columns of the first row first."""
        row, column = np.mgrid[: self.rows, : self.columns].reshape(2, -1)
        steps = np.column_stack([-row, -column, np.zeros_like(row)])
        return np.array(self.origin) + self.square * steps

    def held_out(self) -> NDArray[np.bool_]:
        """Every second corner, (rows * columns,), like the black fields."""
        row, column = np.mgrid[: self.rows, : self.columns].reshape(2, -1)
        return (row + column) % 2 == 1


def find_corners(picture: NDArray[np.uint8], board: Chessboard, image_up: str) -> Array | None:
    """Pixels (rows * columns, 2) of the board's inner corners, in the order of board.points().

    picture: (H, W, 3) BGR; image_up: the plane's direction that points up in the picture, one of
    DIRECTIONS. None when no such board is seen. Raises CalibrationError when the board lies so that
    its first corner cannot be told.
    """
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    flags = cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_ACCURACY
    found, corners = cv2.findChessboardCornersSB(grey, (board.columns, board.rows), flags=flags)
    if not found:
        return None
    grid = corners.reshape(board.rows, board.columns, 2)
    gaps = [np.linalg.norm(np.diff(grid, axis=axis), axis=-1).min() for axis in (0, 1)]
    # The window must hold the corner's four edges and nothing of its neighbours.
    half = max(2, int(0.25 * min(gaps)))
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 50, 1e-3)
    sharp = cv2.cornerSubPix(grey, np.ascontiguousarray(corners), (half, half), (-1, -1), criteria)
    return order_corners(sharp.reshape(-1, 2).astype(np.float64), board, image_up)


def order_corners(corners: Array, board: Chessboard, image_up: str) -> Array:
    """A finder's corners, rows by rows from an end of its own, in the order of board.points()."""
    grid = corners.reshape(board.rows, board.columns, 2)
    orders = [grid, grid[::-1, ::-1], grid[::-1], grid[:, ::-1]]
    if board.rows == board.columns:
        orders += [order.swapaxes(0, 1) for order in orders]
    up = np.array(DIRECTIONS[image_up])
    best, best_turn = corners, 180.0
    for order in orders:
        pixels = order.reshape(-1, 2)
        try:
            homography = fit_homography(pixels, board.points()[:, :2])
        except CalibrationError:
            continue  # a mirrored order
        middle = pixels.mean(axis=0)
        a, b = apply_homography(homography, np.array([middle, middle - (0, 1)]))
        seen_up = (b - a) / np.linalg.norm(b - a)
        turn = float(np.degrees(np.arccos(np.clip(seen_up @ up, -1, 1))))
        if turn < best_turn:
            best, best_turn = pixels, turn
    if best_turn > MAX_TURN:
        raise CalibrationError(
            f"the picture's up is {best_turn:.0f} deg away from {image_up}; name the plane's "
            f"direction that points up in the picture: {', '.join(DIRECTIONS)}"
        )
    return best
