"""FK, Jacobian and rows of the closed form against the published numbers of the arm."""

import numpy as np
import pytest

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E, UR5E_WEBOTS
from ur5e_nik_ik.joints import REST_POSTURE
from ur5e_nik_ik.kinematics import fk, jacobian, pose_error
from ur5e_nik_ik.rotations import quaternion_from_matrix

REFERENCE = {
    "zeros": (
        (0, 0, 0, 0, 0, 0),
        (0.81720, 0.23290, 0.06280),
        (0, 0.70711, 0.70711, 0),
        6,
    ),
    "rest": (REST_POSTURE, (0.49190, 0.13330, 0.48790), (-0.70711, 0.70711, 0, 0), 8),
    "generic": (
        (0.849, 0.373, -0.662, 0.782, 1.257, -1.053),
        (0.41073, 0.71488, -0.01326),
        (-0.21884, 0.82292, 0.42406, 0.30837),
        8,
    ),
    "far": (
        (0.17462, 0.18904, 0.17868, 0.00054, 1.7453, 0.00004),
        (0.80612, 0.26001, -0.18668),
        (0.56579, 0.59762, 0.38553, 0.41726),
        4,
    ),
    "wrist singular": (
        (0.3, -1.2, 1.4, -0.9, 0, 0.4),
        (0.50687, 0.40058, 0.40444),
        (-0.20896, 0.67552, 0.70711, 0),
        None,
    ),
}


@pytest.mark.parametrize(("q", "position", "quaternion", "rows"), REFERENCE.values(), ids=REFERENCE)
def test_reference_rows(q, position, quaternion, rows):
    pose = fk(q, UR5E)
    assert pose[:3, 3] == pytest.approx(position, abs=6e-6)
    actual = quaternion_from_matrix(pose[:3, :3])
    assert abs(actual @ np.asarray(quaternion)) == pytest.approx(1.0, abs=1e-5)
    if rows is not None:
        assert closed_form(pose[None], UR5E)[1].sum() == rows


def test_base_link_is_the_dh_base_turned_by_pi():
    pose = fk(np.zeros(6), UR5E)
    # In the DH base itself the stretched arm points along -x.
    assert pose[:3, 3] == pytest.approx([0.425 + 0.3922, 0.1333 + 0.0996, 0.1625 - 0.0997])


def test_the_webots_set_differs_by_about_a_millimetre():
    q = np.random.default_rng(4).uniform(-np.pi, np.pi, (5000, 6))
    difference = np.linalg.norm(fk(q, UR5E)[:, :3, 3] - fk(q, UR5E_WEBOTS)[:, :3, 3], axis=-1)
    assert difference.mean() == pytest.approx(0.98e-3, abs=0.03e-3)
    assert difference.max() <= 1.5e-3


def test_jacobian_against_finite_differences():
    q = np.random.default_rng(5).uniform(-np.pi, np.pi, (2000, 6))
    step = 1e-5 * np.eye(6)
    # Richardson: the error of central differences falls with the fourth power of the step.
    half, whole = (
        np.stack(
            [pose_error(fk(q - h, UR5E), fk(q + h, UR5E)) / (2 * h.max()) for h in scale * step],
            axis=-1,
        )
        for scale in (50, 100)
    )
    assert np.abs(jacobian(q, UR5E) - (4 * half - whole) / 3).max() <= 1e-9


def test_batches_of_any_shape():
    q = np.random.default_rng(6).uniform(-np.pi, np.pi, (3, 4, 6))
    assert fk(q, UR5E).shape == (3, 4, 4, 4)
    assert jacobian(q, UR5E).shape == (3, 4, 6, 6)
    assert np.array_equal(fk(q, UR5E)[2, 1], fk(q[2, 1], UR5E))
