"""Close the loop over all eight branches, and show the elbow-down fault that the project began with.

Question. The closed form of the project found right joints with the elbow up and wrong ones with the elbow down, since
it chose the branch of joint 2 by the side of the shoulder alone. Is each of the eight branches right here, and was that
all that was wrong?

Protocol. 20,000 joint vectors drawn evenly from a full turn of every joint; their poses by forward kinematics; all
branches of each pose by the closed form. A round trip is closed when the branch that the joints lie in gives the same
joints back, within 1e-7 rad. Every other branch that is said to exist must lead to the pose, too. The inherited fault
is put back by one sign: joint 2 is taken from the triangle with the elbow that the shoulder's side names, up, and
joint 4 makes up for it, so that the tool points as it should and only its place is wrong.

Time. 5 s; with --quick (1000 poses) likewise.

    ./run exec python experiments/branches.py [--quick] [--out FOLDER]

It needs matplotlib, which ./run test installs. Writes branches.json and branches.png.
"""

from __future__ import annotations

import numpy as np
from common import BLUE, ORANGE, Run
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ur5e_nik_ik.closed_form import BRANCHES, branch_of, closed_form, wrap
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk, link_frames, pose_error
from ur5e_nik_ik.training.data import tool_down_pose

SEED = 4
CODES = np.arange(BRANCHES)
# The elbow lies above the line from shoulder to wrist where its bit equals the shoulder's.
DOWN = (CODES & 1) != (CODES >> 2)
CLOSED = 1e-7


def with_the_fault(joints: np.ndarray) -> np.ndarray:
    """Joints (N, 8, 6) of all branches as the inherited formula would have had them."""
    wrong = joints.copy()
    elbow = joints[:, DOWN, 2]
    # What lies between the upper arm and the line to the wrist has the other sign with the other elbow.
    inside = np.arctan2(UR5E.a[2] * np.sin(elbow), UR5E.a[1] + UR5E.a[2] * np.cos(elbow))
    wrong[:, DOWN, 1] += 2.0 * inside
    wrong[:, DOWN, 3] -= 2.0 * inside
    return wrong


def misses(joints: np.ndarray, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position [m] and orientation errors [rad] (N, 8) of joints (N, 8, 6)."""
    error = pose_error(fk(joints, UR5E), poses[:, None])
    return np.linalg.norm(error[..., :3], axis=-1), np.linalg.norm(error[..., 3:], axis=-1)


def draw_arm(axes: Axes, joints: np.ndarray, style: str, colour: str, label: str) -> None:
    """One arm (6,) in the plane through the base axis and its upper arm."""
    frames = link_frames(joints, UR5E)
    along = -frames[1, :3, 0]
    points = frames[[0, 1, 2, 3, 5, 6], :3, 3]
    axes.plot(points @ along, points[:, 2], style, color=colour, label=label, markersize=4, linewidth=1.8)


def draw(counts: np.ndarray, down: dict[str, np.ndarray], up: np.ndarray) -> Figure:
    """How many branches there are, how far off they are, and one arm with the fault."""
    figure = Figure(figsize=(9.0, 6.6), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    axes = figure.add_subplot(grid[0, 0])
    numbers = (2, 4, 6, 8)
    shares = [100.0 * np.mean(counts == number) for number in numbers]
    axes.bar_label(axes.bar([str(number) for number in numbers], shares, color=BLUE), fmt="%.1f %%")
    axes.set(title="Branches of a random pose", xlabel="branches", ylabel="poses [%]", ylim=(0, max(shares) * 1.15))
    axes = figure.add_subplot(grid[0, 1])
    bins = np.geomspace(1e-17, 3.0, 90)
    for error, colour, label, style in (
        (down["fault"], ORANGE, "elbow down, with the fault", "-"),
        (down["mended"], BLUE, "elbow down, mended", "-"),
        (up, "black", "elbow up", ":"),
    ):
        axes.hist(
            np.maximum(error, 1e-17), bins, histtype="step", color=colour, label=label, linewidth=1.6, linestyle=style
        )
    axes.set(xscale="log", title="Where tool0 ends up", xlabel="position error [m]", ylabel="answers")
    axes.set_xticks(10.0 ** np.arange(-16, 1, 4))
    axes.legend(fontsize=8, loc="upper center")
    target = tool_down_pose(np.array([0.55]), 0.0, np.array([0.2]), 0.0)
    joints, _ = closed_form(target, UR5E)
    wrong = with_the_fault(joints)
    for column, (title, shown) in enumerate((("the elbow up", 0), ("the elbow down", 1))):
        axes = figure.add_subplot(grid[1, column])
        draw_arm(axes, joints[0, shown], "o-", BLUE, "here")
        if DOWN[shown]:
            draw_arm(axes, wrong[0, shown], "s--", ORANGE, "with the fault")
        along = -link_frames(joints[0, shown], UR5E)[1, :3, 0]
        axes.plot(target[0, :3, 3] @ along, target[0, 2, 3], "kx", markersize=10, label="target of tool0")
        axes.set(
            title=f"One target, {title}",
            xlabel="forward, in the plane of the arm [m]",
            ylabel="height [m]",
            aspect="equal",
        )
        axes.set(xlim=(-0.6, 1.2), ylim=(-0.3, 0.8))
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="upper right")
    return figure


def main() -> None:
    """Solve, judge, write the results."""
    run = Run.start(__file__, __doc__)
    count = 1000 if run.quick else 20_000
    given = np.random.default_rng(SEED).uniform(-np.pi, np.pi, (count, 6))
    poses = fk(given, UR5E)
    joints, valid = closed_form(poses, UR5E)
    own = branch_of(given, UR5E)
    rows = np.arange(count)
    closed = valid[rows, own] & (np.abs(wrap(joints[rows, own] - given)).max(axis=1) < CLOSED)
    position, orientation = misses(joints, poses)
    old_position, old_orientation = misses(with_the_fault(joints), poses)
    report: dict = {
        "seed": SEED,
        "poses": count,
        "round_trips_closed": int(closed.sum()),
        "by_branch": {str(code): [int(closed[own == code].sum()), int((own == code).sum())] for code in CODES},
        "answers": int(valid.sum()),
        "branches_of_a_pose": {str(n): int((valid.sum(axis=1) == n).sum()) for n in range(BRANCHES + 1)},
        "largest_position_error_m": float(position[valid].max()),
        "largest_orientation_error_rad": float(orientation[valid].max()),
    }
    for name, columns in (("elbow_up", ~DOWN), ("elbow_down", DOWN)):
        here = valid[:, columns]
        report[name] = {
            "answers": int(here.sum()),
            "right": int((position[:, columns][here] < CLOSED).sum()),
            "right_with_the_fault": int((old_position[:, columns][here] < CLOSED).sum()),
            "median_error_with_the_fault_m": float(np.median(old_position[:, columns][here])),
            "largest_orientation_error_with_the_fault_rad": float(old_orientation[:, columns][here].max()),
        }
    for key, value in report.items():
        print(f"{key}: {value}", flush=True)
    below = valid[:, DOWN]
    down = {"mended": position[:, DOWN][below], "fault": old_position[:, DOWN][below]}
    run.finish(report, draw(valid.sum(axis=1), down, position[:, ~DOWN][valid[:, ~DOWN]]), ("numba",))


if __name__ == "__main__":
    main()
