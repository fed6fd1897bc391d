import numpy as np
import pytest
from poses import random_poses, tool_down

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E, DhParameters
from ur5e_nik_ik.reachability import Reach, reachability


@pytest.mark.parametrize(
    ("position", "reach", "words"),
    [
        ((0.4, 0.0, 0.1), Reach.REACHABLE, ""),
        ((0.92, 0.0, 0.05), Reach.REACHABLE, ""),
        ((0.93, 0.0, 0.05), Reach.TOO_FAR, "too far"),
        ((0.95, 0.0, 0.05), Reach.TOO_FAR, "too far"),
        ((1.2, 0.0, 0.1), Reach.TOO_FAR, "too far"),
        ((10.0, 0.0, 0.0), Reach.TOO_FAR, "too far"),
        ((0.1, 0.0, 0.3), Reach.DEAD_CYLINDER, "inside the dead cylinder of radius 0.1333 m"),
        ((0.0, 0.0, 0.5), Reach.DEAD_CYLINDER, "inside the dead cylinder"),
        ((400.0, 0.0, 100.0), Reach.TOO_FAR, "millimetres"),
        ((1e200, 0.0, 0.0), Reach.TOO_FAR, "millimetres"),
    ],
)
def test_tool_down(position, reach, words):
    result = reachability(tool_down(*position), UR5E)
    assert result.reach is reach, result
    assert words in result.message
    assert (result.missing == 0.0) == (reach is Reach.REACHABLE)


def test_the_tool_down_annulus_runs_from_d4_to_926_mm():
    radii = np.arange(0.1, 1.0, 0.0005)
    reached = [r for r in radii if reachability(tool_down(r, 0.0, 0.05), UR5E).reach is Reach.REACHABLE]
    assert min(reached) == pytest.approx(0.1333, abs=0.0006)
    assert max(reached) == pytest.approx(0.926, abs=0.001)


def test_agrees_with_the_closed_form():
    poses = random_poses(2000, 31)
    poses[:, :3, 3] += np.random.default_rng(32).normal(0.0, 0.3, (2000, 3))
    exists = closed_form(poses, UR5E)[1].any(axis=1)
    assert 0.2 < exists.mean() < 0.9
    assert [reachability(pose, UR5E).reach is Reach.REACHABLE for pose in poses] == exists.tolist()


def test_what_is_missing_is_the_distance_to_a_straight_elbow():
    inside = np.array([0.9, 0.0, 0.05])
    edge = next(
        r for r in np.arange(0.9, 1.0, 1e-5) if reachability(tool_down(r, *inside[1:]), UR5E).reach is Reach.TOO_FAR
    )
    near, far = (reachability(tool_down(edge + gap, *inside[1:]), UR5E).missing for gap in (0.0, 0.001))
    assert 0.0 < near < 2e-5
    assert 0.0009 < far < 0.00105


def test_links_of_unequal_length_cannot_fold_all_the_way():
    # The UR5e's own wrist always gets round this: the two wrists' elbows end 2 d5 apart.
    unequal = DhParameters("unequal", UR5E.d, (0.0, -0.6, -0.2, 0.0, 0.0, 0.0))
    result = reachability(tool_down(0.2, 0.0, 0.2), unequal)
    assert result.reach is Reach.TOO_NEAR
    assert "too near to the shoulder" in result.message
