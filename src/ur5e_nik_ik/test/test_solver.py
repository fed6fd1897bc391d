"""The verified solver by its closed form: every pose, the nearest branch, limits, refusals."""

import re

import numpy as np
import pytest
from poses import random_joints, random_poses, tool_down

from ur5e_nik_ik.closed_form import branch_of, closed_form
from ur5e_nik_ik.dh import DH_SETS, UR5E
from ur5e_nik_ik.joints import JOINT_LIMITS, REST_POSTURE
from ur5e_nik_ik.kinematics import fk, link_frames, pose_error
from ur5e_nik_ik.posture import Posture
from ur5e_nik_ik.solver import Reason, Refusal, Solution, Solver

SOLVER = Solver()


def errors(joints, target, dh=UR5E):
    """Position and orientation error by the readable FK."""
    error = pose_error(fk(joints, dh), target)
    return np.linalg.norm(error[..., :3], axis=-1), np.linalg.norm(error[..., 3:], axis=-1)


def assert_meets(joints, target, tolerance=1e-6):
    position, orientation = errors(joints, target)
    assert position <= tolerance
    assert orientation <= tolerance
    assert (np.abs(joints) <= JOINT_LIMITS).all()


@pytest.mark.parametrize("dh", DH_SETS.values(), ids=DH_SETS)
def test_recovers_the_seed_of_20000_random_poses(dh):
    q = random_joints(20000, 41)
    batch = Solver(dh).solve_batch(fk(q, dh), q)
    assert batch.success.all()
    assert np.abs(batch.joints - q).max() < 1e-7
    assert (batch.branch == branch_of(q, dh)).all()
    assert not batch.network.any()


def test_solves_every_reachable_pose_from_the_rest_posture_inside_the_limits():
    target = random_poses(5000, 42)
    batch = SOLVER.solve_batch(target)
    assert batch.success.all()
    assert (np.abs(batch.joints) <= JOINT_LIMITS).all()
    position, orientation = errors(batch.joints, target)
    assert position.max() <= 1e-6
    assert orientation.max() <= 1e-6
    assert batch.position_error == pytest.approx(position, abs=1e-14)
    assert batch.orientation_error == pytest.approx(orientation, abs=1e-13)


def test_takes_the_branch_nearest_to_the_seed():
    target, seeds = random_poses(3000, 43), random_joints(3000, 44)
    batch = SOLVER.solve_batch(target, seeds)
    joints, valid = closed_form(target, UR5E)
    turned = joints + 2 * np.pi * np.round((seeds[:, None] - joints) / (2 * np.pi))
    # All turns of a joint with a seed inside +-pi are inside its limits, but for those of the elbow.
    turned[..., 2] = joints[..., 2]
    distance = np.where(valid, ((turned - seeds[:, None]) ** 2).sum(axis=-1), np.inf)
    nearest = distance.argmin(axis=1)
    kept = batch.branch == branch_of(seeds, UR5E)
    assert (batch.branch == nearest)[~kept].all()
    assert (batch.branch == nearest).mean() > 0.99
    rows = np.arange(3000)
    assert np.abs(batch.joints - turned[rows, batch.branch]).max() < 1e-9


def test_turns_are_those_nearest_to_the_seed():
    q = random_joints(500, 45)
    seeds = np.clip(q + 2 * np.pi * np.sign(-q), -JOINT_LIMITS, JOINT_LIMITS)
    seeds[:, 2] = q[:, 2]
    batch = SOLVER.solve_batch(fk(q, UR5E), seeds)
    assert np.abs(batch.joints - seeds).max() < 1e-7


