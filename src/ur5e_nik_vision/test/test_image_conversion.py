import array
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ur5e_nik_vision import image_conversion
from ur5e_nik_vision.errors import ImageError
from ur5e_nik_vision.image_conversion import to_bgr

COLOURS = np.array([(10, 20, 200), (200, 30, 40), (15, 180, 25), (90, 90, 90)], np.uint8)


def picture():
    """Blocks of 8 x 8 pixels of a few colours, (16, 16, 3) BGR."""
    return np.kron(COLOURS.reshape(2, 2, 3), np.ones((8, 8, 1), np.uint8))


def message(data, encoding, width, height, padding=0, bigendian=0):
    rows = np.ascontiguousarray(data).view(np.uint8).reshape(height, -1)
    rows = np.hstack([rows, np.full((height, padding), 77, np.uint8)])
    return SimpleNamespace(
        encoding=encoding,
        width=width,
        height=height,
        step=rows.shape[1],
        is_bigendian=bigendian,
        data=array.array("B", rows.tobytes()),
    )


def encoded(encoding):
    """The picture in an encoding, made without OpenCV."""
    bgr = picture()
    deep = encoding.endswith("16")
    if encoding.startswith("bayer"):
        plane = np.empty((16, 16), np.uint8)
        for place, letter in enumerate(encoding[6:10]):
            v, u = divmod(place, 2)
            plane[v::2, u::2] = bgr[v::2, u::2, "bgr".index(letter)]
        bgr = plane
    elif encoding[0] in "uy":
        b, g, r = bgr.astype(float).transpose(2, 0, 1)
        y = 16 + 0.257 * r + 0.504 * g + 0.098 * b
        u = 128 - 0.148 * r - 0.291 * g + 0.439 * b
        v = 128 + 0.439 * r - 0.368 * g - 0.071 * b
        chroma = np.where(np.arange(16) % 2 == 0, u, v)
        luma_first = encoding in ("yuyv", "yuv422_yuy2")
        bgr = np.stack([y, chroma] if luma_first else [chroma, y], axis=-1).round().astype(np.uint8)
    else:
        order = encoding.rstrip("168")
        alpha = np.full((16, 16, 1), 255, np.uint8)
        bgr = np.concatenate([bgr, alpha], axis=-1)[..., ["bgra".index(letter) for letter in order]]
    return bgr.astype(np.uint16) * 257 if deep else bgr


@pytest.mark.parametrize("padding", [0, 24])
@pytest.mark.parametrize("encoding", sorted(image_conversion.PIXEL_BYTES))
def test_every_supported_encoding_gives_the_same_picture(encoding, padding):
    result = to_bgr(message(encoded(encoding), encoding, 16, 16, padding))
    assert result.shape == (16, 16, 3)
    assert result.dtype == np.uint8
    # Block centres, as Bayer patterns and subsampled colours smear across the borders.
    inner = result.reshape(2, 8, 2, 8, 3)[:, 2:6, :, 2:6]
    assert np.abs(inner.astype(int) - COLOURS.reshape(2, 1, 2, 1, 3)).max() <= 3


def test_big_endian_16_bit():
    deep = encoded("bgr16").byteswap()
    assert np.abs(to_bgr(message(deep, "bgr16", 16, 16, bigendian=1)).astype(int) - picture()).max() <= 1


@pytest.mark.parametrize(
    "encoding",
    ["mono8", "mono16", "8UC1", "8UC3", "16UC1", "32FC1", "nv12", "", "nonsense", "BGR8", "bgr8; png compressed"],
)
def test_encodings_without_colours_and_unknown_ones_are_refused_by_name(encoding):
    with pytest.raises(ImageError, match=f"encoding '{encoding}' is not supported"):
        to_bgr(message(picture(), encoding, 16, 16))


def changed(**changes):
    good = message(picture(), "bgr8", 16, 16)
    return SimpleNamespace(**{**vars(good), **changes})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"data": array.array("B", bytes(16 * 48 - 1))}, "767 bytes of data; 16 rows of 48 take 768"),
        ({"data": array.array("B", bytes(16 * 48 + 1))}, "769 bytes"),
        ({"data": array.array("B")}, "0 bytes"),
        ({"step": 0}, "step 0 is too short: 16 bgr8 pixels take 48"),
        ({"step": 47}, "step 47"),
        ({"width": 0}, "0 x 16 pixels is no picture"),
        ({"height": 0}, "16 x 0 pixels"),
        ({"width": 2**31}, "2147483648 x 16"),
        ({"height": 2**32 - 1}, "x 4294967295"),
        ({"width": 2**31, "step": 2**32 - 1}, "2147483648 x 16"),
        ({"encoding": "yuv422", "width": 15, "step": 48}, "yuv422"),
    ],
)
def test_malformed_images_are_refused_and_the_next_good_one_works(changes, fault):
    with pytest.raises(ImageError, match=fault):
        to_bgr(changed(**changes))
    assert np.array_equal(to_bgr(changed()), picture())


@pytest.fixture
def fresh_converter():
    image_conversion._converter.cache_clear()
    yield
    image_conversion._converter.cache_clear()


@pytest.mark.usefixtures("fresh_converter")
def test_a_working_cv_bridge_is_used(monkeypatch):
    class CvBridge:
        def imgmsg_to_cv2(self, image, encoding):
            assert encoding == "bgr8"
            channels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, -1)
            return np.ascontiguousarray(channels[..., :3])

    monkeypatch.setitem(sys.modules, "cv_bridge", SimpleNamespace(CvBridge=CvBridge))
    monkeypatch.setattr(image_conversion, "_rosbags_image", lambda: pytest.fail("cv_bridge works"))
    assert np.array_equal(to_bgr(message(picture(), "bgr8", 16, 16, padding=5)), picture())


@pytest.mark.usefixtures("fresh_converter")
@pytest.mark.parametrize("fault", [AttributeError("no attribute 'encoding'"), "wrong pixels"])
def test_a_broken_cv_bridge_is_not_used(monkeypatch, fault):
    class CvBridge:
        def imgmsg_to_cv2(self, image, encoding):
            if isinstance(fault, Exception):
                raise fault
            return np.zeros((image.height, image.width, 3), np.uint8)

    monkeypatch.setitem(sys.modules, "cv_bridge", SimpleNamespace(CvBridge=CvBridge))
    assert np.array_equal(to_bgr(message(picture(), "bgr8", 16, 16)), picture())
