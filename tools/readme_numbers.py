"""Write the README's table of figures from the JSON files that the commands beside them wrote.

./run exec python tools/readme_numbers.py          rewrites README.md
./run exec python tools/readme_numbers.py --check  exit code 1 if README.md is out of date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "experiments" / "results"
BEGIN, END = "<!-- figures: tools/readme_numbers.py -->\n", "<!-- end of figures -->\n"


def main() -> int:
    """Rewrite or check the README."""
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = f"{before}{BEGIN}{table()}{END}{after}"
    if "--check" not in sys.argv[1:]:
        README.write_text(wanted)
    elif wanted != text:
        print("README.md is out of date: run ./run exec python tools/readme_numbers.py", file=sys.stderr)
        return 1
    return 0


def table() -> str:
    """The Markdown table."""
    lines = ["| what | the project began with | here | best other, same run | command |", "|---|---|---|---|---|"]
    for rows, command in (
        (networks(), "./run train --evaluate"),
        (solvers(), "./run bench"),
        (vision(), "./run eval vision"),
        (eyes(), "./run exec python experiments/camera.py"),
        (task("task"), "./run eval task"),
        (task("task_closed_form")[:2], "./run eval task --solver closed_form"),
        (faults(), "./run eval faults"),
        (soak(), "./run eval soak"),
    ):
        lines += [f"| {' | '.join(row)} | `{command}` |" for row in rows]
    return "\n".join(lines) + "\n"


def networks() -> list[tuple[str, str, str, str]]:
    """Accuracy of the networks, raw."""
    found = read("networks")
    reference, down, anywhere = (found[f"{name}-ur5e"] for name in ("reference", "tool-down", "any-pose"))

    def mm(network: dict, *keys: str) -> str:
        return " / ".join(f"{network['position_mm'][key]:.2g}" for key in keys) + " mm"

    return [
        (
            f"reference network ({reference['parameters']:,} parameters), mean raw error of {reference['targets']:,}",
            "0.19 mm",
            mm(reference, "mean"),
            "-",
        ),
        (
            f"tool-down network ({down['parameters']:,} parameters), raw error: mean / max, any azimuth and yaw",
            "one box, one yaw",
            mm(down, "mean", "max"),
            "-",
        ),
        (
            f"any-pose network ({anywhere['parameters']:,} parameters), raw error: median / max, every branch",
            "none",
            mm(anywhere, "median", "max"),
            "-",
        ),
        (
            "branches found by the any-pose network, where 8 exist",
            "about half",
            f"{anywhere['branches_of_8']:.2f}",
            "-",
        ),
    ]


def solvers() -> list[tuple[str, str, str, str]]:
    """Speed, and what is promised."""
    found = read("bench")
    times = {name: score["median_us"] for name, score in found["solvers"].items()}
    batch, promises = found["batch"]["solves_per_s"], found["guarantees"]
    eaik = next((f"EAIK {time:.1f} us" for name, time in times.items() if name.startswith("EAIK")), "-")
    ikpy = found["ratios"]["IKPy, rest seed / tool-down network, verified"]
    one, four = found["solve_ik"]["1"], found["solve_ik"]["4"]
    unit_error = max(promises["position_error_m"]["value"], promises["orientation_error_rad"]["value"])
    count = f"{promises['missed']['requests']:,}"
    return [
        (
            "one verified solve: tool-down / any-pose network, median",
            "530 us, not verified",
            f"{times['tool-down network, verified']:.1f} / {times['any-pose network, verified']:.1f} us",
            eaik,
        ),
        ("closed form, all branches, one pose", "230 us", f"{times['closed form, all branches']:.1f} us", eaik),
        ("times as fast as IKPy", "72", f"{ikpy:,.0f}", "-"),
        (
            f"batch of {found['batch']['targets']:,}, verified, one core: closed form / tool-down network",
            "none",
            f"{batch['closed form, verified']:,.0f} / {batch['tool-down network, verified']:,.0f} per s",
            "-",
        ),
        (
            "`/solve_ik` over DDS, one client / four clients, median",
            "not measured",
            f"{one['median_us']:,.0f} / {four['median_us']:,.0f} us",
            "-",
        ),
        ("largest error of a verified answer", "not verified", f"{unit_error:.1g} m or rad", "-"),
        (f"reachable poses missed, of {count}", "not known", f"{promises['missed']['value']:.0f}", "-"),
        (
            f"false successes, of {count} hopeless requests",
            "up to 1.78 m off",
            f"{promises['false_successes']['value']:.0f}",
            "-",
        ),
        ("answers by a network, random poses", "-", f"{100.0 * promises['network_share']['value']:.2f} %", "-"),
        ("Jacobian against finite differences", "3.2e-10", f"{promises['jacobian']['value']:.1e}", "-"),
    ]


def vision() -> list[tuple[str, str, str, str]]:
    """Where the camera sees the cubes."""
    found = read("vision")
    position, yaw = found["position_mm"], found["yaw_deg"]
    return [
        (
            f"cube position: mean / p99, {found['whole']:,} cubes in {found['scenes']} scenes",
            "8 mm",
            f"{position['mean']:.2f} / {position['p99']:.2f} mm",
            "-",
        ),
        ("cube yaw: mean / p99", "none", f"{yaw['mean']:.2f} / {yaw['p99']:.2f} deg", "-"),
        ("positions published of cut, hidden or absent cubes", "not known", f"{found['false_positions']}", "-"),
    ]


def eyes() -> list[tuple[str, str, str, str]]:
    """Threshold and homography beside a network, on the same pictures of one cube."""
    found = read("camera")["results"]
    ours, network = (found[name]["plain"]["position_mm"]["mean"] for name in ("threshold", "network"))
    what = "a small network trained on true labels as the eye, mean; threshold and homography, same pictures"
    return [(what, "49 mm", f"{network:.2f}; {ours:.2f} mm", "-")]


def task(name: str) -> list[tuple[str, str, str, str]]:
    """Where the cubes end up."""
    found = read(name)
    place, yaw, ends = found["place_mm"], found["yaw_deg"], found["net_vs_closed_form_mm"]
    return [
        (f"cubes placed, solver {found['solver']}", "4 tried", f"{found['placed']} of {found['cubes']}", "-"),
        (
            "the same: place error, mean / p99; yaw, max",
            "4.8 mm",
            f"{place['mean']:.2f} / {place['p99']:.2f} mm; {yaw['max']:.2f} deg",
            "-",
        ),
        ("network to closed form, where the arm ends up, max", "0.33 mm", f"{ends['max']:.4f} mm", "-"),
        (
            "cycle of a cube / limit by joint speeds along the same points",
            "not known",
            f"{found['cycle_s']:.2f} / {found['cycle_limit_s']:.2f} s",
            "-",
        ),
        ("motions over velocity, acceleration or jerk limits", "not known", f"{found['limit_violations']}", "-"),
        ("bumps of arm or gripper into anything but a cube", "not known", f"{found['contacts']}", "-"),
    ]


def faults() -> list[tuple[str, str, str, str]]:
    """What becomes of a goal when its neighbours fail."""
    cases = read("faults")["cases"]
    kinds, right = len({case["fault"] for case in cases}), sum(case["ok"] for case in cases)
    what = f"{kinds} faults, each in every phase of a goal: end as stated, in time, arm stopped"
    return [(what, "none", f"{right} of {len(cases)}", "-")]


def soak() -> list[tuple[str, str, str, str]]:
    """Hours of work."""
    found = read("soak")
    growth = max(found["growth_percent"].values())
    return [
        (
            f"{found['hours']:.0f} simulated hours: cubes placed; goals lost to a message; largest growth of memory",
            "none",
            f"{found['placed']:,} of {found['cubes']:,}; {found['lost_messages']}; {growth:.1f} %",
            "-",
        )
    ]


def read(name: str) -> dict:
    """One file of figures."""
    return json.loads((RESULTS / f"{name}.json").read_text())


if __name__ == "__main__":
    sys.exit(main())
