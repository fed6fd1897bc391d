"""The system on a real UR5e: its nodes, its limits and the names that ur_robot_driver gives things."""

from __future__ import annotations

from typing import Any

from ament_index_python.packages import get_package_share_directory

from ur5e_nik_bringup.system import NodeSpec

# Of ur_robot_driver. The scaled one follows the pendant's speed slider; both refuse goals until they are active.
CONTROLLERS = ("scaled_joint_trajectory_controller", "joint_trajectory_controller")
ACTION = "follow_joint_trajectory"
FULL_SPEED = 3.14  # of the UR5e's joints [rad/s]
# At full speed; gentler than in the simulation, whose table does not shake.
FULL_ACCELERATION, FULL_JERK, FULL_LINE_VELOCITY = 12.0, 200.0, 0.6  # [rad/s^2, rad/s^3, m/s]


def speed_limits(fraction: float) -> dict[str, float]:
    """Motion parameters of the task at a fraction (0, 1] of what the arm can do."""
    return {
        "joint_velocity": fraction * FULL_SPEED,
        "joint_acceleration": fraction * FULL_ACCELERATION,
        "joint_jerk": fraction * FULL_JERK,
        "line_velocity": fraction * FULL_LINE_VELOCITY,
    }


def confirmation(controller: str) -> str:
    """The command by which a person lets the arm move."""
    return f"ros2 control switch_controllers --activate {controller}"


def describe(controller: str, dh: str, speed: float, solver: str, calibration_file: str) -> list[NodeSpec]:
    """The suite's nodes; vision only with a calibration file of the real camera."""
    share = get_package_share_directory("ur5e_nik_bringup")
    task: dict[str, Any] = {
        "trajectory_action": f"{controller}/{ACTION}",
        "solver": solver,
        **speed_limits(speed),
    }
    vision = NodeSpec("ur5e_nik_vision", "vision_node", "vision", {"calibration_file": calibration_file})
    return [
        NodeSpec("ur5e_nik_ik", "ik_node", "ik", {"dh": dh}),
        *([vision] if calibration_file else []),
        NodeSpec(
            "ur5e_nik_bringup",
            "task_node",
            "task",
            task,
            tuple(f"{share}/config/{name}" for name in ("task.yaml", "hardware_task.yaml")),
        ),
    ]
