"""What the tests need to move the arm: their own inverse kinematics and a smooth joint move."""

import mujoco
import numpy as np

from ur5e_nik_mujoco.controller import (
    JointTrajectoryController,
    TrajectoryGoal,
    TrajectoryPoint,
)
from ur5e_nik_mujoco.model import TOOL0
from ur5e_nik_mujoco.simulation import ARM_JOINTS, GRIPPER_JOINT, JOINTS

TCP = 0.1558


def tool_down(yaw):
    """Rotation of a tool that points down, turned about z."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, s, 0], [s, -c, 0], [0, 0, -1.0]])


class Operator:
    """Drives a simulation through its controller, as a client of the action would."""

    def __init__(self, simulation):
        self.simulation = simulation
        scene = simulation.scene
        self.controller = JointTrajectoryController(
            JOINTS,
            *simulation.joint_limits,
            simulation.joint_states()[0],
            np.radians(scene.arm.max_stop_deceleration),
        )
        self._scratch = mujoco.MjData(simulation.model)

    def wait(self, duration):
        for _ in range(round(duration / self.simulation.timestep)):
            states = self.simulation.joint_states()
            self.simulation.command(*self.controller.update(self.simulation.time, *states))
            self.simulation.step()

    def execute(self, names, points):
        """Runs one goal to its end; points are (time, positions, velocities)."""
        points = [TrajectoryPoint(*point) for point in points]
        goal = TrajectoryGoal(names, points, key=object())
        self.controller.start(goal, self.simulation.time)
        while not self.controller.outcomes:
            self.wait(0.01)
        return self.controller.outcomes.pop()

    def grip(self, angle):
        return self.execute([GRIPPER_JOINT], [(0.4, [angle], [0.0])])

    def move(self, joints, duration):
        """A smooth move, cubic to a point at rest."""
        return self.execute(ARM_JOINTS, [(duration, joints, np.zeros(6))])

    def solve(self, position, yaw):
        """Joints for a TCP position with the tool down, near where the arm is."""
        model, data = self.simulation.model, self._scratch
        site = model.site(TOOL0).id
        data.qpos[:] = self.simulation.data.qpos
        target = np.asarray(position) + [0, 0, TCP]
        rotation = tool_down(yaw)
        jacobian = np.zeros((6, model.nv))
        for _ in range(300):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            error = np.zeros(6)
            error[:3] = target - data.site_xpos[site]
            quaternion = np.zeros(4)
            turn = rotation @ data.site_xmat[site].reshape(3, 3).T
            mujoco.mju_mat2Quat(quaternion, turn.ravel())
            mujoco.mju_quat2Vel(error[3:], quaternion, 1.0)
            if np.linalg.norm(error) < 1e-9:
                return data.qpos[:6].copy()
            mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
            arm = jacobian[:, :6]
            step = arm.T @ np.linalg.solve(arm @ arm.T + 1e-4 * np.eye(6), error)
            data.qpos[:6] += step * min(1.0, 0.3 / np.abs(step).max())
        raise AssertionError(f"the test's own IK did not converge for {position}, {yaw}")

    def tcp_to(self, position, yaw, duration):
        return self.move(self.solve(position, yaw), duration)


def yaw_of(quaternion):
    """Rotation about z of a quaternion x, y, z, w."""
    x, y, z, w = quaternion
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def quarter_turn(angle):
    """An angle modulo a quarter turn, in [-45, 45) deg."""
    return (angle + np.pi / 4) % (np.pi / 2) - np.pi / 4
