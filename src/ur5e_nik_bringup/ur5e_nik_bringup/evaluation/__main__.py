"""`./run eval WHAT`: one module of this package each."""

import argparse
import importlib
import sys

WHAT: dict[str, str] = {
    "task": "cubes placed, and how well, in time and inside the limits; network against closed form",
    "faults": "each fault of the neighbours of the task in each phase of a goal, and how it ends",
    "soak": "hours of simulated work: memory of every node, success, lost messages",
    "vision": "positions and yaws of cubes, in good light and bad, and the time they take",
}


def main() -> int:
    """Run one evaluation; 0 when it ran, and what it measured is as it should be."""
    parser = argparse.ArgumentParser(prog="./run eval", description="Measure against the simulation's ground truth.")
    commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    # Only what is asked for is imported: each has libraries of its own.
    asked = [word for word in sys.argv[1:2] if word in WHAT]
    modules = {name: importlib.import_module(f"ur5e_nik_bringup.evaluation.{name}") for name in asked}
    for name, about in WHAT.items():
        command = commands.add_parser(name, help=about, description=about)
        if name in modules:
            modules[name].add_arguments(command)
    options = parser.parse_args()
    try:
        return modules[options.what].run(options)
    except (ValueError, RuntimeError, OSError, ImportError) as error:
        print(f"eval {options.what}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
