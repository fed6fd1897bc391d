"""Send the simulated arm to the same targets by network and by closed form, and see where it ends up.

Question. The project had 0.33 mm between where the arm ended up with its network and with the closed form. Is that
the network, or the arm?

Protocol. Held-out tool-down targets of the reference network's box whose straight joint move from the look posture
keeps 20 mm from everything. The nodes of the simulation run as for the demo; each answer is sent to the trajectory
action, from the look posture, and the simulation says where tool0 is half a second after the arm is at rest. Four
answers for each target: of /solve_ik with the network and with the closed form, both verified; of the reference
network, raw; and the closed form's once more, which shows what the simulation itself leaves.

Time. 3 minutes; with --quick (3 targets) 10 s.

    ./run exec python experiments/arm_ends.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes arm_ends.json and arm_ends.png.
"""

from __future__ import annotations

import numpy as np
from common import BLACK, BLUE, GREEN, ORANGE, Run, summary
from matplotlib.figure import Figure
from rich.console import Console

from ur5e_nik_bringup.evaluation.crew import whole_cell
from ur5e_nik_bringup.kinematics import JOINT_LIMITS
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.waypoints import ToolPose, nearest_turn
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.models import models_folder
from ur5e_nik_ik.network import Network
from ur5e_nik_ik.training.configs import REFERENCE
from ur5e_nik_ik.training.data import held_out_targets

SEED = 9
AGAIN, NETWORK, RAW = "closed form, again", "network, verified", "reference network, raw"
COLOURS = {AGAIN: BLACK, NETWORK: BLUE, RAW: ORANGE}


def targets_of(count: int, settings: Settings, network: Network) -> tuple[list[ToolPose], np.ndarray]:
    """Tool poses of targets that the arm can be sent to, and the raw network's joints (N, 6) for them."""
    poses = held_out_targets(REFERENCE, UR5E)
    look = np.array(settings.look_posture)
    tools, answers = [], []
    for pose, joints in zip(poses, network.predict(poses, np.zeros(len(poses), int)), strict=True):
        joints = nearest_turn(joints, look, JOINT_LIMITS)
        if settings.surroundings.narrowest(np.linspace(look, joints, 100)).distance >= settings.path_margin:
            yaw = float(np.arctan2(pose[1, 0], pose[0, 0]))
            tools.append(ToolPose(*map(float, pose[:3, 3]), yaw))
            answers.append(joints)
        if len(tools) == count:
            break
    return tools, np.array(answers)


def draw(report: dict) -> Figure:
    """Every distance from where the closed form's answer led, as a share of the targets."""
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, colour in COLOURS.items():
        apart = np.sort(np.maximum(report["results"][name]["apart_mm"], 1e-9))
        axes.plot(apart, np.arange(1, len(apart) + 1) / len(apart), ".-", color=colour, label=name)
    axes.axvline(0.33, color=GREEN, linestyle=":", label="the project, 0.33 mm")
    axes.set(xscale="log", xlabel="from where the arm ends up with the closed form [mm]", ylabel="share of the targets")
    axes.set_title("Where the arm ends up")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


def main() -> None:
    """Send the arm, write the results."""
    run = Run.start(__file__, __doc__)
    settings, console = Settings(), Console(stderr=True, highlight=False)
    tools, raw = targets_of(
        3 if run.quick else 100, settings, Network.load(models_folder() / "reference-ur5e.npz", UR5E)
    )
    ends: dict[str, list[np.ndarray]] = {name: [] for name in ("closed form", *COLOURS)}
    given = {"cubes": "1", "seed": str(SEED), "speed": "0"}
    with whole_cell(given, console) as (_, crew):
        for tool, joints in zip(tools, raw, strict=True):
            closed_form = crew.answer(tool, "closed_form")
            ends["closed form"].append(crew.arrival(closed_form))
            ends[NETWORK].append(crew.arrival(crew.answer(tool, "network")))
            ends[RAW].append(crew.arrival(joints))
            ends[AGAIN].append(crew.arrival(closed_form))
    wanted, base = np.array([tool.position for tool in tools]), np.array(ends["closed form"])
    report: dict = {"seed": SEED, "targets": len(tools), "results": {}}
    report["closed_form_to_target_mm"] = summary(1e3 * np.linalg.norm(base - wanted, axis=1))
    for name in COLOURS:
        apart = 1e3 * np.linalg.norm(np.array(ends[name]) - base, axis=1)
        report["results"][name] = {"summary_mm": summary(apart), "apart_mm": apart.tolist()}
        print(f"{name}: {report['results'][name]['summary_mm']}", flush=True)
    run.finish(report, draw(report), ("mujoco", "numba"))


if __name__ == "__main__":
    main()
