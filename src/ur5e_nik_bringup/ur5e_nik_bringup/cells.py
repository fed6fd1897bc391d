"""Cells beside each other in one ROS domain: one demo each, in a namespace of its own."""

from __future__ import annotations

import os
import signal
import string
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ur5e_nik_bringup.domain import own_domain
from ur5e_nik_bringup.starter import apart_but_not_alone

MOST = 4
# From the seed of one cell to that of the next, far enough that runs one seed apart share no scene.
SEEDS_APART = 1000


def run(count: int, values: Mapping[str, Any], record: bool, out: Path) -> int:
    """Run ``count`` demos at once, their lines told apart; 0 if each placed all its cubes."""
    with own_domain() as domain:
        print(f"{count} cells in ROS domain {domain}; writing to {out}", flush=True)
        demos = {f"cell_{letter}": index for index, letter in enumerate(string.ascii_lowercase[:count])}
        processes = {name: _start(name, index, values, record, out / name) for name, index in demos.items()}
        threads = [threading.Thread(target=_forward, args=pair) for pair in processes.items()]
        for thread in threads:
            thread.start()
        try:
            codes = [process.wait() for process in processes.values()]
        except KeyboardInterrupt:
            for process in processes.values():
                process.send_signal(signal.SIGINT)
            codes = [process.wait() for process in processes.values()]
            raise
        finally:
            for thread in threads:
                thread.join()
    return max(map(abs, codes))


def _start(name: str, index: int, values: Mapping[str, Any], record: bool, out: Path) -> subprocess.Popen[str]:
    own = {"namespace": name, "seed": (values["seed"] + SEEDS_APART * index) % 2**32, "out": out}
    told = {**{key: values[key] for key in ("cubes", "solver", "speed")}, "colours": ",".join(values["colours"]), **own}
    words = [word for key, value in told.items() for word in (f"--{key}", str(value))]
    return subprocess.Popen(
        [sys.executable, "-m", "ur5e_nik_bringup.demo", *words, *(["--record"] if record else [])],
        env={**os.environ, "COLUMNS": "110"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=apart_but_not_alone,
    )


def _forward(name: str, process: subprocess.Popen[str]) -> None:
    assert process.stdout
    for line in process.stdout:
        print(f"[{name}] {line}", end="", flush=True)
