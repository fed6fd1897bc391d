"""One case of the fault matrix after the other, through a fake cell and the real task node."""

from __future__ import annotations

import re
import threading
import time
from types import TracebackType

import numpy as np

from ur5e_nik_bringup.evaluation.fake_cell import DISCOVERY, LATE, SETTINGS, FakeCell
from ur5e_nik_bringup.evaluation.fault_table import CUBE, PLACED, START, Fault
from ur5e_nik_bringup.evaluation.task_process import GoalRun, TaskProcess, wait_for
from ur5e_nik_bringup.states import Code

SPEED = 8.0  # simulated seconds per second
# Patience is short, so that the cases that use it up do not take long.
IMPATIENT = [
    "stall_timeout:=1.5",
    "ik_timeout:=1.5",
    "controller_timeout:=1.5",
    "motion_time_wall:=1.0",
    "look_timeout:=1.0",
    "look_timeout_wall:=0.5",
    "settle_timeout:=3.0",
]
PATIENCE = 15.0  # past a fault's time, until the task is given up [s]
LOOK, HOME = "look", "home"
STILL = 0.02  # a joint that turned by less after the result stood still [rad]
NEAR = 0.003  # a cube nearer to its place lies there [m]


class Case:
    """What one fault in one phase led to; ``why`` it is not as stated, or an empty string."""

    def __init__(self, fault: Fault, phase: str, result: str, seconds: float, why: str) -> None:
        self.fault, self.phase, self.result, self.seconds, self.why = fault, phase, result, seconds, why
        self.expected = fault.expected(phase)
        if result != self.expected:
            self.why = f"{result} instead of {self.expected}: {why}"
        elif not why and seconds > fault.within:
            self.why = f"took {seconds:.1f} s, more than {fault.within:g}"

    @property
    def ok(self) -> bool:
        """Whether all is as stated."""
        return not self.why

    def row(self) -> dict[str, str | float | bool]:
        """For the file."""
        return {
            "fault": self.fault.name,
            "phase": self.phase,
            "expected": self.expected,
            "result": self.result,
            "seconds": round(self.seconds, 2),
            "ok": self.ok,
        }


class Bench:
    """A fake cell with a task node beside it, as a context. The node serves case after case until one ends it."""

    def __init__(self, domain: int) -> None:
        self._domain = domain
        self.cell: FakeCell = FakeCell(domain, SPEED)
        self._task: TaskProcess | None = None
        self._run: GoalRun | None = None
        self._struck = threading.Event()
        self._began = 0.0

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task and self._task.alive:
            self._task.end()
        self.cell.close()

    @property
    def task(self) -> TaskProcess:
        """The task node."""
        assert self._task
        return self._task

    @property
    def run(self) -> GoalRun:
        """The goal under way."""
        assert self._run
        return self._run

    def judge(self, fault: Fault, phase: str) -> Case:
        """Let the fault begin in a phase of a goal for one cube, and see how that ends."""
        self._prepare(phase)
        try:
            self._start(fault, phase)
            result, message, seconds = self._exit(fault) if fault.exits else self._result(fault)
        except TimeoutError as hang:
            return Case(fault, phase, "none", time.monotonic() - self._began, f"{hang}; {self._put_down()}")
        if not self._struck.is_set():
            return Case(fault, phase, result, seconds, f"ended before the phase: {message}")
        if result != fault.expected(phase):
            return Case(fault, phase, result, seconds, message)
        return Case(fault, phase, result, seconds, self._unrest() or self._untruth(fault, result, message))

    def _prepare(self, phase: str) -> None:
        """Everything in order, and a task node that is idle."""
        self.cell.end_goals()
        if not (self._task and self._task.alive):
            wait_for(lambda: not self.cell.pick_place.server_is_ready(), 30.0, "the end of the last task node")
            self._task = TaskProcess(self._domain, IMPATIENT)
        self.cell.reset()
        self.cell.speed = SPEED
        self.cell.see(CUBE)
        if phase in (START, HOME):
            self.cell.displace()
        if phase == LOOK:
            self.cell.spoil(cubes="silent")  # or a quick look would be over before the fault
        self.cell.call("clear_places")
        self._struck.clear()

    def _start(self, fault: Fault, phase: str) -> None:
        def strike(run: GoalRun | None) -> None:
            self._run = run
            self._began = time.monotonic()
            if phase == LOOK:
                self.cell.spoil(cubes="")
            fault.begin(self)
            self._struck.set()

        self._began = time.monotonic()
        if phase == START:
            strike(None)
            time.sleep(DISCOVERY)
            self._began = time.monotonic()
            if not fault.exits:
                self._run = self.cell.start(1)
        else:
            self._run = self.cell.start(1, phase=phase, act=strike)

    def _result(self, fault: Fault) -> tuple[str, str, float]:
        """Its name, its message and the time it took."""
        result = self.run.result(fault.within + PATIENCE)
        seconds = time.monotonic() - self._began
        code = Code(result.error_code)
        return PLACED if code is Code.SUCCESS else code.name, result.message, seconds

    def _exit(self, fault: Fault) -> tuple[str, str, float]:
        wait_for(self._struck.is_set, PATIENCE, "the phase")
        code = self.task.wait(fault.within + PATIENCE)
        return f"exit {code}", self.task.output[-500:] if code else "", time.monotonic() - self._began

    def _put_down(self) -> str:
        """End a task node that hangs; its last line."""
        self.task.process.kill()
        self.task.wait()
        return (self.task.output.strip().splitlines() or [""])[-1]

    def _unrest(self) -> str:
        """What still moves, or moved after the result."""
        cell = self.cell
        # A late answer starts a motion that is cancelled at once: in a fast cell it would get far meanwhile.
        cell.speed = 1.0
        sent, positions = len(cell.sent), dict(cell.positions)
        if cell.deciding:
            wait_for(lambda: not cell.deciding, LATE + 5.0, "the late answer to a goal")
        time.sleep(0.3)
        if cell.moving or cell.deciding:
            return "the controller has a goal under way after the end"
        started = [late.ended for late in cell.sent[sent:] if late.ended not in ("cancelled", "refused")]
        if started:
            return f"a goal was sent after the end, and {started[0]}"
        turned = max(abs(cell.positions[name] - positions[name]) for name in positions)
        return f"a joint turned by {np.degrees(turned):.1f} deg after the end" if turned > STILL else ""

    def _untruth(self, fault: Fault, result: str, message: str) -> str:
        """What is not as the result says."""
        if fault.exits:
            return "a traceback was printed" if "Traceback" in self.task.output else ""
        place = SETTINGS.place_spots[0]
        told = [cube.error_code for cube in self.run.result().cubes].count(Code.SUCCESS)
        fallen = [cube for cube in self.cell.placed if cube.distance(place) > NEAR]
        if fallen:
            return f"the cube was let go at ({fallen[0].x:.3f}, {fallen[0].y:.3f}, {fallen[0].z:.3f})"
        if told > len(self.cell.placed) or (result == PLACED and not told):
            return f"{told} cubes are said to be placed, {len(self.cell.placed)} are"
        if result == PLACED:
            return ""
        failed = [sent.ended for sent in self.cell.sent[:-1] if sent.ended != "succeeded"]
        if failed:
            return f"went on after a motion that was {failed[0]}"
        if "\n" in message or not re.search(fault.says, message):
            return f"the message tells something else: {message}"
        return ""
