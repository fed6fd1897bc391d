import numpy as np
import pytest

from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.posture import Posture, singularities


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="elbow 'sideways' is none of any, down, up"):
        Posture(elbow="sideways")


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        ((10, -90, 90, -90, -90, 0), ()),
        ((10, -60, 70, -50, 0, 20), ("wrist",)),
        ((10, -60, 70, -50, 180, 20), ("wrist",)),
        ((10, -60, 0, -50, 60, 20), ("elbow",)),
        ((0, -90, 0, -90, 0, 0), ("shoulder", "elbow", "wrist")),
    ],
)
def test_singular_families(degrees, expected):
    assert singularities(np.deg2rad(degrees), UR5E) == expected
