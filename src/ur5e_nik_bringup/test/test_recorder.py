"""Pictures from message fields, and animations from pictures."""

import numpy as np
import pytest
from PIL import Image, ImageSequence

from ur5e_nik_bringup.recorder import RAW_MODES, Recorder, to_picture


@pytest.mark.parametrize("encoding", RAW_MODES)
def test_every_encoding_gives_the_same_picture(encoding):
    red, green, blue = 200, 100, 50
    order = {"r": red, "g": green, "b": blue, "a": 255}
    channels = encoding.rstrip("8")
    row = np.array([[order[name] for name in channels]] * 3, dtype=np.uint8).tobytes()
    padded = (row + b"\0\0\0\0") * 2
    picture = to_picture(encoding, 3, 2, len(row) + 4, padded)
    assert picture.size == (3, 2)
    assert set(picture.get_flattened_data()) == {(red, green, blue)}


def test_what_is_no_colour_picture_is_refused():
    with pytest.raises(ValueError, match="mono8"):
        to_picture("mono8", 2, 2, 2, b"0000")
    with pytest.raises(ValueError, match="not enough"):
        to_picture("bgr8", 2, 2, 6, b"0000")


def test_the_animation_keeps_one_picture_a_period(tmp_path):
    recorder = Recorder(size=(64, 48))
    for number in range(21):
        recorder.add(number * 0.1, Image.new("RGB", (64, 48), (12 * number, 0, 0)), f"{number}")
    path = tmp_path / "film.webp"
    assert recorder.save(path, period=0.2, rate=2.0)
    with Image.open(path) as film:
        frames = [frame.copy() for frame in ImageSequence.Iterator(film)]
        assert len(frames) == 11
        assert film.info["duration"] in (100, 2000)
    assert frames[0].getpixel((5, 5)) != frames[-1].getpixel((5, 5))


def test_no_pictures_no_file(tmp_path):
    assert not Recorder().save(tmp_path / "film.webp", 0.2, 1.0)
    assert not list(tmp_path.iterdir())
