"""The launch description of Webots, built by the real launch and webots_ros2_driver on a Webots that is a folder."""

# ruff: noqa: E402

import importlib.util
import runpy
from pathlib import Path

import pytest
import xacro  # noqa: F401  what the launch file expands the robot description with
import yaml

for module in ("launch_ros", "webots_ros2_driver"):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: it comes with ROS 2 from apt, not from pip", allow_module_level=True)

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import ExecuteProcess, OpaqueFunction, RegisterEventHandler
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.utilities import perform_substitutions

from ur5e_nik_bringup.system import ARGUMENTS, SystemArgumentError
from ur5e_nik_bringup.webots_system import ROS_PACKAGES
from ur5e_nik_bringup.webots_world import RELEASE, world

LAUNCH = Path(__file__).resolve().parents[1] / "launch"


@pytest.fixture
def fake_webots(tmp_path, monkeypatch):
    home = tmp_path / "webots"
    (home / "resources").mkdir(parents=True)
    (home / "resources" / "version.txt").write_text(f"{RELEASE}\n")
    monkeypatch.setenv("WEBOTS_HOME", str(home))
    monkeypatch.delenv("ROS2_WEBOTS_HOME", raising=False)
    monkeypatch.delenv("WEBOTS_OFFSCREEN", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    for package in ROS_PACKAGES:
        try:
            get_package_share_directory(package)
        except PackageNotFoundError:
            pytest.skip(f"the ROS package {package} is not installed")
    return home


def expand(name, **arguments):
    """Every action of a launch file, its arguments given or default, with those of its includes and functions."""
    context = LaunchContext()
    context.launch_configurations.update({a.name: a.default for a in ARGUMENTS} | arguments)
    description = PythonLaunchDescriptionSource(str(LAUNCH / name)).get_launch_description(context)
    actions = []

    def visit(entities):
        for entity in entities:
            actions.append(entity)
            if isinstance(entity, (LaunchDescription, OpaqueFunction)) or "Include" in type(entity).__name__:
                visit(entity.visit(context) or [])

    visit([description])
    return actions, context


def commands(actions, context):
    """The words of each process, by its name or its executable; those that wait for an event are not among them."""
    for action in actions:
        if isinstance(action, ExecuteProcess):
            yield [perform_substitutions(context, words) for words in action.process_description.cmd]


def test_the_description_names_what_exists(fake_webots):
    actions, context = expand("webots.launch.py")
    lines = list(commands(actions, context))
    webots = next(line for line in lines if line[0] == str(fake_webots / "webots"))
    assert "--batch" in webots
    assert "--mode=realtime" in webots
    assert "--port=1234" in webots
    drivers = [line for line in lines if line[0].endswith("webots-controller")]
    assert {word for line in drivers for word in line if word.startswith("--robot-name=")} == {
        "--robot-name=UR5e",
        "--robot-name=overhead_camera",
    }
    for line in drivers:
        (file,) = [word.removeprefix("robot_description:=") for word in line if "robot_description:=" in word]
        assert Path(file).suffix == ".urdf"
        assert Path(file).is_file()
        assert "use_sim_time:=True" in line
    arm = next(line for line in drivers if "--robot-name=UR5e" in line)
    assert "__ns:=/ur5e" in arm
    controllers = Path(arm[arm.index("--params-file") + 1])
    assert "ur5e/controller_manager" in yaml.safe_load(controllers.read_text())


def test_the_supervisor_that_publishes_the_clock_is_started(fake_webots):
    actions, _ = expand("webots.launch.py")
    assert "Ros2SupervisorLauncher" in {type(action).__name__ for action in actions}


def test_the_ends_of_webots_spawner_and_driver_are_handled(fake_webots):
    actions, _ = expand("webots.launch.py")
    handlers = [action.event_handler for action in actions if isinstance(action, RegisterEventHandler)]
    assert sorted(type(handler).__name__ for handler in handlers) == ["OnProcessExit"] * 3 + ["OnProcessIO"]


def test_seed_and_cubes_make_the_world(fake_webots):
    from launch.logging import launch_config

    from ur5e_nik_bringup.scene_file import load_scene

    expand("webots.launch.py", seed="7", cubes="5")
    assert Path(launch_config.log_dir, "pick_place.wbt").read_text() == world(load_scene(), 7, 5)


def test_the_system_leaves_the_embedded_simulation_out(fake_webots):
    actions, context = expand("sim.launch.py", simulator="webots")
    executables = [action.node_executable for action in actions if type(action).__name__ == "Node"]
    assert {"ik_node", "vision_node", "task_node", "robot_state_publisher"} <= set(executables)
    assert "sim_node" not in executables


def test_without_webots_one_line_says_so(fake_webots, monkeypatch):
    monkeypatch.setenv("WEBOTS_HOME", "/nowhere")
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.setattr("ur5e_nik_bringup.webots_system.HOMES", ("/nowhere",))
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("it asks on the terminal"))
    with pytest.raises(SystemArgumentError, match="no Webots was found") as caught:
        expand("sim.launch.py", simulator="webots")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(path.name for path in LAUNCH.glob("*.launch.py")))
def test_every_launch_file_loads_without_webots(name):
    assert runpy.run_path(str(LAUNCH / name))["generate_launch_description"]()