@pytest.mark.parametrize("solver", ["auto", "closed_form"])
def test_alternatives_are_all_other_branches_nearest_first(solver):
    target = tool_down(0.4, 0.0, 0.1)
    answer = SOLVER.solve(target, REST_POSTURE, solver)
    assert isinstance(answer, Solution)
    assert len(answer.alternatives) == 7
    for joints in answer.alternatives:
        assert_meets(joints, target)
    everything = [answer.joints, *answer.alternatives]
    assert {int(branch_of(joints, UR5E)) for joints in everything} == set(range(8))
    distances = [np.sum((joints - REST_POSTURE) ** 2) for joints in everything]
    assert distances == sorted(distances)
    # The mean of the branches, which a careless network learns, is nowhere near.
    assert errors(np.mean(everything, axis=0), target)[0] > 0.3


@pytest.mark.parametrize(
    ("position", "solved"),
    [
        ((0.92, 0.0, 0.05), True),
        ((0.93, 0.0, 0.05), False),
        ((0.95, 0.0, 0.05), False),
        ((1.2, 0.0, 0.1), False),
        ((10.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.3), False),
        ((492.0, 133.0, 488.0), False),
        ((1e308, -1e308, 1e308), False),
    ],
)
def test_reach(position, solved):
    target = tool_down(*position)
    answer = SOLVER.solve(target)
    if solved:
        assert_meets(answer.joints, target)
    else:
        assert answer.reason is Reason.UNREACHABLE
        assert answer.message.startswith("unreachable")


def test_no_false_success_on_20000_poses_most_of_them_out_of_reach():
    rng = np.random.default_rng(46)
    target = random_poses(20000, 47)
    target[:, :3, 3] += rng.normal(0.0, 1.0, (20000, 3))
    batch = SOLVER.solve_batch(target)
    exists = closed_form(target, UR5E)[1].any(axis=1)
    assert 0.02 < exists.mean() < 0.5
    assert (batch.success == exists).all()
    position, orientation = errors(batch.joints[exists], target[exists])
    assert max(position.max(), orientation.max()) <= 1e-6
    assert (batch.joints[~exists] == 0.0).all()
    assert {batch.reason(row) for row in np.flatnonzero(~exists)} == {Reason.UNREACHABLE}
    assert batch.reason(int(np.flatnonzero(exists)[0])) is None


def spoil(target, rng):
    """Make a pose one that must be refused."""
    kind = rng.integers(6)
    if kind == 0:
        target[rng.integers(4), rng.integers(4)] = rng.choice([np.nan, np.inf, -np.inf])
    elif kind == 1:
        target[:3, :3] *= rng.choice([0.0, 0.5, 0.99, 1.01, 1.1, 2.0, -1.0])
    elif kind == 2:
        target[:3, rng.integers(3)] *= -1.0
    elif kind == 3:
        target[rng.integers(3), rng.integers(3)] += rng.choice([-1.0, 1.0]) * rng.uniform(0.05, 1.0)
    elif kind == 4:
        target[3, rng.integers(4)] += 0.1
    else:
        target[:3, :3] = rng.normal(size=(3, 3))


def test_no_false_success_on_malformed_targets():
    rng = np.random.default_rng(48)
    target = random_poses(5000, 49)
    for pose in target:
        spoil(pose, rng)
    batch = SOLVER.solve_batch(target)
    assert not batch.success.any()
    assert np.isfinite(batch.joints).all()
    assert {batch.reason(row) for row in range(5000)} == {Reason.NOT_A_POSE}
    for pose in target[:200]:
        answer = SOLVER.solve(pose)
        assert answer.reason is Reason.NOT_A_POSE
        assert answer.message.startswith("the target")


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (np.full((4, 4), np.nan), "NaN"),
        (np.diag([1.1, 1.1, 1.1, 1.0]), "scaled by 1.1"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), "reflected"),
        (np.diag([1.0, 1.0, 1.0, 2.0]), "last row"),
        (np.eye(3), "shape"),
        (np.zeros((4, 4)), "scaled by 0"),
    ],
)
def test_what_is_wrong_with_a_target_is_named(spoiled, words):
    answer = SOLVER.solve(spoiled)
    assert answer.reason is Reason.NOT_A_POSE
    assert words in answer.message


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (np.array([0.0, -90.0, 90.0, -90.0, -90.0, 0.0]), "shoulder_lift_joint is -90, .* not degrees"),
        (np.array([0.0, 0.0, np.nan, 0.0, 0.0, 0.0]), "elbow_joint is nan"),
        (np.array([0.0, 0.0, 0.0, 0.0, 0.0, -np.inf]), "wrist_3_joint is -inf"),
        (np.zeros(5), "shape"),
    ],
)
def test_what_is_wrong_with_a_seed_is_named(seed, words):
    answer = SOLVER.solve(tool_down(0.4, 0.0, 0.1), seed)
    assert answer.reason is Reason.BAD_SEED
    assert re.search(words, answer.message)


