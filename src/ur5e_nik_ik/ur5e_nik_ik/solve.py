"""`python -m ur5e_nik_ik.solve X Y Z`: one pose on the command line, without a node."""

import argparse
import math
import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from ur5e_nik_ik.dh import DhParameters, load_dh
from ur5e_nik_ik.joints import JOINT_NAMES, REST_POSTURE
from ur5e_nik_ik.models import network_path
from ur5e_nik_ik.network import Network, NetworkError
from ur5e_nik_ik.rotations import matrix_from_rpy
from ur5e_nik_ik.solver import SOLVERS, Refusal, Solution, Solver

NETWORKS = ("tool-down", "any-pose")


def main() -> int:
    """Print the joints; 0 if there are some, 1 if the pose is refused, 2 for a call that makes no sense."""
    options = _parser().parse_args()
    try:
        dh = load_dh(options.dh)
        solver = Solver(dh, _networks(dh))
    except (ValueError, OSError) as error:
        print(f"solve: {error}", file=sys.stderr)
        return 2
    target = np.eye(4)
    target[:3, :3] = matrix_from_rpy(np.deg2rad(options.rpy))
    target[:3, 3] = options.x, options.y, options.z
    answer = solver.solve(target, np.deg2rad(options.seed), options.solver)
    if isinstance(answer, Refusal):
        print(f"refused: {answer.message}", file=sys.stderr)
        return 1
    _print(answer)
    return 0


def _networks(dh: DhParameters) -> list[Network]:
    """Those of the arm; where there are none, the closed form answers."""
    found = []
    for name in NETWORKS:
        try:
            found.append(Network.load(network_path(name, dh), dh))
        except NetworkError as error:
            print(f"without the network {name}: {error}", file=sys.stderr)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="solve", description="Joints of the UR5e for one pose of tool0 in base_link.")
    for axis in "xyz":
        parser.add_argument(axis, type=_number, metavar=axis.upper(), help=f"{axis} [m]")
    parser.add_argument(
        "--rpy",
        nargs=3,
        type=_number,
        default=[180.0, 0.0, 0.0],
        metavar=("ROLL", "PITCH", "YAW"),
        help="about the fixed x, y and z axes [deg] (default: 180 0 0, the tool straight down)",
    )
    parser.add_argument(
        "--seed",
        nargs=6,
        type=_number,
        default=np.rad2deg(REST_POSTURE).tolist(),
        metavar="Q",
        help="posture that the answer shall be near to [deg] (default: 0 -90 90 -90 -90 0)",
    )
    parser.add_argument("--solver", choices=SOLVERS, default="auto", help="(default: auto)")
    parser.add_argument("--dh", default="ur5e", help="DH set: ur5e, ur5e_webots or a .yaml file (default: ur5e)")
    return parser


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"'{text}' is not a finite number")
    return value


def _print(answer: Solution) -> None:
    table = Table(title=r"joints \[deg]: the answer, then every other branch inside the limits")
    for name in JOINT_NAMES:
        table.add_column(name.removesuffix("_joint"), justify="right")
    for joints in (answer.joints, *answer.alternatives):
        table.add_row(*(f"{angle:.4f}" for angle in np.rad2deg(joints)), end_section=joints is answer.joints)
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"by the {answer.solver.replace('_', ' ')}; by forward kinematics {answer.position_error:.1e} m and "
        f"{answer.orientation_error:.1e} rad from the target"
    )
    if answer.singular:
        console.print(f"singular: {', '.join(answer.singular)}")


if __name__ == "__main__":
    sys.exit(main())
