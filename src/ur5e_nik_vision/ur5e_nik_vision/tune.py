"""Tunes the colour range of the cubes on a picture, and saves it as the vision node's parameters."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path

import cv2
import numpy as np
import rclpy
from ament_index_python.packages import get_package_share_directory
from numpy.typing import NDArray
from rclpy.executors import ExternalShutdownException
from rclpy.utilities import remove_ros_args

from .atomic_file import write_text
from .calibrate import LiveCamera
from .calibration import Calibration
from .colour import COLOURS, HUE_MAX, LEVEL_MAX, ColourRange
from .errors import VisionError
from .image_conversion import to_bgr
from .tuning import parameter_text, preview, read_picture

Picture = NDArray[np.uint8]
Show = Callable[[ColourRange], tuple[Picture, str]]

LIMITS = {field.name: HUE_MAX if field.name.startswith("hue") else LEVEL_MAX for field in fields(ColourRange)}
WINDOW = "tune: s saves, q leaves"
NEW_FRAME = 30  # [ms] between two looks at the sliders


def main() -> None:
    """Tune and write the files, or end with one line that says why not."""
    options = _options(remove_ros_args(sys.argv)[1:])
    try:
        picture = _picture(options)
        colour = ColourRange(**_start(options))
        calibration = Calibration.load(options.calibration)
        _tune(options, colour, lambda tuned: preview(picture, options.colour, tuned, calibration))
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.exit("tune: stopped; nothing was written")
    except (VisionError, RuntimeError) as error:
        sys.exit(f"tune: {error}")
    except OSError as error:
        sys.exit(f"tune: cannot write '{error.filename or options.output}': {error.strerror}")


def slide(colour: ColourRange, show: Show) -> ColourRange | None:
    """Let a person move sliders until they save (the range) or leave (None). Raises cv2.error without a display."""
    cv2.namedWindow(WINDOW)
    for name, value in asdict(colour).items():
        cv2.createTrackbar(name, WINDOW, value, LIMITS[name], lambda _: None)
    shown: ColourRange | None = None
    while True:
        tuned = ColourRange(**{name: cv2.getTrackbarPos(name, WINDOW) for name in LIMITS})
        if tuned != shown:
            cv2.imshow(WINDOW, show(tuned)[0])
            shown = tuned
        key = cv2.waitKey(NEW_FRAME) & 0xFF
        closed = cv2.getWindowProperty(WINDOW, cv2.WND_PROP_VISIBLE) < 1
        if key == ord("s") or key in (ord("q"), 27) or closed:
            cv2.destroyAllWindows()
            return tuned if key == ord("s") else None


def _tune(options: argparse.Namespace, colour: ColourRange, show: Show) -> None:
    if options.window and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        try:
            tuned = slide(colour, show)
        except cv2.error:
            print("this OpenCV has no windows (python3-opencv of apt has); the picture is written instead")
            tuned = colour
        if tuned is None:
            print("left without saving")
            return
        colour = tuned
    seen, told = show(colour)
    done, png = cv2.imencode(".png", seen)
    if not done:
        raise VisionError("the picture cannot be encoded as PNG")
    options.preview.write_bytes(png.tobytes())
    write_text(options.output, parameter_text(options.colour, colour))
    print(told)
    print(f"written: {options.preview}, {options.output}")


def _picture(options: argparse.Namespace) -> Picture:
    if options.picture:
        picture = read_picture(str(options.picture)) if options.picture.is_file() else None
        if picture is None:
            raise VisionError(f"'{options.picture}' is no picture that can be read; PNG and JPEG are")
        return picture
    rclpy.init()
    try:
        camera = LiveCamera("tune")
        return to_bgr(camera.next_image(time.monotonic() + options.timeout))
    finally:
        rclpy.try_shutdown()


def _start(options: argparse.Namespace) -> dict[str, int]:
    """The shipped range with what the command line changes."""
    given = {name: getattr(options, name) for name in LIMITS}
    return {**asdict(COLOURS[options.colour]), **{name: value for name, value in given.items() if value is not None}}


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tune",
        description="Tunes the colour range of the cubes on a picture. With a display a window with sliders opens; "
        "without one the range is what the options say. Writes a picture of the mask beside what was found, and a "
        "parameters file for the vision node.",
    )
    parser.add_argument(
        "picture", type=Path, nargs="?", help="picture file; without it: the next on camera/image_color"
    )
    parser.add_argument("--colour", choices=list(COLOURS), default="red", help="which colour to tune (default: red)")
    for name, highest in LIMITS.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=int, metavar="N", help=f"0 to {highest} (default: the shipped one)")
    shipped = Path(get_package_share_directory("ur5e_nik_vision"), "config", "overhead_camera.yaml")
    parser.add_argument("--calibration", type=Path, default=shipped, metavar="FILE", help="of the camera")
    parser.add_argument("--no-window", dest="window", action="store_false", help="never open a window")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="for a picture (default: 10)")
    parser.add_argument("--preview", type=Path, default=Path("tune.png"), metavar="FILE", help="default: tune.png")
    parser.add_argument("--output", type=Path, default=Path("colour.yaml"), metavar="FILE", help="default: colour.yaml")
    options = parser.parse_args(arguments)
    if not 0.1 <= options.timeout <= 3600:
        parser.error(f"--timeout is {options.timeout}; it must be 0.1 to 3600")
    for option in ("preview", "output"):
        path = getattr(options, option).expanduser().resolve()
        if not os.access(path.parent, os.W_OK):
            parser.error(f"--{option}: folder '{path.parent}' does not exist or cannot be written")
        setattr(options, option, path)
    return options


if __name__ == "__main__":
    main()
