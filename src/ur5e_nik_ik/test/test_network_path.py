"""The solver's network path: asked first, checked, polished, replaced where it fails."""

import numpy as np
import pytest
from poses import fitted_network, random_joints, random_poses, tool_down, tool_down_poses

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.compiled.search import NEWTON_STEPS
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.joints import JOINT_LIMITS
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.posture import Posture
from ur5e_nik_ik.solver import Reason, Solver

NETWORK = fitted_network()
SOLVER = Solver(UR5E, [NETWORK])


def test_answers_tool_down_targets_polished_in_a_step_or_two():
    target = tool_down_poses(2000, 71)
    batch = SOLVER.solve_batch(target)
    assert batch.success.all()
    assert batch.network.all()
    error = np.abs(pose_error(fk(batch.joints, UR5E), target)).max()
    assert error <= 1e-6
    for pose in target[:100]:
        answer = SOLVER.solve(pose)
        assert answer.solver == "network"
        assert 1 <= answer.steps <= 2


def test_answers_as_the_closed_form_does():
    target, seeds = tool_down_poses(1000, 72), random_joints(1000, 73)
    mixed = SOLVER.solve_batch(target, seeds)
    exact = SOLVER.solve_batch(target, seeds, "closed_form")
    assert 0.3 < mixed.network.mean() < 1.0
    assert not exact.network.any()
    assert (mixed.branch == exact.branch).all()
    assert np.isin(mixed.branch[mixed.network], NETWORK.branches).all()
    assert not np.isin(mixed.branch[~mixed.network], NETWORK.branches).any()
    assert np.abs(mixed.joints - exact.joints).max() < 1e-4


def test_network_alone_answers_its_own_branches_only():
    target, seeds = tool_down_poses(1000, 74), random_joints(1000, 75)
    batch = SOLVER.solve_batch(target, seeds, "network")
    assert batch.success.all()
    assert batch.network.all()
    assert np.isin(batch.branch, NETWORK.branches).all()


@pytest.mark.parametrize(
    "target",
    [
        tool_down(0.9, 0.0, 0.1),
        tool_down(0.2, 0.0, 0.1),
        tool_down(0.4, 0.0, 0.6),
        fk(np.deg2rad([20.0, -80.0, 90.0, -60.0, -70.0, 0.0]), UR5E),
    ],
    ids=["far", "near", "high", "tilted"],
)
def test_outside_its_domain_the_closed_form_answers(target):
    answer = SOLVER.solve(target)
    assert answer.solver == "closed_form"
    assert np.abs(pose_error(fk(answer.joints, UR5E), target)).max() <= 1e-6
    assert SOLVER.solve(target, solver="network").reason is Reason.NOT_COVERED


def test_out_of_reach_is_said_before_not_covered():
    answer = SOLVER.solve(tool_down(1.2, 0.0, 0.1), solver="network")
    assert answer.reason is Reason.UNREACHABLE


@pytest.mark.parametrize("error", [0.3, 1.0, 30.0])
def test_a_network_that_is_wrong_is_never_believed(error):
    target, seeds = tool_down_poses(500, 76), random_joints(500, 77)
    solver = Solver(UR5E, [fitted_network(error=error)])
    batch = solver.solve_batch(target, seeds)
    assert batch.success.all()
    assert np.abs(pose_error(fk(batch.joints, UR5E), target)).max() <= 1e-6
    assert (np.abs(batch.joints) <= JOINT_LIMITS).all()
    alone = solver.solve_batch(target, seeds, "network")
    assert np.abs(pose_error(fk(alone.joints[alone.success], UR5E), target[alone.success])).max(initial=0.0) <= 1e-6
    # What it names as the branch is the branch of the joints.
    joints, valid = closed_form(target, UR5E)
    rows = np.flatnonzero(alone.success)
    assert valid[rows, alone.branch[rows]].all()
    turned = alone.joints[rows] - joints[rows, alone.branch[rows]]
    assert np.abs(turned - 2 * np.pi * np.round(turned / (2 * np.pi))).max(initial=0.0) < 1e-4
    if error > 0.5:
        assert not alone.success.all()
        assert {alone.reason(row) for row in np.flatnonzero(~alone.success)} == {Reason.UNVERIFIED}


def test_no_more_newton_steps_than_allowed():
    solver = Solver(UR5E, [fitted_network(error=0.02)])
    steps = [solver.solve(pose).steps for pose in tool_down_poses(200, 78)]
    assert max(steps) <= NEWTON_STEPS
    assert max(steps) >= 2


def test_joints_near_the_ends_of_their_limits():
    target = tool_down_poses(500, 79)
    exact = SOLVER.solve_batch(target, solver="closed_form").joints
    # The elbow and others end a hair beyond the answer, so that raw joints lie outside.
    for sign in (-1.0, 1.0):
        for pose, q in zip(target[::10], exact[::10], strict=True):
            low, high = np.maximum(q - 1e-7, -JOINT_LIMITS), np.minimum(q + 1.0, JOINT_LIMITS)
            if sign > 0:
                low, high = np.maximum(q - 1.0, -JOINT_LIMITS), np.minimum(q + 1e-7, JOINT_LIMITS)
            answer = Solver(UR5E, [NETWORK], limits=np.stack([low, high])).solve(pose, q)
            assert (answer.joints >= low).all()
            assert (answer.joints <= high).all()
            assert np.abs(pose_error(fk(answer.joints, UR5E), pose)).max() <= 1e-6


def test_preferences_and_lowest_height_hold_for_the_network_too():
    target = tool_down_poses(500, 80)
    for posture in (Posture(shoulder="back"), Posture(elbow="down"), Posture(wrist="positive", shoulder="front")):
        mixed = Solver(UR5E, [NETWORK], posture=posture).solve_batch(target)
        exact = Solver(UR5E, posture=posture).solve_batch(target)
        assert (mixed.branch == exact.branch).all()
    below = Solver(UR5E, [NETWORK], lowest=0.2).solve_batch(target, solver="network")
    exact = Solver(UR5E, lowest=0.2).solve_batch(target)
    assert 0.0 < below.success.mean() < 1.0
    assert not (below.success & ~exact.success).any()


def test_the_first_network_that_covers_a_target_and_has_the_branch_is_asked():
    near, far = tool_down(0.4, 0.0, 0.1), tool_down(0.6, 0.0, 0.1)
    small, wrong = fitted_network(branches=(0,), radii=(0.25, 0.5)), fitted_network(branches=(0,), error=1.5)
    solver = Solver(UR5E, [small, wrong])
    assert solver.solve(near, solver="network").branch == 0
    assert solver.solve(far, solver="network").reason is Reason.UNVERIFIED
    swapped = Solver(UR5E, [wrong, small])
    assert swapped.solve(near, solver="network").reason is Reason.UNVERIFIED
    others = Solver(UR5E, [small, fitted_network(branches=(6, 7), error=1e-3)])
    answers = {others.solve(near, q, "network").branch for q in random_joints(100, 82)}
    assert answers == {0, 6, 7}


def test_sixteen_networks_are_too_many():
    with pytest.raises(ValueError, match="there are 16 networks"):
        Solver(UR5E, [NETWORK] * 16)


def test_random_poses_with_a_network_loaded_are_all_solved():
    q = random_joints(5000, 81)
    batch = SOLVER.solve_batch(random_poses(5000, 81), q)
    assert batch.success.all()
    assert np.abs(batch.joints - q).max() < 1e-4
