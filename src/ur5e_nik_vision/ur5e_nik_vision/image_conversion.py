"""Image messages to BGR pictures: cv_bridge where ROS provides one that works, else rosbags-image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ImageError

Picture = NDArray[np.uint8]

MAX_SIDE = 16384
# Bytes per pixel of every encoding that tells the colour of a pixel.
PIXEL_BYTES = {
    **dict.fromkeys(("bgr8", "rgb8"), 3),
    **dict.fromkeys(("bgra8", "rgba8"), 4),
    **dict.fromkeys(("bgr16", "rgb16"), 6),
    **dict.fromkeys(("bgra16", "rgba16"), 8),
    **dict.fromkeys(("uyvy", "yuyv", "yuv422", "yuv422_yuy2"), 2),
    **dict.fromkeys((f"bayer_{order}8" for order in ("rggb", "bggr", "gbrg", "grbg")), 1),
    **dict.fromkeys((f"bayer_{order}16" for order in ("rggb", "bggr", "gbrg", "grbg")), 2),
}


@dataclass(frozen=True)
class _Image:
    """The fields of a sensor_msgs/Image that a converter reads, rows without padding."""

    width: int
    height: int
    encoding: str
    is_bigendian: bool
    step: int
    data: Any


def to_bgr(message: Any) -> Picture:
    """The (height, width, 3) BGR picture of a sensor_msgs/Image.

    Raises ImageError for an encoding without colours or an unknown one, by its name; a size of
    zero or an absurd one; rows shorter than their pixels; data of another length than its rows.
    """
    image = _packed(message)
    try:
        picture = _converter()(image)
    except Exception as error:  # a converter may raise anything for data that it cannot read
        raise ImageError(
            f"cannot convert a {image.width} x {image.height} image of encoding '{image.encoding}': {error}"
        ) from None
    if picture.shape != (image.height, image.width, 3) or picture.dtype != np.uint8:
        raise ImageError(f"encoding '{image.encoding}' did not convert to bgr8")
    return picture


def _packed(message: Any) -> _Image:
    encoding, width, height = message.encoding, message.width, message.height
    if encoding not in PIXEL_BYTES:
        raise ImageError(
            f"encoding '{encoding}' is not supported; a colour encoding is needed, "
            "for instance bgr8, rgb8, bgra8, rgba8, yuv422 or bayer_rggb8"
        )
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ImageError(f"{width} x {height} pixels is no picture; sides must be 1 to {MAX_SIDE}")
    row = width * PIXEL_BYTES[encoding]
    if message.step < row:
        raise ImageError(f"step {message.step} is too short: {width} {encoding} pixels take {row}")
    if len(message.data) != height * message.step:
        raise ImageError(
            f"{len(message.data)} bytes of data; {height} rows of {message.step} take {height * message.step}"
        )
    image = _Image(width, height, encoding, bool(message.is_bigendian), message.step, message.data)
    if message.step == row:
        return image
    rows = np.frombuffer(message.data, np.uint8).reshape(height, message.step)
    return replace(image, step=row, data=np.ascontiguousarray(rows[:, :row]).reshape(-1))


@cache
def _converter() -> Callable[[_Image], Picture]:
    return _cv_bridge() or _rosbags_image()


def _cv_bridge() -> Callable[[_Image], Picture] | None:
    """cv_bridge, if there is one and it converts: pip offers a ROS 1 one that does not."""
    try:
        from cv_bridge import CvBridge

        bridge = CvBridge()
        probe = _Image(1, 1, "bgra8", False, 4, bytes((1, 2, 3, 255)))
        if bridge.imgmsg_to_cv2(probe, "bgr8").tolist() != [[[1, 2, 3]]]:
            return None
    except Exception:  # a broken installation fails in its own ways, and is then not used
        return None
    return lambda image: bridge.imgmsg_to_cv2(image, "bgr8")


def _rosbags_image() -> Callable[[_Image], Picture]:
    from rosbags.image import message_to_cvimage

    convert: Callable[[Any, str], Any] = message_to_cvimage
    return lambda image: np.asarray(convert(image, "bgr8"))
