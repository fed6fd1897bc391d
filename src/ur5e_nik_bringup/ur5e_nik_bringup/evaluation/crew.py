"""The task evaluation's hands in ROS: hears every motion that is sent, and sends the arm to poses of its own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rich.console import Console
from trajectory_msgs.msg import JointTrajectory

from ur5e_nik_bringup.cell_client import CellClient
from ur5e_nik_bringup.commander import Commander
from ur5e_nik_bringup.domain import own_domain
from ur5e_nik_bringup.evaluation.nodes import running
from ur5e_nik_bringup.planning import Unreachable
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.starter import Starter
from ur5e_nik_bringup.system import describe, parse_arguments
from ur5e_nik_bringup.trajectory import Trajectory, joint_move
from ur5e_nik_bringup.waypoints import ToolPose

Array = NDArray[np.float64]

START_UP = 90.0  # for the nodes to be there [s]
SETTLE = 0.5  # until the arm stands still [s]


class Crew(CellClient):
    """A ROS node of the evaluation, as a context. ``sent``: joint names and trajectory of every motion of the task."""

    def __init__(self, alive: Callable[[], None]) -> None:
        super().__init__("eval", alive)
        self.sent: list[tuple[list[str], Trajectory]] = []
        self.settings = Settings()

    def _subscribe(self) -> None:
        self._node.create_subscription(JointTrajectory, "task/trajectory", self._on_trajectory, 100)
        self._set_sim = self._node.create_client(SetParameters, "sim/set_parameters")
        self._arm = Commander(self._node, self.settings)

    def pace(self, speed: float) -> None:
        """Simulated seconds per second from now on; 0: as fast as it can."""
        request = SetParameters.Request(parameters=[Parameter("speed", value=speed).to_parameter_msg()])
        self.result(self._set_sim.call_async(request))

    def answer(self, pose: ToolPose, solver: str) -> Array:
        """Joints (6,) of ``solver``'s answer for a pose, seeded with the look posture."""
        self._arm.settings = replace(self.settings, solver=solver)
        (answer,) = self._arm.solve([pose], np.array(self.settings.look_posture))
        if isinstance(answer, Unreachable):
            raise answer
        return answer.joints

    def clear(self, joints: Array) -> bool:
        """Whether the arm may go there from the look posture in a straight joint move."""
        way = np.linspace(self.settings.look_posture, joints, 200)
        return self.settings.surroundings.narrowest(way).distance >= self.settings.path_margin

    def arrival(self, joints: Array) -> Array:
        """Where tool0 is, (3,) [m], after the arm went from the look posture to these joints."""
        self._go(np.array(self.settings.look_posture))
        self._go(joints)
        return np.array(self.truth().tool0)

    def _go(self, posture: Array) -> None:
        here = self._arm.reading().arm
        if np.max(np.abs(posture - here)) > self.settings.reached:
            self._arm.start(joint_move(here, posture, self.settings.arm_limits), self.settings.arm_joints)
            self._arm.follow()
        self._arm.sleep(SETTLE)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in message.points]
        knots = [[getattr(p, name) for p in message.points] for name in ("positions", "velocities", "accelerations")]
        self.sent.append((list(message.joint_names), Trajectory(np.array(times), *map(np.array, knots))))


@contextlib.contextmanager
def whole_cell(arguments: Mapping[str, str], console: Console) -> Iterator[tuple[Starter, Crew]]:
    """The nodes of the embedded simulation in a ROS domain of their own, all of them ready, and a crew.

    Raises SystemArgumentError for arguments that it cannot be started with.
    """
    specs = describe({**parse_arguments(dict(arguments)), "simulator": "mujoco"})
    with (
        own_domain(),
        tempfile.TemporaryDirectory(prefix="ur5e_nik_eval_") as folder,
        running(specs, Path(folder), console) as nodes,
        Crew(nodes.alive) as crew,
    ):
        crew.wait_until_ready(START_UP)
        yield nodes, crew
