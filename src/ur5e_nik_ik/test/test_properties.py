"""Properties that hold for any joints, any pose and any seed."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ur5e_nik_ik.closed_form import branch_of, closed_form, wrap
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.joints import JOINT_LIMITS
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.solver import Reason, Refusal, Solver

SOLVER = Solver()

# Round values and tiny ones on purpose: that is where the arm is singular.
SPECIAL = [0.0, np.pi, -np.pi, np.pi / 2, -np.pi / 2, 1e-12, -1e-9, 1e-7, -1e-5, 1e-4]
ANGLE = st.one_of(st.floats(-np.pi, np.pi), st.sampled_from(SPECIAL))
JOINTS = st.lists(ANGLE, min_size=6, max_size=6).map(np.array)
NEARLY_SINGULAR = np.array([0.0, 0.0, -6.103515625e-05, 0.0, -1e-09, 0.0])
ANYTHING = st.floats(allow_nan=True, allow_infinity=True, width=64)


def error(joints, target):
    return np.abs(pose_error(fk(joints, UR5E), target)).max()


@given(JOINTS)
@example(NEARLY_SINGULAR)
@settings(max_examples=500, deadline=None)
def test_every_branch_of_fk_meets_the_pose(q):
    target = fk(q, UR5E)
    joints, valid = closed_form(target, UR5E)
    assert valid.any()
    for branch in np.flatnonzero(valid):
        assert error(joints[branch], target) < 2e-8


@given(st.lists(st.floats(-3.1, 3.1), min_size=6, max_size=6).map(np.array))
@settings(max_examples=500, deadline=None)
def test_away_from_singularities_the_joints_come_back_in_their_branch(q):
    if min(abs(np.sin(q[2])), abs(np.sin(q[4]))) < 1e-3:
        return
    joints, valid = closed_form(fk(q, UR5E), UR5E)
    branch = branch_of(q, UR5E)
    assert valid[branch]
    # Where the shoulder is singular, joint 1 is as good as the square root of the rounding.
    assert np.abs(wrap(joints[branch] - q)).max() < 1e-4


@given(JOINTS, JOINTS)
@settings(max_examples=500, deadline=None)
def test_the_solver_solves_every_pose_of_the_arm_from_every_seed(q, seed):
    target = fk(q, UR5E)
    answer = SOLVER.solve(target, seed)
    assert not isinstance(answer, Refusal), answer
    assert error(answer.joints, target) <= 1e-6
    assert (np.abs(answer.joints) <= JOINT_LIMITS).all()
    for other in answer.alternatives:
        assert error(other, target) <= 1e-6
        assert (np.abs(other) <= JOINT_LIMITS).all()


@given(
    st.lists(ANYTHING, min_size=16, max_size=16),
    st.lists(st.one_of(ANYTHING, ANGLE), min_size=6, max_size=6),
)
@settings(max_examples=500, deadline=None)
def test_garbage_is_refused(target, seed):
    answer = SOLVER.solve(np.reshape(target, (4, 4)), np.array(seed))
    assert isinstance(answer, Refusal)
    assert answer.reason in (Reason.NOT_A_POSE, Reason.BAD_SEED)
    assert answer.message


@given(JOINTS, st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
@settings(max_examples=500, deadline=None)
def test_far_poses_are_answered_truly(q, position):
    target = fk(q, UR5E)
    target[:3, 3] = position
    answer = SOLVER.solve(target)
    if isinstance(answer, Refusal):
        assert answer.reason is Reason.UNREACHABLE
        assert answer.message.startswith("unreachable")
    else:
        assert error(answer.joints, target) <= 1e-6
        assert np.linalg.norm(position) < 1.2
