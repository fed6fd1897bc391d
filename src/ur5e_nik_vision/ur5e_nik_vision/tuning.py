"""What tuning a colour range shows and writes."""

from __future__ import annotations

from dataclasses import asdict

import cv2
import numpy as np
import yaml
from numpy.typing import NDArray

from . import overlay
from .calibration import Calibration
from .colour import ColourRange
from .detection import Detection, DetectorSettings, find_cubes
from .errors import CalibrationError

Picture = NDArray[np.uint8]

# What the mask leaves out is shown as dark as this share.
LEFT_OUT = 0.25


def preview(picture: Picture, name: str, colour: ColourRange, calibration: Calibration) -> tuple[Picture, str]:
    """The mask beside what the node would see in a (H, W, 3) BGR picture, and the same in one line.

    name: of the colour. A picture that the calibration does not fit has its mask alone judged.
    """
    mask = colour.mask(picture)
    shown = np.where(mask[..., None] > 0, picture, (picture * LEFT_OUT).astype(np.uint8))
    share = f"{100 * np.count_nonzero(mask) / mask.size:.1f} % of the picture is {name}"
    settings = DetectorSettings()
    try:
        view = calibration.scaled(picture.shape[1], picture.shape[0])
    except CalibrationError as error:
        return np.hstack([shown, overlay.draw_notice(picture, str(error))]), f"{share}; cubes not looked for: {error}"
    detection = find_cubes(picture, view, {name: colour}, settings)
    chosen = detection.cubes[0] if detection.cubes else None
    result = overlay.draw(picture, detection, chosen, name, view, settings)
    return np.hstack([overlay.draw_notice(shown, share), result]), f"{share}; {_told(detection)}"


def parameter_text(name: str, colour: ColourRange) -> str:
    """A parameters file for the vision node that makes it look for this range."""
    parameters = {"colour": name, name: asdict(colour)}
    return (
        "# Made by: ros2 run ur5e_nik_vision tune. Use it with:\n"
        "# ros2 run ur5e_nik_vision vision_node --ros-args --params-file THIS_FILE\n"
        + yaml.safe_dump({"/**": {"ros__parameters": parameters}}, sort_keys=False)
    )


def read_picture(path: str) -> Picture | None:
    """A picture file as (H, W, 3) BGR; None when it is none that OpenCV can read."""
    picture = cv2.imread(path, cv2.IMREAD_COLOR)
    return None if picture is None else np.asarray(picture, dtype=np.uint8)


def _told(detection: Detection) -> str:
    if not detection.cubes and not detection.rejections:
        return "no cube: nothing of that colour"
    reasons = [rejection.reason for rejection in detection.rejections]
    return "; ".join([f"cubes: {len(detection.cubes)}", *(f"refused: {reason}" for reason in reasons[:5])])
