"""Calibrates the overhead camera on a chessboard seen through its live topics."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
import yaml
from numpy.typing import NDArray
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import CameraInfo, Image

from ur5e_nik_msgs.srv import ResetScene

from .calibration import Calibration, fit_calibration
from .camera import Lens
from .chessboard import DIRECTIONS, Chessboard, find_corners
from .errors import CalibrationError, ImageError, VisionError
from .image_conversion import to_bgr
from .newest_image import NewestImage, newest

Array = NDArray[np.float64]


class LiveCamera(Node):
    """The newest picture and camera_info of the camera topics."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._image: Image | None = None
        self._info: CameraInfo | None = None
        self._images = NewestImage(self, "camera/image_color", self._on_image)
        best_effort = newest(ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(CameraInfo, "camera/camera_info", self._on_info, best_effort)

    def _on_image(self, image: Image) -> None:
        self._image = image

    def _on_info(self, info: CameraInfo) -> None:
        self._info = info

    def next_image(self, deadline: float) -> Image:
        """The next picture that arrives. Raises CalibrationError at the deadline."""
        self._image = None
        while self._image is None:
            self._wait("camera/image_color", "picture", deadline)
        return self._image

    def lens(self, width: int, height: int, deadline: float) -> Lens:
        """The lens for pictures of a size. Raises CalibrationError at the deadline."""
        while self._info is None:
            self._wait("camera/camera_info", "camera_info", deadline)
        info = self._info
        lens = Lens.from_camera_info(info.width, info.height, info.k, info.d, info.distortion_model)
        return lens.scaled(width, height)

    def reset_scene(self, board: bool, deadline: float) -> None:
        """Lay the simulation's board on an empty table, or take it away."""
        client = self.create_client(ResetScene, "sim/reset")
        if not client.wait_for_service(max(0.0, deadline - time.monotonic())):
            raise CalibrationError("no service sim/reset; is the simulation running?")
        future = client.call_async(ResetScene.Request(calibration_board=board))
        rclpy.spin_until_future_complete(self, future, timeout_sec=max(0.0, deadline - time.monotonic()))
        answer = future.result()
        if answer is None:
            raise CalibrationError("sim/reset did not answer in time")
        if not answer.success:
            raise CalibrationError(f"sim/reset was refused: {answer.message}")
        self.destroy_client(client)

    def _wait(self, topic: str, what: str, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise CalibrationError(
                f"no {what} arrived on {self.resolve_topic_name(topic)} in time; "
                "is the camera running, and on this ROS domain?"
            )
        rclpy.spin_once(self, timeout_sec=0.1)


def grab_board(
    camera: LiveCamera, board: Chessboard, image_up: str, pictures: int, deadline: float
) -> tuple[Lens, Array]:
    """The lens, and the board's corners (N, 2) averaged over several pictures [pixels].

    Raises CalibrationError when too few pictures show the board before the deadline.
    """
    seen: list[Array] = []
    size, fault = (0, 0), ""
    while len(seen) < pictures:
        if fault and time.monotonic() > deadline:
            raise CalibrationError(fault)
        try:
            picture = to_bgr(camera.next_image(deadline))
        except ImageError as error:
            fault = f"no usable picture arrived: {error}"
            continue
        except CalibrationError as error:
            raise CalibrationError(fault or str(error)) from None
        corners = find_corners(picture, board, image_up)
        if corners is None:
            fault = (
                f"no chessboard of {board.columns} x {board.rows} inner corners is seen in "
                "the picture; is all of it inside, with a white border, and nothing on it?"
            )
            continue
        if size != (picture.shape[1], picture.shape[0]):
            size, seen = (picture.shape[1], picture.shape[0]), []
        seen.append(corners)
    return camera.lens(*size, deadline), np.mean(seen, axis=0)


def load_points(path: Path) -> tuple[Array, Array]:
    """Measured pairs from YAML: pixels [[u, v], ...] and points [[x, y, z], ...].

    Returns (N, 2) and (N, 3). Raises CalibrationError when the lists are not such.
    """
    try:
        content = yaml.safe_load(path.read_text())
        pixels = np.array([[float(v) for v in pair] for pair in content["pixels"]])
        points = np.array([[float(v) for v in triple] for triple in content["points"]])
    except OSError as error:
        raise CalibrationError(f"cannot read '{path}': {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        raise CalibrationError(
            f"'{path}' needs pixels: [[u, v], ...] and points: [[x, y, z], ...], all numbers"
        ) from None
    if pixels.ndim != 2 or pixels.shape[1] != 2 or points.ndim != 2 or points.shape[1] != 3:
        raise CalibrationError(f"'{path}': pixels are pairs (u, v), points are triples (x, y, z)")
    if len(pixels) != len(points):
        raise CalibrationError(f"'{path}' has {len(pixels)} pixels but {len(points)} points")
    return pixels, points


def main() -> None:
    """Calibrate and write the file, or end with one line that says why not."""
    options = _options(remove_ros_args(sys.argv)[1:])
    try:
        rclpy.init()
    except RuntimeError as error:
        sys.exit(f"calibrate: {error}")
    try:
        calibration = _calibrate(options)
        calibration.save(options.output)
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.exit("calibrate: stopped; nothing was written")
    except VisionError as error:
        sys.exit(f"calibrate: {error}")
    except OSError as error:
        sys.exit(f"calibrate: cannot write '{options.output}': {error.strerror}")
    finally:
        rclpy.try_shutdown()
    x, y, z = calibration.camera.position
    print(f"camera at x {x:.4f}, y {y:.4f}, z {z:.4f} m in {calibration.frame_id}")
    for name, kept in (("fitted", calibration.fit), ("held-out", calibration.held_out)):
        print(
            f"residual on {kept.count} {name} points: "
            f"median {kept.median:.3f}, mean {kept.mean:.3f}, max {kept.max:.3f} mm"
        )
    print(f"written: {options.output}")


def _calibrate(options: argparse.Namespace) -> Calibration:
    deadline = time.monotonic() + options.timeout
    camera = LiveCamera("calibrate")
    if options.lay_board:
        camera.reset_scene(True, deadline)
    try:
        if options.points:
            pixels, points = load_points(options.points)
            image = to_bgr(camera.next_image(deadline))
            lens = camera.lens(image.shape[1], image.shape[0], deadline)
            # Few points: the fit needs four, so only every fifth is kept out.
            held_out = np.arange(len(points)) % 5 == 4
        else:
            board = _board(options)
            lens, pixels = grab_board(camera, board, options.image_up, options.pictures, deadline)
            points, held_out = board.points(), board.held_out()
        return fit_calibration(lens, pixels, points, held_out, options.frame_id, 1e-3 * options.max_residual)
    finally:
        if options.lay_board and rclpy.ok():
            camera.reset_scene(False, time.monotonic() + options.timeout)


def _board(options: argparse.Namespace) -> Chessboard:
    if options.board:
        return Chessboard.load(options.board)
    columns, rows = options.inner_corners
    return Chessboard(columns, rows, options.square, tuple(options.origin))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="calibrate",
        description="Calibrates the overhead camera on a chessboard that lies on the table, seen "
        "through camera/image_color and camera/camera_info. Every second corner is kept out of "
        "the fit to judge it.",
    )
    board = parser.add_argument_group("board: a file, or its numbers, or points measured by hand")
    board.add_argument("--board", type=Path, metavar="FILE", help="YAML with calibration_board: (a scene file)")
    board.add_argument("--inner-corners", type=int, nargs=2, metavar=("COLUMNS", "ROWS"))
    board.add_argument("--square", type=float, metavar="METRES", help="edge of one square")
    board.add_argument(
        "--origin",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="inner corner with the largest x and y [m]; columns go on in -y, rows in -x",
    )
    board.add_argument("--points", type=Path, metavar="FILE", help="YAML with pixels: [[u, v], ...], points: [...]")
    parser.add_argument(
        "--image-up",
        choices=sorted(DIRECTIONS),
        default="+x",
        help="the table's direction that points up in the picture (default: +x)",
    )
    parser.add_argument("--frame-id", default="base_link", help="frame of the board's numbers")
    parser.add_argument("--pictures", type=int, default=5, help="pictures averaged (default: 5)")
    parser.add_argument("--max-residual", type=float, default=1.0, metavar="MM", help="limit (default: 1 mm)")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds in all (default: 30)")
    parser.add_argument(
        "--lay-board",
        action="store_true",
        help="ask the simulation to lay its board first (sim/reset), and to take it away after",
    )
    parser.add_argument("--output", type=Path, default=Path("overhead_camera.yaml"), metavar="FILE")
    options = parser.parse_args(arguments)
    numbers = (options.inner_corners, options.square, options.origin)
    ways = [bool(options.board), bool(options.points), any(n is not None for n in numbers)]
    if sum(ways) != 1 or (ways[2] and None in numbers):
        parser.error("name the board by --board, or by --inner-corners, --square and --origin, or give --points")
    for name, value, low, high in (
        ("--pictures", options.pictures, 1, 1000),
        ("--max-residual", options.max_residual, 0.001, 1000),
        ("--timeout", options.timeout, 0.1, 3600),
    ):
        if not low <= value <= high:
            parser.error(f"{name} is {value}; it must be {low} to {high}")
    folder = options.output.expanduser().resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        parser.error(f"--output: folder '{folder}' does not exist or cannot be written")
    options.output = options.output.expanduser().resolve()
    return options


if __name__ == "__main__":
    main()
