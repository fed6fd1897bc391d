"""Webots with the cell, its driver and its controllers; sim.launch.py includes it. No node of the suite runs here."""

import os
import pwd
import shutil
from pathlib import Path

import launch.logging
from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ur5e_nik_bringup.scene_file import load_scene
from ur5e_nik_bringup.system import ARGUMENTS, SystemArgumentError, choose_simulator, parse_arguments
from ur5e_nik_bringup.webots_system import CONTROLLER_MANAGER, CONTROLLERS, NAMESPACE, SPAWNER_TIMEOUT, mode
from ur5e_nik_bringup.webots_world import ARM, OVERHEAD_CAMERA, world

NAMES = ("seed", "cubes", "colours", "gui", "speed", "mode", "port", "world")


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(
                    argument.name,
                    default_value=argument.default,
                    description=argument.description,
                    choices=list(argument.choices) or None,
                )
                for argument in ARGUMENTS
                if argument.name in NAMES
            ),
            OpaqueFunction(function=start),
        ]
    )


def start(context: LaunchContext) -> list:
    arguments = parse_arguments({name: LaunchConfiguration(name).perform(context) for name in NAMES})
    # Otherwise webots_ros2_driver would ask on the terminal whether it may install one.
    choose_simulator("webots", launched=True)
    prepare_environment(arguments["gui"])
    import xacro  # now it is certain that these are installed
    from webots_ros2_driver.webots_launcher import WebotsLauncher

    share = Path(get_package_share_directory("ur5e_nik_bringup"))
    folder = Path(launch.logging.launch_config.log_dir)
    description = xacro.process_file(str(share / "urdf" / "webots.urdf.xacro")).toxml()
    urdf = folder / "webots.urdf"
    urdf.write_text(description)
    port = str(arguments["port"])
    webots = WebotsLauncher(
        world=os.path.abspath(arguments["world"]) if arguments["world"] else write_world(folder, arguments),
        gui=arguments["gui"],
        mode=mode(arguments["mode"], arguments["speed"]),
        port=port,
        ros2_supervisor=True,
    )
    return [
        webots,
        webots._supervisor,  # publishes /clock
        LogInfo(msg="waiting for Webots; at its first start it loads its models from the network, which takes minutes"),
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            namespace=NAMESPACE,
            parameters=[{"robot_description": ParameterValue(description, value_type=str), "use_sim_time": True}],
            output="screen",
        ),
        *drive_arm(str(urdf), str(share / "config" / "webots_controllers.yaml"), port),
        *drive_camera(str(share / "urdf" / "webots_overhead_camera.urdf"), port),
        RegisterEventHandler(
            OnProcessExit(target_action=webots, on_exit=[EmitEvent(event=Shutdown(reason="Webots has ended"))])
        ),
    ]


def write_world(folder: Path, arguments: dict) -> str:
    path = folder / "pick_place.wbt"
    path.write_text(world(load_scene(), arguments["seed"], arguments["cubes"], arguments["colours"]))
    return str(path)


def prepare_environment(gui: bool) -> None:
    """What Webots and its launcher read from the environment."""
    if not gui and not os.environ.get("DISPLAY"):
        os.environ.setdefault("WEBOTS_OFFSCREEN", "1")  # starts it under xvfb-run
    if not (os.environ.get("USER") or os.environ.get("USERNAME")):
        os.environ["USER"] = pwd.getpwuid(os.getuid()).pw_name  # part of the path of its sockets
    if "WEBOTS_OFFSCREEN" in os.environ and not shutil.which("xvfb-run"):
        raise SystemArgumentError("without a display Webots needs xvfb-run: sudo apt install xvfb")


def drive_arm(urdf: str, controllers: str, port: str) -> list:
    """The arm's driver, with the controllers that are spawned once it is connected; all anew after a reset."""
    from webots_ros2_driver.wait_for_controller_connection import WaitForControllerConnection
    from webots_ros2_driver.webots_controller import WebotsController

    driver = WebotsController(
        robot_name=ARM,
        namespace=NAMESPACE,
        parameters=[{"robot_description": urdf, "use_sim_time": True, "set_robot_state_publisher": False}, controllers],
        port=port,
    )
    spawner = Node(
        package="controller_manager",
        executable="spawner",
        arguments=[
            *CONTROLLERS,
            "--controller-manager",
            CONTROLLER_MANAGER,
            "--controller-manager-timeout",
            str(SPAWNER_TIMEOUT),
        ],
        output="screen",
    )

    def after_spawner(event: ProcessExited, context: LaunchContext) -> list:
        if context.is_shutdown or event.returncode == 0:
            return []
        return [EmitEvent(event=Shutdown(reason=f"the controllers did not start within {SPAWNER_TIMEOUT} s"))]

    def after_driver(event: ProcessExited, context: LaunchContext) -> list:
        if context.is_shutdown:
            return []
        if event.returncode == 0:  # Webots was reset, or is about to end
            return [
                LogInfo(msg="the arm's driver was disconnected: starting it again"),
                *drive_arm(urdf, controllers, port),
            ]
        return [EmitEvent(event=Shutdown(reason=f"the arm's driver ended with exit code {event.returncode}"))]

    return [
        driver,
        WaitForControllerConnection(target_driver=driver, nodes_to_start=[spawner]),
        RegisterEventHandler(OnProcessExit(target_action=spawner, on_exit=after_spawner)),
        RegisterEventHandler(OnProcessExit(target_action=driver, on_exit=after_driver)),
    ]


def drive_camera(urdf: str, port: str) -> list:
    from webots_ros2_driver.webots_controller import WebotsController

    driver = WebotsController(
        robot_name=OVERHEAD_CAMERA,
        parameters=[{"robot_description": urdf, "use_sim_time": True}],
        port=port,
        respawn=True,  # after a reset
    )
    return [driver]
