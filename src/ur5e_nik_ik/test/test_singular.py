"""The singular families: wrist, elbow, shoulder, all three; and poses rounded to four decimals."""

import numpy as np
import pytest
from poses import random_joints

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, link_frames, pose_error
from ur5e_nik_ik.solver import Reason, Refusal, Solver

SOLVER = Solver()


def assert_met(joints, target):
    assert np.abs(pose_error(fk(joints, UR5E), target)).max() <= 1e-6


@pytest.mark.parametrize("q5", [0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, -1e-7, np.pi, np.pi - 1e-7])
def test_wrist_takes_q6_from_the_seed(q5):
    q = np.array([0.3, -1.2, 1.4, -0.9, q5, 0.4])
    target = fk(q, UR5E)
    assert target[:3, 3] == pytest.approx([0.50687, 0.40058, 0.40444], abs=2e-5) or abs(q5) > 3
    answer = SOLVER.solve(target, q)
    assert_met(answer.joints, target)
    assert answer.singular == ("wrist",)
    assert answer.joints == pytest.approx(q, abs=2e-6)
    elsewhere = SOLVER.solve(target, q + [0.0, 0.0, 0.0, 0.0, 0.0, 0.5])
    assert_met(elsewhere.joints, target)
    if abs(np.sin(q5)) < 1e-8:
        assert elsewhere.joints[5] == pytest.approx(0.9, abs=1e-9)


def test_every_q6_of_a_singular_wrist_finds_an_answer():
    """Most q6 put wrist 1 out of the elbow's reach here; the nearest one that can is taken."""
    q = np.array([0.3, -0.4, 0.1, 1.2, 0.0, 0.4])
    target = fk(q, UR5E)
    chosen = []
    for q6 in np.linspace(-np.pi, np.pi, 73):
        answer = SOLVER.solve(target, np.append(q[:5], q6))
        assert_met(answer.joints, target)
        chosen.append((q6, answer.joints[5]))
    kept = [abs(wish - got) < 1e-9 for wish, got in chosen]
    assert any(kept)
    assert not all(kept)
    # The plain closed form has no seed and must find it reachable too.
    assert closed_form(target, UR5E)[1].any()


def test_random_singular_wrists_are_all_solved():
    q = random_joints(3000, 61)
    q[:, 4] = np.random.default_rng(62).choice([0.0, np.pi, 1e-10, -1e-7, 3e-7, 1e-6, 1e-4], 3000)
    target = fk(q, UR5E)
    for seeds in (q, random_joints(3000, 63)):
        batch = SOLVER.solve_batch(target, seeds)
        assert batch.success.all()
        assert np.abs(pose_error(fk(batch.joints, UR5E), target)).max() <= 1e-6


def test_straight_elbows_are_all_solved():
    q = random_joints(3000, 64)
    q[:, 2] = np.random.default_rng(65).choice([0.0, 1e-12, 1e-9, -1e-8, 1e-7, 1e-5], 3000)
    target = fk(q, UR5E)
    batch = SOLVER.solve_batch(target, q)
    assert batch.success.all()
    assert np.abs(pose_error(fk(batch.joints, UR5E), target)).max() <= 1e-6
    assert np.abs(batch.joints - q).max() < 1e-3


@pytest.mark.parametrize(("beyond", "solved"), [(0.0, True), (5e-7, True), (2e-6, False), (1e-4, False)])
def test_a_straight_elbow_a_hair_beyond_reach(beyond, solved):
    # The wrist points outwards, so that no other branch comes nearer.
    q = np.array([0.5, -0.7, 0.0, -1.5, 1.1, -0.2])
    target = fk(q, UR5E)
    elbow = link_frames(q, UR5E)[2, :3, 3] - (0.0, 0.0, UR5E.d[0])
    target[:3, 3] += beyond * elbow / np.linalg.norm(elbow)
    answer = SOLVER.solve(target, q)
    if solved:
        assert_met(answer.joints, target)
        assert "elbow" in answer.singular
    else:
        assert answer.reason is Reason.UNREACHABLE
        assert "mm short" in answer.message


def shoulder_singular(seed):
    """Joints whose wrist centre lies over the base axis, d4 beside it."""
    rng = np.random.default_rng(seed)
    while True:
        q = rng.uniform(-np.pi, np.pi, 6)
        # a2 c2 + a3 c23 + d5 s234 = 0, by q2.
        x, y = UR5E.a[1] + UR5E.a[2] * np.cos(q[2]), UR5E.a[2] * np.sin(q[2])
        x += UR5E.d[4] * np.sin(q[2] + q[3])
        y -= UR5E.d[4] * np.cos(q[2] + q[3])
        q[1] = np.arctan2(x, y)
        return q


def test_singular_shoulders_are_all_solved():
    for seed in range(500):
        q = shoulder_singular(seed)
        target = fk(q, UR5E)
        answer = SOLVER.solve(target, q)
        assert_met(answer.joints, target)
        assert "shoulder" in answer.singular


@pytest.mark.parametrize("degrees", [(0, -90, 0, -90, 0, 0), (30, -90, 0, 90, 0, 40), (0, 90, 0, -90, 180, 0)])
def test_all_three_at_once(degrees):
    q = np.deg2rad(degrees)
    target = fk(q, UR5E)
    answer = SOLVER.solve(target, q)
    assert_met(answer.joints, target)
    assert answer.singular == ("shoulder", "elbow", "wrist")
    for joints in answer.alternatives:
        assert_met(joints, target)


def test_poses_rounded_to_four_decimals_are_answered_or_refused_rightly():
    q = random_joints(4000, 66)
    q[::4, 4] = 0.0
    q[1::4, 2] = 0.0
    target = np.round(fk(q, UR5E), 4)
    solved = 0
    for pose, seed in zip(target, q, strict=True):
        answer = SOLVER.solve(pose, seed)
        if isinstance(answer, Refusal):
            assert answer.reason is Reason.UNREACHABLE
            continue
        solved += 1
        error = pose_error(fk(answer.joints, UR5E), pose)
        assert np.abs(error[:3]).max() <= 1e-6
        assert np.abs(error[3:]).max() <= 2e-4
    # Only some straight elbows are rounded out of reach.
    assert solved > 3400
