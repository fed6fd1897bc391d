"""Starts the described system as processes, where the launch package is not installed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import yaml

from ur5e_nik_bringup.system import (
    NodeSpec,
    SystemArgumentError,
    choose_simulator,
    describe,
    executable,
    parse_arguments,
)

# How long a node may take after each signal before the next, harder one [s].
PATIENCE = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))


def command(spec: NodeSpec, parameter_folder: Path) -> list[str]:
    """The command line of one node; parameters go through a file, which keeps their types."""
    own = parameter_folder / f"{spec.name}.yaml"
    own.write_text(yaml.safe_dump({"/**": {"ros__parameters": spec.parameters}}))
    files = [argument for path in (*spec.parameter_files, own) for argument in ("--params-file", str(path))]
    # The starter keeps what a node prints, so ROS need not keep it a second time.
    rules = [("__node", spec.name), *([("__ns", spec.namespace)] if spec.namespace else []), *spec.remappings]
    names = [word for old, new in rules for word in ("-r", f"{old}:={new}")]
    return [str(executable(spec)), "--ros-args", *names, "--disable-external-lib-logs", *files]


class Starter:
    """The processes of a system, as a context: all of them end when it is left.

    folder: holds each node's parameters and log.
    log: called with the node's name and a line for each line that a node prints.
    """

    def __init__(self, specs: Sequence[NodeSpec], folder: Path, log: Callable[[str, str], None]) -> None:
        self._specs = specs
        self._folder = folder
        self._log = log
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Starter:
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            for spec in self._specs:
                process = subprocess.Popen(
                    command(spec, self._folder),
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    preexec_fn=apart_but_not_alone,
                )
                self._processes[spec.name] = process
                thread = threading.Thread(target=self._forward, args=(spec.name,), daemon=True)
                thread.start()
                self._threads.append(thread)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def ended(self) -> str | None:
        """Say which node has ended, and how; None while all of them run."""
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None:
                how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
                return f"node {name} {how}"
        return None

    def alive(self) -> None:
        """Raise RuntimeError once a node has ended."""
        if (end := self.ended()) is not None:
            raise RuntimeError(f"{end}; what it printed stands above")

    @property
    def process_ids(self) -> dict[str, int]:
        """Of every node, by its name."""
        return {name: process.pid for name, process in self._processes.items()}

    def stop(self) -> None:
        """End every process, the last one started first, and wait until they are gone."""
        for number, patience in PATIENCE:
            running = [p for p in reversed(self._processes.values()) if p.poll() is None]
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
            deadline = time.monotonic() + patience
            for process in running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _forward(self, name: str) -> None:
        stream = self._processes[name].stdout
        assert stream is not None
        with open(self._folder / f"{name}.log", "w") as file:
            for line in stream:
                file.write(line)
                file.flush()
                self._log(name, line.rstrip("\n"))


def apart_but_not_alone() -> None:
    """Keep Ctrl-C from this process, as the starter ends them all in order, and end it if the starter dies.

    A group of its own, not a session: Linux may share the cores out by sessions, and large pictures then come too late.
    """
    os.setpgid(0, 0)
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def main() -> int:
    """`starter name:=value ...`: run the system until Ctrl-C, as `ros2 launch` would."""
    try:
        pairs = [word.split(":=", 1) for word in sys.argv[1:]]
        arguments = parse_arguments({pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs})
        arguments["simulator"], why = choose_simulator(arguments["simulator"])
        specs = describe(arguments)
    except SystemArgumentError as error:
        print(error, file=sys.stderr)
        return 2
    print(why)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(os.environ.get("ROS_LOG_DIR", Path.home() / ".ros" / "log" / "ur5e_nik"))
    try:
        with Starter(specs, folder, lambda name, line: print(f"[{name}] {line}")) as starter:
            while (end := starter.ended()) is None:
                time.sleep(0.1)
            print(end, file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
