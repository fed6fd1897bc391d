"""What users would pick instead, as contestants. Each is optional: requirements/bench.txt."""

import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ur5e_nik_ik.benchmark.protocol import Contestant
from ur5e_nik_ik.benchmark.urdf import urdf
from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.joints import REST_POSTURE
from ur5e_nik_ik.rotations import quaternion_from_matrix

# What the iterative solvers are asked for [m] and [rad], ten times finer than what counts as a success.
POSITION_GOAL = 1e-4
ORIENTATION_GOAL = 1e-3
# When they may give up [s], or [iterations].
TIMEOUT = 0.05
ITERATIONS = 1000

SEEDS = {"rest seed": REST_POSTURE, "zero seed": np.zeros(6)}
_NONE = np.empty((0, 6))
Peer = Callable[[DhParameters], list[Contestant]]


def contestants(dh: DhParameters) -> tuple[list[Contestant], list[str]]:
    """Return the peers that are installed, and the names of those that are not."""
    found, missing = [], []
    for package, make in PEERS.items():
        try:
            release = version(package)
        except PackageNotFoundError:
            missing.append(package)
            continue
        found += [
            Contestant(f"{c.name} ({package} {release})", c.prepare, c.solve, c.answers, c.note) for c in make(dh)
        ]
    return found, missing


def _in_dh_base(dh: DhParameters) -> Callable[[np.ndarray], np.ndarray]:
    """Return what turns a pose in base_link into one in the DH base."""
    cos, sin = np.cos(dh.offset[0]), np.sin(dh.offset[0])
    turn = np.eye(4)
    turn[:2, :2] = [[cos, sin], [-sin, cos]]
    return lambda target: np.ascontiguousarray(turn @ target)


def eaik(dh: DhParameters) -> list[Contestant]:
    """EAIK: exact, by the subproblems of its kinematic family; answers by least squares are flagged and dropped."""
    from eaik.IK_DH import DhRobot

    robot = DhRobot(np.array(dh.alpha), np.array(dh.a), np.array(dh.d))

    def answers(solution: Any) -> np.ndarray:
        joints = np.reshape(np.asarray(solution.Q, dtype=float), (-1, 6))
        return joints[~np.asarray(solution.is_LS, dtype=bool)] if len(joints) else _NONE

    return [Contestant("EAIK, all branches", _in_dh_base(dh), robot.IK, answers, "exact")]


def ur_analytic(dh: DhParameters) -> list[Contestant]:
    """ur-analytic-ik: the closed form of the UR family in C++; it knows the nominal UR5e only."""
    from ur_analytic_ik import ur5e

    solve = ur5e.inverse_kinematics
    return [Contestant("ur-analytic-ik, all branches", _in_dh_base(dh), solve, _rows, "exact, nominal UR5e")]


def ssik(dh: DhParameters) -> list[Contestant]:
    """ssik: generated code for the nominal UR5e, one answer nearest to the seed."""
    from ssik.prebuilt.universal_robots import ur5e_ik

    # Its base frame is either of the two; its own FK at zero tells which.
    zero = np.asarray(ur5e_ik.fk(np.zeros(6)))
    prepare = _in_dh_base(dh) if zero[0, 3] < 0.0 else np.ascontiguousarray
    seed = REST_POSTURE.copy()
    return [
        Contestant(
            "ssik, one answer",
            prepare,
            lambda target: ur5e_ik.solve(target, max_solutions=1, q_seed=seed),
            lambda found: _rows([solution.q for solution in found]),
            "exact, nominal UR5e",
        )
    ]


def pinocchio(dh: DhParameters) -> list[Contestant]:
    """Closed-loop inverse kinematics on Pinocchio, as its example does it: damped steps in the frame of the tool."""
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf(dh))
    data, frame = model.createData(), model.getFrameId("tool0")
    damping = 1e-6 * np.eye(6)

    def make(seed: np.ndarray) -> Callable[[Any], np.ndarray | None]:
        def solve(target: Any) -> np.ndarray | None:
            q = seed.copy()
            for _ in range(ITERATIONS):
                pin.framesForwardKinematics(model, data, q)
                miss = data.oMf[frame].actInv(target)
                error = pin.log(miss).vector
                if np.linalg.norm(error[:3]) < POSITION_GOAL and np.linalg.norm(error[3:]) < ORIENTATION_GOAL:
                    return q
                matrix = -pin.Jlog6(miss.inverse()) @ pin.computeFrameJacobian(model, data, q, frame)
                q = q - matrix.T @ np.linalg.solve(matrix @ matrix.T + damping, error)
            return None

        return solve

    return [
        Contestant(f"Pinocchio CLIK, {name}", pin.SE3, make(seed), _maybe, "iterative") for name, seed in SEEDS.items()
    ]


def trac_ik(dh: DhParameters) -> list[Contestant]:
    """TRAC-IK through pytracik, in its fast mode."""
    import pytracik

    solver = pytracik.TRAC_IK("base_link", "tool0", urdf(dh), TIMEOUT, POSITION_GOAL, pytracik.SolveType.Speed)

    def prepare(target: np.ndarray) -> tuple[float, ...]:
        # Scalar last.
        return (*target[:3, 3], *quaternion_from_matrix(target[:3, :3]))

    def make(seed: np.ndarray) -> Callable[[tuple[float, ...]], np.ndarray]:
        return lambda target: pytracik.ik(solver, seed, *target)

    return [
        Contestant(
            f"TRAC-IK, {name}", prepare, make(seed), lambda found: found[1:] if found[0] >= 0 else _NONE, "iterative"
        )
        for name, seed in SEEDS.items()
    ]


def ikpy(dh: DhParameters) -> list[Contestant]:
    """IKPy: least squares of the whole pose, with its own settings and the arm's joint limits."""
    from ikpy.chain import Chain

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arm.urdf")
        path.write_text(urdf(dh))
        chain = Chain.from_urdf_file(
            str(path), base_elements=["base_link"], active_links_mask=[False, *[True] * 6, False], symbolic=False
        )

    def make(seed: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        start = np.concatenate([[0.0], seed, [0.0]])
        return lambda target: chain.inverse_kinematics_frame(target, initial_position=start, orientation_mode="all")

    return [
        Contestant(f"IKPy, {name}", np.ascontiguousarray, make(seed), lambda joints: joints[1:7], "iterative")
        for name, seed in SEEDS.items()
    ]


def _rows(found: list[np.ndarray]) -> np.ndarray:
    return np.reshape(np.asarray(found, dtype=float), (-1, 6)) if len(found) else _NONE


def _maybe(joints: np.ndarray | None) -> np.ndarray:
    return _NONE if joints is None else joints


PEERS: dict[str, Peer] = {
    "eaik": eaik,
    "ur-analytic-ik": ur_analytic,
    "ssik": ssik,
    "pin": pinocchio,
    "pytracik": trac_ik,
    "ikpy": ikpy,
}
