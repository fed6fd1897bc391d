"""Hold the Jacobian against finite differences, over step sizes.

Question. The project gave 3.2e-10 as the largest difference between its Jacobian and finite differences of its forward
kinematics. At which step, and is what is left the Jacobian's fault or that of the differences?

Protocol. 1000 joint vectors drawn evenly from a full turn; forward and central differences of the numpy forward
kinematics, steps 1e-1 to 1e-12 rad; the largest difference of any entry (m/rad and rad/rad) over all of them. A right
Jacobian leaves what theory says: a truncation error that falls with the step (forward) or its square (central), and a
rounding error that grows with its inverse. Beside it, what needs no step: the compiled Jacobian of the solver, and
automatic differentiation of the PyTorch forward kinematics.

Time. 5 s; with --quick (50 joint vectors) likewise.

    ./run exec python experiments/jacobian.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes jacobian.json and jacobian.png.
"""

from __future__ import annotations

import numpy as np
import torch
from common import BLACK, BLUE, GREEN, ORANGE, Run
from matplotlib.figure import Figure

from ur5e_nik_ik import torch_kinematics
from ur5e_nik_ik.compiled import newton
from ur5e_nik_ik.compiled.arm import forward, pack
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, jacobian, pose_error

SEED = 3
STEPS = np.geomspace(1e-1, 1e-12, 45)


def differences(q: np.ndarray, step: float, central: bool) -> np.ndarray:
    """Jacobian (N, 6, 6) of joints (N, 6) by finite differences."""
    turn = step * np.eye(6)
    behind = fk(q[:, None] - turn if central else np.broadcast_to(q[:, None], (len(q), 6, 6)), UR5E)
    slope = pose_error(behind, fk(q[:, None] + turn, UR5E)) / (2.0 * step if central else step)
    return np.swapaxes(slope, -2, -1)


def compiled(q: np.ndarray) -> np.ndarray:
    """Jacobian (N, 6, 6) as the solver's Newton steps have it."""
    matrix, frames, arm = np.zeros((len(q), 6, 7)), np.empty((8, 3)), pack(UR5E)
    for row, joints in zip(matrix, q, strict=True):
        newton.jacobian(frames, forward(joints, arm, frames), arm, row)
    return matrix[..., :6]


def automatic(q: np.ndarray) -> np.ndarray:
    """Jacobian (N, 6, 6) by automatic differentiation: dR/dq R^T holds the axis."""
    joints = torch.tensor(q)
    pose = torch_kinematics.fk(joints, UR5E)
    slope = torch.func.vmap(torch.func.jacfwd(lambda one: torch_kinematics.fk(one, UR5E)))(joints)
    spin = torch.einsum("nijk,nlj->nilk", slope[:, :3, :3], pose[:, :3, :3])
    return torch.cat([slope[:, :3, 3], torch.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], 1)], 1).numpy()


def draw(report: dict) -> Figure:
    """Differences over steps, with the slopes that theory gives."""
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    axes = figure.add_subplot()
    steps = np.array(report["steps_rad"])
    for name, colour, power in (("forward", ORANGE, 1), ("central", BLUE, 2)):
        axes.plot(steps, report[name], "o-", color=colour, markersize=3, label=f"{name} differences")
        truncation = report[name][0] * (steps / steps[0]) ** power
        axes.plot(steps, truncation, ":", color=colour, label=f"step to the power of {power}")
    axes.plot(steps, 2.2e-16 / steps, ":", color=BLACK, label="rounding, 2.2e-16 / step")
    axes.axhline(report["automatic"], color=GREEN, label="automatic differentiation")
    axes.axhline(3.2e-10, color="0.5", linestyle="--", label="the project, 3.2e-10")
    axes.set(xscale="log", yscale="log", ylim=(1e-16, 1.0), xlabel="step [rad]")
    axes.set(ylabel="largest difference [m/rad, rad/rad]", title="The Jacobian against finite differences")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, ncols=2, loc="upper center")
    return figure


def main() -> None:
    """Compare, write the results."""
    run = Run.start(__file__, __doc__)
    torch.set_num_threads(1)
    count = 50 if run.quick else 1000
    q = np.random.default_rng(SEED).uniform(-np.pi, np.pi, (count, 6))
    matrix = jacobian(q, UR5E)

    def largest(other: np.ndarray) -> float:
        return float(np.abs(matrix - other).max())

    report: dict = {"seed": SEED, "joint_vectors": count, "steps_rad": STEPS.tolist()}
    for name in ("forward", "central"):
        report[name] = [largest(differences(q, step, name == "central")) for step in STEPS]
        best = int(np.argmin(report[name]))
        report[f"best_{name}"] = {"step_rad": float(STEPS[best]), "difference": report[name][best]}
        print(f"{name}: {report[f'best_{name}']}", flush=True)
    report["automatic"], report["compiled"] = largest(automatic(q)), largest(compiled(q))
    print(f"automatic: {report['automatic']:.1e}, compiled: {report['compiled']:.1e}", flush=True)
    run.finish(report, draw(report), ("numba", "torch"))


if __name__ == "__main__":
    main()
