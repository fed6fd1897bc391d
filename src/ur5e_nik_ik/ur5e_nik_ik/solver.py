"""The verified solver: every answer meets the pose by the forward kinematics of its own joints."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ur5e_nik_ik.compiled import search as core
from ur5e_nik_ik.compiled.packing import MOST, pack_solver
from ur5e_nik_ik.compiled.pose import NOT_FINITE, NOT_RIGID, RIGID_TOLERANCE
from ur5e_nik_ik.dh import UR5E, DhParameters
from ur5e_nik_ik.joints import JOINT_LIMITS, JOINT_NAMES, REST_POSTURE
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.posture import ANY_POSTURE, Posture, singularities
from ur5e_nik_ik.reachability import reachability
from ur5e_nik_ik.rotations import rotation_fault

SOLVERS = {
    "auto": core.AUTO,
    "network": core.NETWORK,
    "closed_form": core.CLOSED_FORM,
}
_NAMES = {code: name for name, code in SOLVERS.items()}


class Reason(Enum):
    """Why a pose was refused."""

    NOT_A_POSE = "the target is no pose"
    BAD_SEED = "the seed is no posture"
    BAD_SOLVER = "there is no such solver"
    UNREACHABLE = "the arm does not reach the pose"
    OUTSIDE_LIMITS = "every answer leaves the joint limits"
    TOO_LOW = "every answer has a link below the lowest height"
    NOT_COVERED = "no network answers the pose"
    UNVERIFIED = "no answer could be verified"


_REASONS = {
    NOT_FINITE: Reason.NOT_A_POSE,
    NOT_RIGID: Reason.NOT_A_POSE,
    core.BAD_SEED: Reason.BAD_SEED,
    core.UNREACHABLE: Reason.UNREACHABLE,
    core.OUTSIDE_LIMITS: Reason.OUTSIDE_LIMITS,
    core.TOO_LOW: Reason.TOO_LOW,
    core.NOT_COVERED: Reason.NOT_COVERED,
    core.UNVERIFIED: Reason.UNVERIFIED,
}


@dataclass(slots=True)
class Solution:
    """A verified answer.

    Attributes:
        joints: (6,) in DH order [rad], inside the limits, each at the turn nearest to the seed.
        solver: which one answered, "network" or "closed_form".
        branch: its code, see closed_form.
        steps: Newton steps that a network's answer took.
        position_error, orientation_error: between the target and the FK of joints [m], [rad].
    """

    joints: np.ndarray
    solver: str
    branch: int
    steps: int
    position_error: float
    orientation_error: float
    _question: tuple["Solver", np.ndarray] = field(repr=False)

    @property
    def alternatives(self) -> list[np.ndarray]:
        """The joints (6,) of every other branch inside the limits, nearest to the seed first.

        Worked out by the closed form when asked for, and verified as the answer is.
        """
        solver, question = self._question
        return solver._others(question, self)

    @property
    def singular(self) -> tuple[str, ...]:
        """Which of "shoulder", "elbow" and "wrist" are singular at the joints."""
        return singularities(self.joints, self._question[0].dh)


@dataclass(slots=True)
class Refusal:
    """No answer, and why: a reason for a program and a line for a person."""

    reason: Reason
    message: str


@dataclass(slots=True)
class BatchSolution:
    """What solve_batch found, a row a target.

    Attributes:
        joints: (N, 6) [rad], 0 where there is no answer.
        success: (N,) bool.
        network: (N,) bool, whether a network answered; else the closed form did.
        branch: (N,) codes, -1 where there is no answer.
        position_error, orientation_error: (N,) [m], [rad], 0 where there is no answer.
    """

    joints: np.ndarray
    success: np.ndarray
    network: np.ndarray
    branch: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    _outcomes: np.ndarray = field(repr=False)

    def reason(self, row: int) -> Reason | None:
        """Return why a target was refused, None if it was not."""
        return _REASONS.get(int(self._outcomes[row]))


# The kernels are compiled for writable arrays.
_REST_POSTURE = REST_POSTURE.copy()


def _own(values: np.ndarray) -> np.ndarray:
    """Return a copy in C order of type float, which the kernels are compiled for."""
    return np.array(values, dtype=float, order="C")


def _wrong_shape(target: np.ndarray, seed: np.ndarray) -> Refusal:
    if target.shape != (4, 4):
        return Refusal(Reason.NOT_A_POSE, f"the target has shape {target.shape}, not (4, 4)")
    return Refusal(Reason.BAD_SEED, f"the seed has shape {seed.shape}, not (6,)")


class Solver:
    """Solves poses of tool0 in base_link: a network first, checked and polished, else exactly.

    Among the branches that exist the one nearest to the seed is taken (sum of squared joint changes,
    every joint at its nearest turn inside the limits), but the seed's own branch is kept
    while no joint has to move further than choice.HOLD, so that a line of close targets never jumps.
    """

    def __init__(
        self,
        dh: DhParameters = UR5E,
        networks: Sequence[Network] = (),
        *,
        position_tolerance: float = 1e-6,
        orientation_tolerance: float = 1e-6,
        limits: np.ndarray | None = None,
        lowest: float | None = None,
        posture: Posture = ANY_POSTURE,
    ):
        """Pack everything for the kernels; the first solver compiles them or loads their cache.

        Args:
            dh: the arm.
            networks: the first whose domain holds a target, and that has the branch, is asked.
            position_tolerance: greatest position error of a success [m].
            orientation_tolerance: greatest orientation error of a success [rad].
            limits: lowest and highest joints (2, 6) [rad]; None: those of the arm.
            lowest: no joint centre and no tool0 may be below this height [m]; None: no matter.
            posture: what to prefer.

        Raises:
            ValueError: a tolerance, limit or height that cannot be, or too many networks.
        """
        if limits is None:
            limits = np.stack([-JOINT_LIMITS, JOINT_LIMITS])
        self.limits = np.array(limits, dtype=float)
        if self.limits.shape != (2, 6) or not (self.limits[0] <= self.limits[1]).all():
            raise ValueError("limits must be six lowest and six highest joints, in that order")
        if (np.abs(self.limits) > JOINT_LIMITS).any():
            raise ValueError("limits must lie inside +-2 pi, those of the elbow inside +-pi")
        for name, value in (
            ("position_tolerance", position_tolerance),
            ("orientation_tolerance", orientation_tolerance),
        ):
            if not 1e-12 <= value <= 0.1:
                raise ValueError(f"{name} must be between 1e-12 and 0.1, not {value}")
        if lowest is not None and not math.isfinite(lowest):
            raise ValueError(f"the lowest height must be a number [m], not {lowest}")
        if len(networks) > MOST:
            raise ValueError(f"there are {len(networks)} networks, {MOST} can be asked")
        self.dh = dh
        self.networks = tuple(networks)
        self.position_tolerance = position_tolerance
        self.orientation_tolerance = orientation_tolerance
        self.lowest = lowest
        self.posture = posture
        options = np.array(
            [
                position_tolerance,
                orientation_tolerance,
                -math.inf if lowest is None else lowest,
                *posture.bits(),
            ]
        )
        packed = pack_solver(dh, self.limits, options, self.networks)
        self._settings, self._index, self._work = packed
        self._scratch = np.zeros(core.SCRATCH)
        self._warm_up()

    def solve(self, target: np.ndarray, seed: np.ndarray = REST_POSTURE, solver: str = "auto") -> Solution | Refusal:
        """Solve one pose of tool0 in base_link (4, 4).

        Anything that makes arrays will do; writable arrays of floats in C order are taken as they
        are, which is by far the fastest.

        Args:
            target: rotation within compiled.pose.RIGID_TOLERANCE of a rigid one.
            seed: joints (6,) [rad], the posture that the answer shall be near to.
            solver: "auto": a network and the closed form where it cannot answer; "network": no
                closed form; "closed_form": no network.
        """
        mode = SOLVERS.get(solver)
        if mode is None:
            names = ", ".join(SOLVERS)
            return Refusal(Reason.BAD_SOLVER, f"unknown solver {solver!r}: use one of {names}")
        if seed is REST_POSTURE:
            seed = _REST_POSTURE
        joints, question = np.empty(6), np.empty(core.QUESTION)
        packed = (mode, self._settings, self._index, self._scratch, self._work, joints, question)
        try:
            found = core.search(target, seed, *packed)
        except TypeError:
            # Not what the kernel is compiled for.
            target, seed = _own(target), _own(seed)
            if target.ndim != 2 or seed.ndim != 1:
                return _wrong_shape(target, seed)
            found = core.search(target, seed, *packed)
        outcome, branch, source, steps, position_error, orientation_error = found
        if outcome != core.SOLVED:
            if outcome == core.WRONG_SHAPE:
                return _wrong_shape(target, seed)
            return Refusal(_REASONS[outcome], self._explain(outcome, branch, target, seed))
        return Solution(
            joints,
            _NAMES[source],
            branch,
            steps,
            position_error,
            orientation_error,
            (self, question),
        )

    def solve_batch(self, targets: np.ndarray, seeds: np.ndarray = REST_POSTURE, solver: str = "auto") -> BatchSolution:
        """Solve poses (N, 4, 4), each as `solve` does, with one seed (6,) or one each (N, 6).

        Raises:
            ValueError: other shapes, or an unknown solver.
        """
        if solver not in SOLVERS:
            raise ValueError(f"unknown solver {solver!r}: use one of {', '.join(SOLVERS)}")
        targets = np.array(targets, float, order="C")
        if targets.ndim != 3 or targets.shape[1:] != (4, 4):
            raise ValueError(f"targets have shape {targets.shape}, not (N, 4, 4)")
        count = len(targets)
        seeds = np.array(np.broadcast_to(np.asarray(seeds, float), (count, 6)), order="C")
        joints, errors = np.empty((count, 6)), np.empty((count, 2))
        outcomes, branches, sources = np.empty((3, count), dtype=np.int64)
        core.search_batch(
            targets,
            seeds,
            SOLVERS[solver],
            self._settings,
            self._index,
            self._scratch,
            self._work,
            joints,
            outcomes,
            branches,
            sources,
            errors,
        )
        success = outcomes == core.SOLVED
        network = success & (sources == core.NETWORK)
        return BatchSolution(joints, success, network, branches, errors[:, 0], errors[:, 1], outcomes)

    def _warm_up(self) -> None:
        target, seed, joints, question = np.eye(4), np.zeros(6), np.zeros((8, 6)), np.zeros(core.QUESTION)
        packed = (self._settings, self._index, self._scratch, self._work)
        core.search(target, seed, core.AUTO, *packed, joints[0], question)
        core.search_others(question, seed, 0, self._settings, self._scratch, joints, np.zeros(8))
        # From now on other types of arrays are errors, which solve awaits, and not compiled for.
        core.search.disable_compile()

    def _others(self, question: np.ndarray, solution: Solution) -> list[np.ndarray]:
        joints, distances = np.empty((8, 6)), np.empty(8)
        core.search_others(question, solution.joints, solution.branch, self._settings, self._scratch, joints, distances)
        return list(joints[np.argsort(distances)[: np.isfinite(distances).sum()]])

    def _explain(self, outcome: int, joint: int, target: np.ndarray, seed: np.ndarray) -> str:
        if outcome == NOT_FINITE:
            return "the target holds NaN or Inf"
        if outcome == NOT_RIGID:
            fault = rotation_fault(target[:3, :3], RIGID_TOLERANCE) or "has another last row than 0, 0, 0, 1"
            return f"the target's rotation {fault}"
        if outcome == core.BAD_SEED:
            name, value = JOINT_NAMES[joint], seed[joint]
            if not math.isfinite(value):
                return f"the seed's {name} is {value}"
            return f"the seed's {name} is {value:.6g}, beyond +-2 pi: radians are expected, not degrees"
        if outcome == core.UNREACHABLE:
            return reachability(target, self.dh, 0.9 * self.position_tolerance).message or "unreachable"
        if outcome == core.OUTSIDE_LIMITS:
            return f"every answer leaves the joint limits, for instance {JOINT_NAMES[joint]}"
        if outcome == core.TOO_LOW:
            return f"every answer has a link below {self.lowest} m"
        if outcome == core.NOT_COVERED:
            return "no network was trained for this pose or its branches: use auto or closed_form"
        return "the network's answers could not be polished to the pose: use auto or closed_form"
