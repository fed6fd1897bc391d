"""Write docs/parameters.md, the tables of node parameters, from what the running nodes declare.

./run exec python tools/node_tables.py          rewrites it
./run exec python tools/node_tables.py --check  exit code 1 if it is out of date
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import rclpy
from domain_coordinator import domain_id
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ur5e_nik_bringup.starter import Starter
from ur5e_nik_bringup.system import describe, parse_arguments

PAGE = Path(__file__).resolve().parent.parent / "docs" / "parameters.md"
PAGE_PORT = 8080  # the default of `view`, where it must be given
HEAD = """# Parameters

Every parameter has a description and a range, checked at the start and on `ros2 param set`. `tools/node_tables.py`
writes this page from what the running nodes declare.

"""
# What every rclpy node has, and what the launch file decides.
COMMON = ("use_sim_time", "start_type_description_service", "qos_overrides.")


def main() -> int:
    """Rewrite or check the page."""
    wanted = HEAD + tables()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(wanted)
    elif wanted != PAGE.read_text():
        print(f"{PAGE} is out of date: run ./run exec python tools/node_tables.py", file=sys.stderr)
        return 1
    return 0


def tables() -> str:
    """Markdown tables of all parameters of all nodes."""
    specs = describe(parse_arguments({"view": str(PAGE_PORT)}))
    with domain_id() as domain, tempfile.TemporaryDirectory() as folder:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        with Starter(specs, Path(folder), lambda name, line: None):
            rclpy.init()
            node = Node("node_tables")
            parts = [table(node, spec.name, spec.package, spec.executable) for spec in specs]
            rclpy.shutdown()
    return "\n".join(parts)


def table(node: Node, name: str, package: str, executable: str) -> str:
    """The table of one running node."""
    client = AsyncParameterClient(node, name)
    if not client.wait_for_services(60.0):
        raise TimeoutError(f"node {name} did not come up")
    names = sorted(n for n in ask(node, client.list_parameters()).result.names if not n.startswith(COMMON))
    descriptors = ask(node, client.describe_parameters(names)).descriptors
    values = ask(node, client.get_parameters(names)).values
    lines = [
        f"## `{name}` ({package}, `{executable}`)\n",
        "| parameter | default | range | what it is |",
        "|---|---|---|---|",
    ]
    for descriptor, value in zip(descriptors, values, strict=True):
        default = short(parameter_value_to_python(value))
        lines.append(f"| `{descriptor.name}` | {default} | {bounds(descriptor)} | {descriptor.description} |")
    return "\n".join(lines) + "\n"


def ask(node: Node, future: rclpy.Future):  # type: ignore[no-untyped-def]
    """The answer of a future."""
    deadline = time.monotonic() + 20.0
    while not future.done():
        rclpy.spin_once(node, timeout_sec=0.1)
        if time.monotonic() > deadline:
            raise TimeoutError("a parameter service did not answer")
    return future.result()


def short(value: object) -> str:
    """A default as it fits a table: long lists cut, files without their folder."""
    if isinstance(value, str):
        return f"`{value.rsplit('/share/', 1)[-1]}`" if value else '`""`'
    if isinstance(value, Sequence):
        numbers = [f"{entry:g}" if isinstance(entry, float) else str(entry) for entry in value]
        return f"`[{', '.join(numbers[:7])}{', ...' if len(numbers) > 7 else ''}]`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def bounds(descriptor: ParameterDescriptor) -> str:
    """The range of a parameter in words, or its constraint."""
    for found in (*descriptor.floating_point_range, *descriptor.integer_range):
        return f"{found.from_value:g} to {found.to_value:g}"
    return descriptor.additional_constraints


if __name__ == "__main__":
    sys.exit(main())
