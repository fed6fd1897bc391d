"""The networks that come with the package, behind the solver."""

from pathlib import Path

import numpy as np
import pytest
from poses import random_joints, tool_down_poses

from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.joints import JOINT_LIMITS
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.solver import Solver

MODELS = Path(__file__).resolve().parents[1] / "models"
SOLVER = Solver(UR5E, [Network.load(MODELS / f"{name}-ur5e.npz", UR5E) for name in ("tool-down", "any-pose")])


@pytest.mark.parametrize("seed", [101, None], ids=["near the answer", "at random"])
def test_98_percent_of_20000_random_poses_are_answered_by_a_network(seed):
    q = random_joints(20000, 101)
    target = fk(q, UR5E)
    seeds = q if seed else random_joints(20000, 102)
    batch = SOLVER.solve_batch(target, seeds)
    assert batch.success.all()
    assert batch.network.mean() >= 0.98
    assert np.abs(pose_error(fk(batch.joints, UR5E), target)).max() <= 1e-6
    assert (np.abs(batch.joints) <= JOINT_LIMITS).all()
    exact = SOLVER.solve_batch(target, seeds, "closed_form")
    assert (batch.branch == exact.branch).mean() > 0.999


def test_every_tool_down_target_is_answered_by_a_network_whatever_the_seed():
    target = tool_down_poses(2000, 103)
    for seeds in (random_joints(2000, 104), np.zeros(6)):
        batch = SOLVER.solve_batch(target, seeds)
        assert batch.success.all()
        assert batch.network.mean() >= 0.999


def test_no_false_success_beyond_the_edge_of_reach():
    target = fk(random_joints(20000, 105), UR5E)
    target[:, :3, 3] *= np.random.default_rng(106).uniform(0.8, 1.6, (20000, 1))
    by_network, exact = SOLVER.solve_batch(target), SOLVER.solve_batch(target, solver="closed_form")
    assert 0.3 < exact.success.mean() < 0.9
    assert (by_network.success == exact.success).all()
    solved = by_network.success
    assert np.abs(pose_error(fk(by_network.joints[solved], UR5E), target[solved])).max() <= 1e-6
