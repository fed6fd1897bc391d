"""Webots' side of the system: whether it is installed, and the names its world, driver and controllers share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ur5e_nik_bringup.webots_world import RELEASE

NAMESPACE = "ur5e"
CONTROLLER_MANAGER = f"/{NAMESPACE}/controller_manager"
# The states first: the task waits for both, and a trajectory is of no use without them.
CONTROLLERS = ("ur_joint_state_broadcaster", "ur_joint_trajectory_controller")
SPAWNER_TIMEOUT = 300  # [s]; at its first start Webots loads its models from the network
ROS_PACKAGES = (
    "webots_ros2_driver",
    "webots_ros2_control",
    "controller_manager",
    "joint_trajectory_controller",
    "joint_state_broadcaster",
    "robot_state_publisher",
    "xacro",
)

# In the order webots_ros2_driver looks: what these name, then where Webots installs itself.
HOME_VARIABLES = ("ROS2_WEBOTS_HOME", "WEBOTS_HOME")
HOMES = ("/usr/local/webots", "/snap/webots/current/usr/share/webots", "/mnt/c/Program Files/Webots")


@dataclass(frozen=True)
class Installation:
    """A Webots: its folder and release; folder "" when it runs on the host of this container."""

    folder: str
    release: str


def find_webots(environment: Mapping[str, str], homes: tuple[str, ...] = HOMES) -> Installation:
    """The Webots that webots_ros2_driver will start. Raises LookupError with one line when there is none."""
    if "WEBOTS_SHARED_FOLDER" in environment:
        return Installation("", "the host's")
    for variable in HOME_VARIABLES:
        folder = environment.get(variable, "")
        if folder and (release := release_in(folder)):
            return _recent_enough(Installation(folder, release), f", which {variable} names,")
    own = str(Path(environment.get("HOME", "/"), ".ros", f"webots{RELEASE}", "webots"))
    for folder in (*homes, own):
        if release := release_in(folder):
            return _recent_enough(Installation(folder, release), "")
    named = [f"{variable} names {environment[variable]}" for variable in HOME_VARIABLES if environment.get(variable)]
    looked = f"{', '.join(named)}, which holds no Webots" if named else f"looked in {homes[0]}"
    raise LookupError(f"no Webots was found ({looked}); install {RELEASE} or let WEBOTS_HOME name its folder")


def release_in(folder: str) -> str:
    """The release of the Webots in a folder, as `R2025a`; empty when there is none."""
    try:
        text = Path(folder, "resources", "version.txt").read_text()
    except OSError:
        return ""
    found = re.match(r"\s*(R\d{4}[a-z])", text)
    return found[1] if found else ""


def _recent_enough(found: Installation, how: str) -> Installation:
    # Releases sort as text: R2023b < R2025a.
    if found.release < RELEASE:
        raise LookupError(f"the Webots in {found.folder}{how} is {found.release}; {RELEASE} or newer is needed")
    return found


def mode(wanted: str, speed: float) -> str:
    """Webots' own name for how fast it runs; "auto" takes it from the speed: 0 is as fast as it can."""
    if wanted != "auto":
        return wanted
    return "fast" if speed == 0 else "realtime"
