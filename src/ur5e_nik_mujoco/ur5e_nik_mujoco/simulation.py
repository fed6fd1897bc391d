"""The cell in motion: MuJoCo stepped under joint commands, its true state, and its pictures. No ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from ur5e_nik_mujoco import model as names
from ur5e_nik_mujoco.scene import Scene, SceneError, random_cubes

ARM_JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)
GRIPPER_JOINT = "robotiq_85_left_knuckle_joint"
JOINTS = (*ARM_JOINTS, GRIPPER_JOINT)

_MODEL_GRIPPER_JOINT = f"{names.GRIPPER_PREFIX}left_driver_joint"
_GRIPPER_CONTROL_RANGE = 255.0


@dataclass(frozen=True)
class CubeTruth:
    """A cube's centre [m] and orientation (x, y, z, w) in base_link, and what touches it."""

    name: str
    color: str
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]
    contacts: tuple[str, ...]


class Simulation:
    """One cell. Not thread-safe: one thread steps it, reads it and renders it.

    Joints are always in the order of `JOINTS`, in radians; the gripper's is 0 open, `scene.gripper.closed` closed.
    """

    def __init__(self, scene: Scene, seed: int = 0, cubes: int | Sequence[str] = 3) -> None:
        self.scene = scene
        self._colors: tuple[str, ...] | None = None
        self._time_before_reset = 0.0
        self.bumps: set[tuple[str, str]] = set()  # what arm or gripper has touched that is no cube, since the reset
        self.reset(seed, cubes)

    def reset(self, seed: int, cubes: int | Sequence[str], board: bool = False) -> None:
        """The start posture, the gripper open, cubes at the random poses of `seed`; the clock goes on.

        `cubes` is their number, or one colour name of the scene for each. Raises SceneError, and then nothing changed.
        """
        colors = (self.scene.cubes.color,) * cubes if isinstance(cubes, int) else tuple(cubes)
        poses = random_cubes(self.scene, seed, len(colors))
        unknown = [color for color in colors if color not in self.scene.cubes.colors]
        if unknown:
            raise SceneError(f"no cube colour {unknown[0]!r}; there are {', '.join(self.scene.cubes.colors)}")

        time = self.time if self._colors is not None else 0.0
        if colors != self._colors:
            self._compile(colors)
        model, data = self.model, self.data
        mujoco.mj_resetData(model, data)
        self._time_before_reset = time
        self.bumps.clear()
        for index, pose in enumerate(poses):
            address = model.joint(f"cube_{index}").qposadr[0]
            half = pose.yaw / 2
            data.qpos[address : address + 7] = [
                pose.x,
                pose.y,
                self.scene.cubes.edge / 2,
                math.cos(half),
                0,
                0,
                math.sin(half),
            ]
        start = [*np.radians(self.scene.arm.start_posture), 0.0]
        data.qpos[self._position_addresses] = start
        self._show_board(board)
        mujoco.mj_forward(model, data)
        self.command(np.array(start), np.zeros(len(JOINTS)), np.zeros(len(JOINTS)))

    @property
    def time(self) -> float:
        """Simulated seconds since the object was made; never goes back."""
        return self._time_before_reset + self.data.time

    @property
    def timestep(self) -> float:
        """Of the physics [s]."""
        return float(self.model.opt.timestep)

    @property
    def joint_limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper position limits of `JOINTS` [rad]."""
        return self._lower, self._upper

    def joint_states(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Positions [rad] and velocities [rad/s] of `JOINTS`."""
        return self.data.qpos[self._position_addresses], self.data.qvel[self._velocity_addresses]

    def command(
        self,
        positions: NDArray[np.float64],
        velocities: NDArray[np.float64],
        accelerations: NDArray[np.float64],
    ) -> None:
        """Sets what the joints are to follow from the next step on [rad], [rad/s], [rad/s^2]."""
        # The actuators are position servos with damping; the velocity term keeps that from making them lag. A time
        # step's mean velocity is that of its middle.
        middle = velocities + self.timestep / 2 * accelerations
        self.data.ctrl[:] = (positions + self._damping_time * middle) * self._control_scale
        # The arm's own dynamics, which a real controller feeds forward as well.
        arm = self._velocity_addresses[: len(ARM_JOINTS)]
        self._acceleration[arm] = accelerations[: len(arm)]
        mujoco.mj_mulM(self.model, self.data, self._torque, self._acceleration)
        torque = self._torque + self.data.qfrc_bias - self.data.qfrc_passive
        self.data.ctrl[: len(arm)] += torque[arm] / self._stiffness

    def step(self, count: int = 1) -> None:
        """Goes on by `count` time steps under the last command."""
        mujoco.mj_step(self.model, self.data, count)
        one, other = self.data.contact.geom[self.data.contact.dist <= 0].T
        if self._is_bump[one, other].any():
            self.bumps |= {pair for pair in self.contacts() if _is_bump(pair)}

    def tool0(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position [m] and quaternion (x, y, z, w) of tool0 in base_link."""
        site = self.data.site(names.TOOL0)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, site.xmat)
        return site.xpos.copy(), quaternion[[1, 2, 3, 0]]

    def cubes(self) -> list[CubeTruth]:
        """True state of every cube, cube_0 first."""
        touching = self.contacts()
        assert self._colors is not None
        result = []
        for index, color in enumerate(self._colors):
            name = f"cube_{index}"
            body = self.data.body(name)
            contacts = sorted({other for pair in touching if name in pair for other in pair if other != name})
            result.append(
                CubeTruth(
                    name,
                    color,
                    tuple(body.xpos.tolist()),
                    tuple(body.xquat[[1, 2, 3, 0]].tolist()),
                    tuple(contacts),
                )
            )
        return result

    def contacts(self) -> set[tuple[str, str]]:
        """Pairs of names, sorted, that touch: "arm", "gripper", "cube_0", "pick_tray", "table", "mast" ..."""
        touching = self.data.contact.geom[self.data.contact.dist <= 0]
        return {_pair(self._contact_names[a], self._contact_names[b]) for a, b in touching}

    def _compile(self, colors: tuple[str, ...]) -> None:
        self.model = model = names.build_model(self.scene, colors)
        self.data = mujoco.MjData(model)
        self._colors = colors
        self._contact_names = [_contact_name(model, geom) for geom in range(model.ngeom)]
        self._is_bump = np.array([[_is_bump(_pair(a, b)) for a in self._contact_names] for b in self._contact_names])
        joints = [model.joint(name) for name in (*ARM_JOINTS, _MODEL_GRIPPER_JOINT)]
        self._position_addresses = np.array([joint.qposadr[0] for joint in joints])
        self._velocity_addresses = np.array([joint.dofadr[0] for joint in joints])
        self._lower = np.array([joint.range[0] for joint in joints])
        self._upper = np.array([joint.range[1] for joint in joints])
        self._damping_time = model.actuator_biasprm[:, 2] / model.actuator_biasprm[:, 1]
        self._stiffness = model.actuator_gainprm[: len(ARM_JOINTS), 0]
        self._acceleration, self._torque = np.zeros(model.nv), np.zeros(model.nv)
        self._control_scale = np.ones(len(JOINTS))
        self._control_scale[-1] = _GRIPPER_CONTROL_RANGE / self.scene.gripper.closed

    def _show_board(self, shown: bool) -> None:
        """While the board lies there the trays are put away; cubes would lie on it as on them."""
        model = self.model
        model.mat_rgba[model.material(names.BOARD).id, 3] = float(shown)
        for geom in range(model.ngeom):
            name = model.geom(geom).name
            if name.startswith(("pick_tray", "place_tray")):
                model.geom_rgba[geom, 3] = float(not shown)


def _contact_name(model: mujoco.MjModel, geom: int) -> str:
    """The name that a person would give to what a geom belongs to."""
    body = model.body(model.geom_bodyid[geom]).name
    if body == "world":
        return next(
            (tray for tray in ("pick_tray", "place_tray") if model.geom(geom).name.startswith(tray)),
            model.geom(geom).name,
        )
    if body.startswith("cube_"):
        return body
    return "gripper" if body.startswith(names.GRIPPER_PREFIX) else "arm"


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _is_bump(pair: tuple[str, str]) -> bool:
    """Whether the arm or the gripper touches what is no cube; fingers may touch each other."""
    return bool({"arm", "gripper"} & set(pair)) and pair != ("gripper", "gripper") and "cube_" not in "".join(pair)
