"""The system on a real UR5e, or on ur_robot_driver's mock hardware. Not tried on a real arm.

The trajectory controller is loaded but not active: the arm cannot move before a person activates it.
"""

from pathlib import Path

import launch.logging
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from ur5e_nik_bringup.calibrated_arm import read_kinematics
from ur5e_nik_bringup.hardware_system import CONTROLLERS, confirmation, describe
from ur5e_nik_bringup.system import SystemArgumentError

ARGUMENTS = {
    "robot_ip": ("0.0.0.0", "address of the arm; no matter for mock hardware", None),
    "use_mock_hardware": ("false", "no arm: commands are mirrored as states", ["true", "false"]),
    "controller": (CONTROLLERS[0], "trajectory controller of the driver", list(CONTROLLERS)),
    "kinematics_params_file": ("", "the arm's own calibration, from ur_calibration; empty: the nominal lengths", None),
    "calibration_file": ("", "calibration of the real camera; empty: vision is not started", None),
    "speed": ("0.25", "share of the arm's full speed, above 0 and up to 1", None),
    "solver": ("auto", "which IK solver the task asks for", ["auto", "network", "closed_form"]),
    "launch_rviz": ("false", "show the arm in RViz", ["true", "false"]),
}


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)
                for name, (default, description, choices) in ARGUMENTS.items()
            ),
            OpaqueFunction(function=start),
        ]
    )


def start(context: LaunchContext) -> list:
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    try:
        driver = Path(get_package_share_directory("ur_robot_driver"), "launch", "ur_control.launch.py")
    except PackageNotFoundError:
        raise SystemArgumentError("ur_robot_driver is not installed: sudo apt install ros-jazzy-ur") from None
    if given["use_mock_hardware"] == "false" and given["robot_ip"] == "0.0.0.0":
        raise SystemArgumentError("robot_ip is missing; give the arm's address, or use_mock_hardware:=true")
    nodes = describe(given["controller"], arm(given), speed(given["speed"]), given["solver"], given["calibration_file"])
    handed_on = {
        "ur_type": "ur5e",
        "robot_ip": given["robot_ip"],
        "use_mock_hardware": given["use_mock_hardware"],
        "initial_joint_controller": given["controller"],
        "activate_joint_controller": "false",
        "launch_rviz": given["launch_rviz"],
    }
    if given["kinematics_params_file"]:
        handed_on["kinematics_params_file"] = given["kinematics_params_file"]
    actions = [
        IncludeLaunchDescription(PythonLaunchDescriptionSource(str(driver)), launch_arguments=handed_on.items()),
        LogInfo(msg=f"the arm cannot move yet; when the space around it is clear: {confirmation(given['controller'])}"),
    ]
    if not given["calibration_file"]:
        actions.append(LogInfo(msg="vision is not started: calibration_file names no calibration of the camera"))
    for spec in nodes:
        node = Node(
            package=spec.package,
            executable=spec.executable,
            name=spec.name,
            parameters=[*spec.parameter_files, spec.parameters],
            output="screen",
        )
        gone = EmitEvent(event=Shutdown(reason=f"{spec.name} has ended"))
        actions += [node, RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[gone]))]
    return actions


def arm(given: dict) -> str:
    """The IK node's parameter dh."""
    if not given["kinematics_params_file"]:
        return "ur5e"
    calibrated = read_kinematics(Path(given["kinematics_params_file"]))
    path = Path(launch.logging.launch_config.log_dir, "calibrated_ur5e.yaml")
    calibrated.write(path)
    launch.logging.get_logger("hardware").info(
        f"calibrated lengths in {path}; without the calibrated tilts tool0 is off by up to"
        f" {1e3 * calibrated.deviation:.1f} mm"
    )
    return str(path)


def speed(text: str) -> float:
    try:
        fraction = float(text)
    except ValueError:
        fraction = 0.0
    if not 0.0 < fraction <= 1.0:
        raise SystemArgumentError(f"speed is '{text}', but must be a number above 0 and up to 1")
    return fraction
