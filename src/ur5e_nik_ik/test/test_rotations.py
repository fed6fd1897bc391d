import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from poses import random_poses

from ur5e_nik_ik.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_fault, rotation_vector

ROTATIONS = random_poses(2000, 11)[:, :3, :3]


def test_quaternion_and_back():
    quaternion = quaternion_from_matrix(ROTATIONS)
    assert np.abs(np.linalg.norm(quaternion, axis=-1) - 1.0).max() < 1e-14
    assert (quaternion[:, 3] >= 0.0).all()
    assert np.abs(matrix_from_quaternion(quaternion) - ROTATIONS).max() < 1e-14


@pytest.mark.parametrize("factor", [-1.0, 2.0, 0.99993])
def test_norm_and_sign_of_a_quaternion_do_not_matter(factor):
    quaternion = quaternion_from_matrix(ROTATIONS)
    assert np.abs(matrix_from_quaternion(factor * quaternion) - ROTATIONS).max() < 1e-14


@pytest.mark.parametrize("axis", range(3))
def test_half_turns(axis):
    quaternion = np.eye(4)[axis]
    assert np.abs(quaternion_from_matrix(matrix_from_quaternion(quaternion))) == pytest.approx(quaternion)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.floats(0, np.pi))
def test_rotation_vector_is_axis_times_angle(axis, angle):
    if np.linalg.norm(axis) < 1e-3:
        return
    axis = np.array(axis) / np.linalg.norm(axis)
    matrix = matrix_from_quaternion(np.append(axis * np.sin(angle / 2), np.cos(angle / 2)))
    vector = rotation_vector(matrix)
    assert np.linalg.norm(vector) == pytest.approx(angle, abs=1e-12)
    # At half a turn both directions of the axis are the same rotation.
    if angle < np.pi - 1e-6:
        assert vector == pytest.approx(axis * angle, abs=1e-12)


@pytest.mark.parametrize(
    ("matrix", "fault"),
    [
        (np.eye(3), ""),
        (1.1 * np.eye(3), "scaled by 1.1"),
        (0.5 * ROTATIONS[0], "scaled by 0.5"),
        (np.diag([1.0, 1.0, -1.0]), "reflected"),
        (np.diag([1.0, 1.0, 1.2]), "not orthonormal"),
        (np.zeros((3, 3)), "scaled by 0"),
        (np.full((3, 3), np.nan), "NaN"),
    ],
)
def test_faults_are_named(matrix, fault):
    assert fault in rotation_fault(matrix)
    assert bool(rotation_fault(matrix)) == bool(fault)
