"""Colour ranges in HSV, with hue wrap-around."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from .errors import ColourError

Picture = NDArray[np.uint8]

HUE_MAX = 179
LEVEL_MAX = 255


@dataclass(frozen=True)
class ColourRange:
    """Pixels of one colour: OpenCV's hue in half degrees (0..179), saturation and value 0..255.

    hue_low > hue_high wraps around through 0, as red needs it.
    """

    hue_low: int
    hue_high: int
    saturation_min: int
    value_min: int

    def __post_init__(self) -> None:
        for name, highest in (
            ("hue_low", HUE_MAX),
            ("hue_high", HUE_MAX),
            ("saturation_min", LEVEL_MAX),
            ("value_min", LEVEL_MAX),
        ):
            value = getattr(self, name)
            if not 0 <= value <= highest:
                raise ColourError(f"{name} is {value}; it must be 0 to {highest}")

    def mask(self, bgr: Picture) -> Picture:
        """255 where a pixel of the (H, W, 3) BGR picture has the colour, else 0; (H, W)."""
        return self.mask_hsv(np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2HSV), dtype=np.uint8))

    def mask_hsv(self, hsv: Picture) -> Picture:
        """The same for a picture in OpenCV's HSV."""
        bands = [(self.hue_low, self.hue_high)]
        if self.hue_low > self.hue_high:
            bands = [(self.hue_low, HUE_MAX), (0, self.hue_high)]
        masks = [
            cv2.inRange(hsv, (low, self.saturation_min, self.value_min), (high, LEVEL_MAX, LEVEL_MAX))
            for low, high in bands
        ]
        mask = masks[0] if len(masks) == 1 else cv2.bitwise_or(*masks)
        return np.asarray(mask, dtype=np.uint8)


COLOURS = {
    "red": ColourRange(168, 10, 90, 20),
    "green": ColourRange(40, 85, 70, 20),
    "blue": ColourRange(95, 130, 90, 20),
    "yellow": ColourRange(20, 35, 90, 30),
}
