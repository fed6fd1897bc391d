"""The one description of the running system: its arguments, its nodes and their parameters.

launch/sim.launch.py turns it into launch actions and starter.py into processes, so that the two
cannot drift apart.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory

from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.waypoints import ANY
from ur5e_nik_bringup.webots_system import ROS_PACKAGES, find_webots

# Of the scene's cubes, which vision knows as well.
COLOURS = ("red", "green", "blue", "yellow")


class SystemArgumentError(ValueError):
    """An argument that the system cannot be started with; the message says what would be right."""


@dataclass(frozen=True)
class Argument:
    """One argument of the system, as the launch file and the demo offer it."""

    name: str
    default: str
    description: str
    parse: Callable[[str], Any]
    choices: tuple[str, ...] = ()

    def value(self, text: str) -> Any:
        """Return the checked value of a text, or raise SystemArgumentError."""
        if self.choices and text not in self.choices:
            raise SystemArgumentError(f"{self.name} is '{text}', but must be one of {', '.join(self.choices)}")
        try:
            return self.parse(text)
        except ValueError as error:
            raise SystemArgumentError(f"{self.name} is '{text}', but must be {error}") from None


def _number(kind: type, low: float, high: float) -> Callable[[str], Any]:
    """A parser of numbers from low to high; the text of its error says what would be right."""
    noun = "a whole number" if kind is int else "a number"

    def parse(text: str) -> Any:
        try:
            number = kind(text)
            inside = low <= number <= high
        except ValueError:
            inside = False
        if not inside:
            raise ValueError(f"{noun} from {low} to {high}")
        return number

    return parse


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def _namespace(text: str) -> str:
    if text and not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", text):
        raise ValueError("a name of letters, digits and single underscores that begins with a letter, or empty")
    return text


def _colours(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(COLOURS):
        raise ValueError(f"some of {', '.join(COLOURS)}, with commas between them")
    return names


def _file_or_nothing(text: str) -> str:
    if text and not Path(text).is_file():
        raise ValueError("the path of a file, or empty")
    return text


ARGUMENTS = (
    Argument(
        "simulator",
        "auto",
        "which simulator moves the arm; auto takes what is installed",
        str,
        ("auto", "webots", "mujoco"),
    ),
    Argument("seed", "0", "seed of the cubes' random poses, 0 to 4294967295", _number(int, 0, 2**32 - 1)),
    Argument("cubes", "3", "number of cubes on the pick tray, 1 to 8", _number(int, 1, 8)),
    Argument(
        "colours",
        "red",
        "colours that the cubes have in turn, for instance red,green,blue; of several, each has places of its own",
        _colours,
    ),
    Argument("gui", "false", "open the simulator's window", _truth, ("true", "false")),
    Argument(
        "speed",
        "1.0",
        "simulated seconds per second, up to 100; 0: as fast as it can",
        _number(float, 0, 100),
    ),
    Argument(
        "solver",
        "auto",
        "which IK solver the task asks for; auto: the network, checked, else closed form",
        str,
        ("auto", "network", "closed_form"),
    ),
    Argument(
        "mode",
        "auto",
        "how fast Webots runs; auto: realtime, or fast for speed 0, as Webots knows no other factors",
        str,
        ("auto", "realtime", "fast", "pause"),
    ),
    Argument("port", "1234", "TCP port of Webots, 1024 to 65535", _number(int, 1024, 65535)),
    Argument("namespace", "", "of all nodes, topics and actions, the clock's too; a cell of its own each", _namespace),
    Argument("view", "0", "port of a page that shows the run, at http://127.0.0.1; 0: none", _number(int, 0, 65535)),
    Argument("world", "", "a .wbt file for Webots; empty: the one made for seed and cubes", _file_or_nothing),
)


@dataclass(frozen=True)
class NodeSpec:
    """One node: what to run, and what it is told."""

    package: str
    executable: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    parameter_files: tuple[str, ...] = ()
    namespace: str = ""
    remappings: tuple[tuple[str, str], ...] = ()


def parse_arguments(texts: dict[str, str]) -> dict[str, Any]:
    """Check every argument; those not given have their default.

    Raises SystemArgumentError for an unknown name or a value out of range.
    """
    known = {argument.name: argument for argument in ARGUMENTS}
    for name in texts:
        if name not in known:
            raise SystemArgumentError(f"there is no argument '{name}'; the arguments are {', '.join(known)}")
    return {name: arg.value(texts.get(name, arg.default)) for name, arg in known.items()}


def choose_simulator(
    wanted: str, launched: bool = False, environment: Mapping[str, str] = os.environ
) -> tuple[str, str]:
    """Return the simulator to use and why, in one line.

    launched: whether by `ros2 launch`, which Webots needs.
    Raises SystemArgumentError when the one that was asked for cannot be had.
    """
    if wanted == "mujoco":
        return "mujoco", "simulator: MuJoCo, as asked"
    try:
        found = _webots(launched, environment)
    except LookupError as missing:
        if wanted == "webots":
            raise SystemArgumentError(f"simulator webots cannot be had: {missing}") from None
        return "mujoco", f"simulator: MuJoCo, the one that comes with the suite ({missing})"
    return "webots", f"simulator: Webots, {found}{', as asked' if wanted == 'webots' else ''}"


def _webots(launched: bool, environment: Mapping[str, str]) -> str:
    """Say which Webots there is. Raises LookupError with one line when it cannot be run."""
    if not launched:
        raise LookupError("Webots needs ros2 launch: ros2 launch ur5e_nik_bringup sim.launch.py simulator:=webots")
    for package in ROS_PACKAGES:
        try:
            get_package_share_directory(package)
        except PackageNotFoundError:
            raise LookupError(f"the ROS package {package} is not installed") from None
    found = find_webots(environment)
    return f"{found.release} in {found.folder}" if found.folder else "on the host of this container"


def describe(arguments: dict[str, Any]) -> list[NodeSpec]:
    """The nodes of the system for checked arguments, in the order they start.

    With Webots the simulator is no node: launch/webots.launch.py starts it and its driver.
    """
    simulated = {"use_sim_time": True}
    webots, namespace = arguments["simulator"] == "webots", arguments["namespace"]
    if webots and namespace:
        raise SystemArgumentError("namespace is for simulator:=mujoco; Webots' driver and controllers stand in none")
    colours = list(dict.fromkeys(arguments["colours"]))
    simulation = NodeSpec(
        "ur5e_nik_mujoco",
        "sim_node",
        "sim",
        {
            **{name: arguments[name] for name in ("seed", "cubes", "gui", "speed")},
            "colours": ",".join(arguments["colours"]),
        },
    )
    calibration = (
        _share("ur5e_nik_bringup", "config/webots_camera.yaml")
        if webots
        else _share("ur5e_nik_vision", "config/overhead_camera.yaml")
    )
    task_files = ("config/task.yaml", "config/webots_task.yaml") if webots else ("config/task.yaml",)
    specs = [
        *([] if webots else [simulation]),
        NodeSpec("ur5e_nik_ik", "ik_node", "ik", {**simulated, "dh": "ur5e_webots" if webots else "ur5e"}),
        NodeSpec(
            "ur5e_nik_vision",
            "vision_node",
            "vision",
            {**simulated, "calibration_file": calibration, "colour": ",".join(colours)},
        ),
        NodeSpec(
            "ur5e_nik_bringup",
            "task_node",
            "task",
            {**simulated, "solver": arguments["solver"], "place_colours": places_of(colours)},
            tuple(_share("ur5e_nik_bringup", file) for file in task_files),
        ),
    ]
    if arguments["view"]:
        specs.append(NodeSpec("ur5e_nik_bringup", "view_node", "view", {**simulated, "port": arguments["view"]}))
    if not namespace:
        return specs
    # Each cell has its own time, so the one name that is not relative moves too.
    return [replace(spec, namespace=f"/{namespace}", remappings=(("/clock", "clock"),)) for spec in specs]


def places_of(colours: Sequence[str]) -> list[str]:
    """Which colour each place of the task's default is for: neighbours the same, as many for each as there are."""
    if len(colours) == 1:
        return [ANY]
    count = len(Settings().place_spots)
    return [colours[place * len(colours) // count] for place in range(count)]


def executable(spec: NodeSpec) -> Path:
    """The file that runs a node."""
    try:
        return Path(get_package_prefix(spec.package), "lib", spec.package, spec.executable)
    except PackageNotFoundError:
        raise _not_built(spec.package) from None


def _share(package: str, path: str) -> str:
    try:
        return f"{get_package_share_directory(package)}/{path}"
    except PackageNotFoundError:
        raise _not_built(package) from None


def _not_built(package: str) -> SystemArgumentError:
    return SystemArgumentError(
        f"package {package} is not built or not sourced; build the workspace and source install/setup.bash"
    )
