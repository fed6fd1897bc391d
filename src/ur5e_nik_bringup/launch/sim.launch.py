"""The whole system in simulation: ros2 launch ur5e_nik_bringup sim.launch.py."""

from pathlib import Path

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

from ur5e_nik_bringup.system import ARGUMENTS, choose_simulator, describe, parse_arguments


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
            ),
            OpaqueFunction(function=start),
        ]
    )


def start(context: LaunchContext) -> list:
    texts = {a.name: LaunchConfiguration(a.name).perform(context) for a in ARGUMENTS}
    arguments = parse_arguments(texts)
    arguments["simulator"], why = choose_simulator(arguments["simulator"], launched=True)
    actions = [LogInfo(msg=why)]
    if arguments["simulator"] == "webots":
        webots = str(Path(__file__).with_name("webots.launch.py"))
        actions.append(IncludeLaunchDescription(PythonLaunchDescriptionSource(webots)))
    for spec in describe(arguments):
        node = Node(
            package=spec.package,
            executable=spec.executable,
            name=spec.name,
            namespace=spec.namespace,
            remappings=list(spec.remappings),
            parameters=[*spec.parameter_files, spec.parameters],
            output="screen",
        )
        actions.append(node)
        # Half a system is worse than none: one node gone ends them all.
        gone = EmitEvent(event=Shutdown(reason=f"{spec.name} has ended"))
        actions.append(RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[gone])))
    return actions
