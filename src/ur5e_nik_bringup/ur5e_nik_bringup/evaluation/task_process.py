"""The task node as a process of its own, and one of its goals as the client sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.action import ActionClient

from ur5e_nik_bringup.starter import apart_but_not_alone
from ur5e_nik_msgs.action import PickPlace


class GoalRun:
    """One pick_place goal. ``act`` is called with it, in the executor's thread, as soon as ``phase`` is heard of."""

    def __init__(
        self,
        client: ActionClient,
        goal: PickPlace.Goal,
        phase: str = "",
        act: Callable[[GoalRun], None] = lambda run: None,
    ) -> None:
        self.feedback: list[Any] = []
        self._phase, self._act = phase, act
        if not client.wait_for_server(10.0):
            raise TimeoutError("no task node serves pick_place within 10 s")
        self._accepting = client.send_goal_async(goal, self._hear)
        wait_for(self._accepting.done, 10.0, "an answer to the goal")
        self.handle = self._accepting.result()
        self.accepted = self.handle.accepted
        self._answer: Any = self.handle.get_result_async() if self.accepted else None

    @property
    def phases(self) -> list[str]:
        """The phases so far."""
        return [feedback.phase for feedback in self.feedback]

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self._answer.done()

    def reach(self, phase: str, timeout: float = 20.0) -> None:
        """Wait until the goal is in a phase."""
        wait_for(lambda: phase in self.phases, timeout, f"phase {phase}")

    def ask_cancel(self) -> None:
        """Ask for the goal's end, without waiting for an answer; feedback may come before the goal's acceptance."""
        self._accepting.add_done_callback(lambda accepted: accepted.result().cancel_goal_async())

    def cancel(self) -> None:
        """Ask for the goal's end and wait until that is heard."""
        wait_for(self.handle.cancel_goal_async().done, 5.0, "an answer to the cancel")

    def result(self, timeout: float = 60.0) -> PickPlace.Result:
        """The result; `status` is set then."""
        wait_for(self._answer.done, timeout, "the result")
        self.status = self._answer.result().status
        return self._answer.result().result

    def _hear(self, message: Any) -> None:
        self.feedback.append(message.feedback)
        if self.phases.count(self._phase) == 1 and message.feedback.phase == self._phase:
            self._act(self)


class TaskProcess:
    """The task node as a process of its own; ready when the constructor returns, and gone when its parent is."""

    def __init__(self, domain: int, parameters: Sequence[str] = (), wait: bool = True, namespace: str = "") -> None:
        words = [word for p in ("use_sim_time:=true", *parameters) for word in ("-p", p)]
        if namespace:
            words += ["-r", f"__ns:=/{namespace}", "-r", "/clock:=clock"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ur5e_nik_bringup.task_node", "--ros-args", *words],
            env={**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=apart_but_not_alone,
        )
        self.output = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        if wait:
            wait_for(lambda: "ready" in self.output or not self.alive, 20.0, "the task node")
            if not self.alive:
                raise RuntimeError(f"the task node did not start: {self.output.strip()}")

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def wait(self, timeout: float = 10.0) -> int:
        """Its exit code; killed if it does not end in time."""
        try:
            return self.process.wait(timeout)
        finally:
            self.process.kill()
            self._reader.join()

    def end(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Send a signal; exit code and the seconds until the end."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.wait(), time.monotonic() - began

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.output += line


def wait_for(ready: Callable[[], Any], timeout: float, what: str) -> None:
    """Until ``ready()``. Raises TimeoutError."""
    until = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not come within {timeout:g} s")
        time.sleep(0.005)
