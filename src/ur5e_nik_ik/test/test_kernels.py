"""The compiled kernels against the readable numpy ones."""

import shutil
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest
from poses import random_joints, random_poses

from ur5e_nik_ik.closed_form import branch_of
from ur5e_nik_ik.compiled import arm, branches, choice, kernel, newton, pose
from ur5e_nik_ik.dh import DH_SETS, UR5E
from ur5e_nik_ik.kinematics import fk, jacobian, link_frames, pose_error


@pytest.mark.parametrize("dh", DH_SETS.values(), ids=DH_SETS)
def test_forward_kinematics_and_jacobian(dh):
    packed, frames, matrix = arm.pack(dh), np.empty((8, 3)), np.empty((6, 7))
    for q in random_joints(300, 21):
        cosines = arm.forward(q, packed, frames)
        links = link_frames(q, dh)
        assert frames[:5] == pytest.approx(links[2:7, :3, 3], abs=1e-14)
        assert frames[5:] == pytest.approx(links[6, :3, :3].T, abs=1e-14)
        newton.jacobian(frames, cosines, packed, matrix)
        assert matrix[:, :6] == pytest.approx(jacobian(q, dh), abs=1e-14)
        assert branches.branch_of(q, packed) == branch_of(q, dh)


def test_pose_error():
    frames, error = np.empty((8, 3)), np.empty(6)
    for q, target in zip(random_joints(300, 22), random_poses(300, 23), strict=True):
        arm.forward(q, arm.pack(UR5E), frames)
        length, angle = pose.pose_error(frames, target, error)
        expected = pose_error(fk(q, UR5E), target)
        assert error == pytest.approx(expected, abs=1e-11)
        assert length == pytest.approx(np.linalg.norm(expected[:3]), abs=1e-14)
        assert angle == pytest.approx(np.linalg.norm(expected[3:]), abs=1e-12)


def test_pose_error_of_half_a_turn_is_not_small():
    frames, error = np.empty((8, 3)), np.empty(6)
    q = random_joints(1, 24)[0]
    arm.forward(q, arm.pack(UR5E), frames)
    target = fk(q, UR5E)
    target[:3, :3] = target[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    assert pose.pose_error(frames, target, error)[1] == pytest.approx(np.pi)


def test_linear_system():
    rng = np.random.default_rng(25)
    for _ in range(200):
        system, right = rng.normal(size=(6, 6)), rng.normal(size=6)
        matrix = np.column_stack([system, right])
        assert newton.solve6(matrix)
        assert matrix[:, 6] == pytest.approx(np.linalg.solve(system, right), rel=1e-6, abs=1e-9)
    assert not newton.solve6(np.zeros((6, 7)))


@pytest.mark.parametrize("decimals", [3, 4, 6])
def test_rounded_rotations_are_repaired_to_the_nearest(decimals):
    repaired = np.empty((4, 4))
    for target in random_poses(300, 26):
        rounded = target.copy()
        rounded[:3, :3] = np.round(target[:3, :3], decimals)
        if np.abs(rounded[:3, :3].T @ rounded[:3, :3] - np.eye(3)).max() > pose.RIGID_TOLERANCE:
            continue
        assert pose.repair(rounded, repaired) == pose.RIGID
        u, _, vt = np.linalg.svd(rounded[:3, :3])
        assert repaired[:3, :3] == pytest.approx(u @ vt, abs=1e-12)
        assert np.array_equal(repaired[:3, 3], target[:3, 3])


@pytest.mark.parametrize(
    ("angle", "seed", "low", "high", "expected"),
    [
        (0.1, 0.0, -6.3, 6.3, 0.1),
        (0.1, 6.2, -7.0, 7.0, 0.1 + 2 * np.pi),
        (0.1, 6.2, -6.3, 6.3, 0.1),
        (3.0, -3.0, -np.pi, np.pi, 3.0),
        (3.0, -3.0, -6.3, 6.3, 3.0 - 2 * np.pi),
        (np.pi, -np.pi, -np.pi, np.pi, -np.pi),
        (2.0, 0.0, -1.0, 1.0, None),
        (0.0, 100.0, -2 * np.pi, 2 * np.pi, 2 * np.pi),
    ],
)
def test_the_nearest_turn_inside_the_limits(angle, seed, low, high, expected):
    turned = choice.nearest_turn(angle, seed, low, high)
    assert np.isnan(turned) if expected is None else turned == pytest.approx(expected, abs=1e-15)


def refuse(**_):
    raise PermissionError


@pytest.mark.parametrize(
    ("module", "function", "instead"),
    [(tempfile, "TemporaryFile", refuse), (shutil, "disk_usage", lambda _: SimpleNamespace(free=0))],
    ids=["not writable", "full disk"],
)
def test_without_a_folder_to_write_kernels_are_compiled_each_time(monkeypatch, module, function, instead):
    monkeypatch.setattr(module, function, instead)
    assert kernel.cache_directory() is None
    monkeypatch.setattr(kernel, "_CACHE", None)
    assert kernel.kernel(lambda x: x + 1)(1) == 2


def test_numba_cache_dir_is_respected(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernel.cache_directory().parent == tmp_path
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    (tmp_path / "kernels").write_text("a file, not a folder")
    assert kernel.cache_directory().parent != tmp_path / "kernels"