def test_unknown_solvers_are_refused():
    answer = SOLVER.solve(tool_down(0.4, 0.0, 0.1), solver="moveit")
    assert answer.reason is Reason.BAD_SOLVER
    assert "auto, network, closed_form" in answer.message
    with pytest.raises(ValueError, match="unknown solver 'moveit'"):
        SOLVER.solve_batch(random_poses(2, 50), solver="moveit")


def test_without_a_network_only_the_network_refuses():
    answer = SOLVER.solve(tool_down(0.4, 0.0, 0.1), solver="network")
    assert answer.reason is Reason.NOT_COVERED


def test_limits_are_kept_and_named():
    limits = np.stack([-JOINT_LIMITS, JOINT_LIMITS])
    limits[:, 1] = -0.1, 0.1
    solver = Solver(limits=limits)
    target = random_poses(3000, 51)
    batch = solver.solve_batch(target)
    assert 0.1 < batch.success.mean() < 0.9
    assert (np.abs(batch.joints[batch.success, 1]) <= 0.1).all()
    assert {batch.reason(row) for row in np.flatnonzero(~batch.success)} == {Reason.OUTSIDE_LIMITS}
    joints, valid = closed_form(target, UR5E)
    assert (batch.success == (valid & (np.abs(joints[..., 1]) <= 0.1)).any(axis=1)).all()
    refused = target[np.flatnonzero(~batch.success)[0]]
    assert "shoulder_lift_joint" in solver.solve(refused).message


@pytest.mark.parametrize(
    "limits", [np.zeros((6, 2)), np.stack([JOINT_LIMITS, -JOINT_LIMITS]), np.stack([-JOINT_LIMITS, 2 * JOINT_LIMITS])]
)
def test_impossible_limits_are_refused(limits):
    with pytest.raises(ValueError, match="limits must"):
        Solver(limits=limits)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan, np.inf, 1.0])
def test_impossible_tolerances_are_refused(tolerance):
    with pytest.raises(ValueError, match="position_tolerance must be between"):
        Solver(position_tolerance=tolerance)


@pytest.mark.parametrize("lowest", [np.nan, np.inf])
def test_impossible_heights_are_refused(lowest):
    with pytest.raises(ValueError, match="lowest height must be a number"):
        Solver(lowest=lowest)


def test_links_stay_above_the_lowest_height():
    solver = Solver(lowest=0.05)
    target = random_poses(3000, 52)
    batch = solver.solve_batch(target)
    heights = link_frames(batch.joints, UR5E)[:, 2:, 2, 3].min(axis=1)
    assert (heights[batch.success] >= 0.05).all()
    assert (heights[batch.success] < 0.15).any()
    # Wherever it refuses, every branch has a joint centre below.
    refused = ~batch.success
    joints, valid = closed_form(target[refused], UR5E)
    lowest = link_frames(joints, UR5E)[..., 2:, 2, 3].min(axis=-1)
    assert refused.any()
    assert (lowest[valid] < 0.05).all()
    assert {batch.reason(row) for row in np.flatnonzero(refused)} == {Reason.TOO_LOW}
    answer = solver.solve(target[batch.success][0])
    for other in answer.alternatives:
        assert link_frames(other, UR5E)[2:, 2, 3].min() >= 0.05


