"""Keeps camera pictures as they arrive and writes them as a picture or an animation."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

# How Pillow names the pixel orders of sensor_msgs/Image.
RAW_MODES = {"bgra8": "BGRX", "rgba8": "RGBX", "bgr8": "BGR", "rgb8": "RGB"}


def to_picture(encoding: str, width: int, height: int, step: int, data: bytes) -> Image.Image:
    """An RGB picture of a colour image message's fields.

    Raises ValueError for another encoding, or for less data than the size needs.
    """
    if encoding not in RAW_MODES:
        raise ValueError(f"encoding '{encoding}' is not one of {', '.join(RAW_MODES)}")
    return Image.frombytes("RGB", (width, height), data, "raw", RAW_MODES[encoding], step, 1)


class Recorder:
    """An animation in the making: pictures with their times [s], held compressed."""

    def __init__(self, size: tuple[int, int] = (640, 480)) -> None:
        self._size = size
        self._frames: list[tuple[float, bytes]] = []
        self._font = ImageFont.load_default(size=16)

    def add(self, time: float, picture: Image.Image, caption: str) -> None:
        """Keep one picture, with a line of text on its lower edge."""
        picture = picture.resize(self._size) if picture.size != self._size else picture.copy()
        draw = ImageDraw.Draw(picture)
        draw.rectangle((0, self._size[1] - 26, *self._size), fill=(20, 20, 20))
        draw.text((10, self._size[1] - 23), caption, font=self._font, fill=(240, 240, 240))
        held = io.BytesIO()
        picture.save(held, "JPEG", quality=90)
        self._frames.append((time, held.getvalue()))

    def save(self, path: Path, period: float, rate: float) -> bool:
        """Write a WebP or GIF, as the path says, played `rate` times faster.

        period: time between two pictures that are kept [s].
        Returns False when there was no picture to write.
        """
        chosen: list[tuple[float, bytes]] = []
        for time, frame in sorted(self._frames, key=lambda entry: entry[0]):
            if not chosen or time >= chosen[-1][0] + period * 0.999:
                chosen.append((time, frame))
        if not chosen:
            return False

        def pictures() -> Iterator[Image.Image]:
            for _, frame in chosen[1:]:
                yield Image.open(io.BytesIO(frame))

        times = [time for time, _ in chosen]
        steps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
        durations = [max(20, round(1000 * step / rate)) for step in [*steps, 2.0 * rate]]
        first = Image.open(io.BytesIO(chosen[0][1]))
        first.save(path, save_all=True, append_images=pictures(), duration=durations, loop=0)
        return True