def test_shoulder_and_wrist_preferences():
    target = random_poses(2000, 53)
    valid = closed_form(target, UR5E)[1]
    for shoulder, bit in (("front", 0), ("back", 4)):
        branch = Solver(posture=Posture(shoulder=shoulder)).solve_batch(target).branch
        possible = valid[:, bit : bit + 4].any(axis=1)
        assert (((branch & 4) == bit) == possible).all()
    for wrist, sign in (("negative", -1), ("positive", 1)):
        batch = Solver(posture=Posture(wrist=wrist)).solve_batch(target)
        possible = valid[:, [b for b in range(8) if (b & 2 != 0) == (sign == 1)]].any(axis=1)
        assert ((np.sign(np.sin(batch.joints[:, 4])) == sign) == possible).all()


@pytest.mark.parametrize(("elbow", "sign"), [("up", 1), ("down", -1)])
def test_elbow_preference(elbow, sign):
    """Up is where the elbow lies above the line from the shoulder to wrist 1."""
    target = random_poses(2000, 54)
    batch = Solver(posture=Posture(elbow=elbow)).solve_batch(target, random_joints(2000, 55))
    assert batch.success.all()
    frames = link_frames(batch.joints, UR5E)
    # In the vertical plane of the arm; wrist 1 (frame 3) still lies in it.
    shoulder, middle, wrist = (frames[:, k, :3, 3] for k in (1, 2, 3))
    along = np.linalg.norm((wrist - shoulder)[:, :2], axis=1)
    part = ((middle - shoulder)[:, :2] * (wrist - shoulder)[:, :2]).sum(axis=1) / along**2
    above = middle[:, 2] - (shoulder[:, 2] + part * (wrist - shoulder)[:, 2])
    assert (np.sign(above) == sign).all()


def test_a_line_of_close_targets_never_jumps():
    for number, start in enumerate(random_joints(40, 56)):
        direction = np.random.default_rng(number).normal(size=3)
        pose, seed = fk(start, UR5E), start
        branch = branch_of(start, UR5E)
        for _ in range(200):
            pose[:3, 3] += 0.002 * direction / np.linalg.norm(direction)
            answer = SOLVER.solve(pose, seed)
            exists = closed_form(pose, UR5E)[1][branch]
            if isinstance(answer, Refusal) or not exists:
                break
            assert answer.branch == branch or np.abs(answer.joints - seed).max() < 0.5
            seed, branch = answer.joints, answer.branch


def test_other_layouts_of_an_array_are_fine():
    target = random_poses(1, 57)[0]
    seed = REST_POSTURE
    expected = SOLVER.solve(target, seed).joints
    transposed = np.asfortranarray(target)
    wide = np.zeros((8, 8))
    wide[::2, ::2] = target
    for other in (transposed, wide[::2, ::2], target.tolist(), target.astype(object)):
        assert np.array_equal(SOLVER.solve(other, seed.tolist()).joints, expected)
    fixed, fixed_seed = target.copy(), seed.copy()
    fixed.flags.writeable = fixed_seed.flags.writeable = False
    assert np.array_equal(SOLVER.solve(fixed, fixed_seed).joints, expected)
    single = SOLVER.solve(target.astype(np.float32), seed)
    assert isinstance(single, Solution)


def test_an_answer_does_not_change_with_the_arrays_it_was_asked_with():
    target, seed = tool_down(0.4, 0.0, 0.1), REST_POSTURE.copy()
    answer = SOLVER.solve(target, seed)
    before = [q.copy() for q in (answer.joints, *answer.alternatives)]
    target[:3, 3], seed[:] = 0.0, 0.0
    SOLVER.solve(random_poses(1, 58)[0])
    assert all(np.array_equal(a, b) for a, b in zip(before, (answer.joints, *answer.alternatives), strict=True))


def test_batches_of_other_shapes_are_refused_and_empty_ones_are_empty():
    with pytest.raises(ValueError, match="shape"):
        SOLVER.solve_batch(np.eye(4))
    assert SOLVER.solve_batch(np.empty((0, 4, 4))).joints.shape == (0, 6)
