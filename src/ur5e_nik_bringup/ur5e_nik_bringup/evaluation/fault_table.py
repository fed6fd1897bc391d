"""Every fault of the matrix: how it is brought about, and how a goal for one cube must end. No ROS here."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ur5e_nik_bringup.states import Code, State
from ur5e_nik_bringup.waypoints import Spot

if TYPE_CHECKING:
    from ur5e_nik_bringup.evaluation.fault_runs import Bench

START = "start"  # before the goal is sent
PHASES = (START, *(state.value for state in State if state is not State.FINISHED))
UNTIL_LOOK = ("start", "home", "look")
UNTIL_PLAN = (*UNTIL_LOOK, "plan")
UNTIL_GRASP = (*UNTIL_PLAN, "approach", "descend", "grasp")
UNTIL_LOWER = (*UNTIL_GRASP, "lift", "carry", "lower")
UNTIL_RELEASE = PHASES[:-1]
RUNNING = PHASES[1:]
PLACED, EXIT = "placed", "exit 0"

Begin = Callable[["Bench"], Any]


@dataclass(frozen=True)
class Fault:
    """What goes wrong from one moment of a goal on.

    ends: the goal's result by the phase in which that begins; in all others the cube is placed in spite of it.
    says: what the result's message tells then, as a regular expression.
    exits: the task node ends, with exit code 0.
    within: the longest time from there to the end [s].
    """

    name: str
    begin: Begin
    ends: Mapping[Code, Sequence[str]]
    says: str = ""
    phases: Sequence[str] = PHASES
    exits: bool = False
    within: float = 10.0

    def expected(self, phase: str) -> str:
        """The result's name, or `PLACED`, or `EXIT`."""
        if self.exits:
            return EXIT
        return next((code.name for code, phases in self.ends.items() if phase in phases), PLACED)


def _spoil(**how: Any) -> Begin:
    return lambda bench: bench.cell.spoil(**how)


def _control(fault: str | int) -> Begin:
    return _spoil(control=lambda number, joints: fault)


def _arm(fault: str) -> Begin:
    return _spoil(control=lambda number, joints: fault if "shoulder_pan_joint" in joints else "")


def _gripper(fault: str) -> Begin:
    return _spoil(control=lambda number, joints: "" if "shoulder_pan_joint" in joints else fault)


def _see(spot: Spot) -> Begin:
    return lambda bench: bench.cell.see(spot)


def _kill(number: signal.Signals) -> Begin:
    return lambda bench: bench.task.process.send_signal(number)


CUBE = Spot(0.5, -0.25, 0.0225, 0.3)
ABORTS = {
    "INVALID_GOAL": -1,
    "INVALID_JOINTS": -2,
    "OLD_HEADER_TIMESTAMP": -3,
    "PATH_TOLERANCE_VIOLATED": -4,
    "GOAL_TOLERANCE_VIOLATED": -5,
}
NO_STATE = {Code.ROBOT_STATE_STALE: PHASES}
NO_CUBE = {Code.SENSOR_INFO_STALE: UNTIL_LOOK}
BAD_IK = {Code.FAILURE: UNTIL_PLAN}

FAULTS = (
    Fault("joint states silent", _spoil(states="silent"), NO_STATE, "no new joint state|s old"),
    Fault("joint states stale", _spoil(states="stale"), NO_STATE, "no new joint state|s old"),
    Fault("joint states without the elbow", _spoil(states="partial"), NO_STATE, "elbow_joint missing"),
    Fault("joint states without the gripper", _spoil(states="fingerless"), NO_STATE, "left_knuckle_joint missing"),
    Fault("joint states NaN", _spoil(states="nan"), NO_STATE, "not finite"),
    Fault("joint states come after results", _spoil(states="late"), {}, within=20.0),
    Fault("clock frozen", _spoil(clock="frozen"), {Code.TIMED_OUT: PHASES}, "stood still"),
    Fault("clock back by 50 s", lambda b: b.cell.turn_back(50), {Code.FAILURE: RUNNING}, "the clock went back"),
    Fault("simulation reset", lambda b: b.cell.restart(CUBE), {Code.FAILURE: RUNNING}, "was the simulation reset"),
    Fault(
        "controller gone",
        lambda bench: bench.cell.stop_controller(),
        {Code.CONTROLLER_UNAVAILABLE: PHASES},
        "no controller serves|the controller has gone|did not answer a goal",
    ),
    Fault("controller rejects", _control("refuse"), {Code.CONTROL_FAILED: PHASES}, "refused the motion"),
    *(
        Fault(f"controller aborts: {name}", _control(code), {Code.CONTROL_FAILED: PHASES}, f"with {name}: as it")
        for name, code in ABORTS.items()
    ),
    Fault("controller answers no goal", _control("mute"), {Code.CONTROLLER_UNAVAILABLE: PHASES}, "did not answer"),
    Fault("controller never ends a motion", _control("never"), {Code.TIMED_OUT: PHASES}, "was not over after"),
    Fault(
        "controller says success half-way",
        _arm("early"),
        {Code.CONTROL_FAILED: PHASES},
        "stopped .* deg from its target",
    ),
    Fault("answers to results lost", _spoil(results="lost"), {}, within=30.0),
    Fault("controller three times slower", _control("slow"), {}, within=30.0),
    Fault(
        "IK node gone",
        lambda bench: bench.cell.stop_ik(),
        {Code.IK_UNAVAILABLE: UNTIL_PLAN},
        "no IK node|did not answer",
    ),
    Fault("IK node gone for 0.7 s", lambda bench: bench.cell.restart_ik(0.7), {}),
    Fault("IK node silent", _spoil(ik="mute"), {Code.IK_UNAVAILABLE: UNTIL_PLAN}, "did not answer"),
    Fault("IK node says NaN", _spoil(ik="nan"), BAD_IK, "not finite"),
    Fault("IK node lies", _spoil(ik="wrong"), BAD_IK, "misses it by"),
    Fault("IK node forgets joints", _spoil(ik="short"), BAD_IK, "lacks wrist_1_joint"),
    Fault("IK node knows no frame", _spoil(ik="frame"), {Code.FRAME_TRANSFORM_FAILURE: UNTIL_PLAN}, "no such frame"),
    Fault("vision silent", _spoil(cubes="silent"), NO_CUBE, "judged 0 pictures"),
    Fault("vision stale", _spoil(cubes="stale"), NO_CUBE, "before the arm was out of view"),
    Fault("vision jumps", _spoil(cubes="jumping"), NO_CUBE, "lie still"),
    Fault("vision says NaN", _spoil(cubes="nan"), NO_CUBE, "not finite"),
    Fault(
        "vision in another frame",
        _spoil(cubes="frame"),
        {Code.FRAME_TRANSFORM_FAILURE: UNTIL_LOOK},
        "in frame 'world', not in 'base_link'",
    ),
    Fault(
        "cube taken away",
        lambda bench: bench.cell.see(),
        {Code.NO_OBJECT: UNTIL_LOOK, Code.GRASP_FAILED: ("plan", "approach", "descend", "grasp")},
        "no other cube is in view|no longer in view",
    ),
    Fault("cube out of reach", _see(Spot(1.2, 0.0, 0.0225)), {Code.NO_IK_SOLUTION: UNTIL_GRASP}, "cannot be reached"),
    Fault(
        "cube under the table", _see(Spot(0.5, -0.2, -0.1)), {Code.INVALID_GOAL_CONSTRAINTS: UNTIL_GRASP}, "the table"
    ),
    Fault(
        "gripper stuck",
        _spoil(grip="stuck"),
        # Closed where it began, open at the look posture, or around the cube.
        {
            Code.CONTROL_FAILED: ("start", "home", "lift", "carry", "lower", "release"),
            Code.GRASP_FAILED: ("look", "plan", "approach", "descend", "grasp"),
        },
        "did not open|held nothing",
    ),
    Fault("gripper never ends", _gripper("never"), {Code.TIMED_OUT: UNTIL_RELEASE}, "was not over after"),
    Fault("fingers close on nothing", _spoil(grip="miss"), {Code.GRASP_FAILED: UNTIL_GRASP}, "held nothing"),
    Fault(
        "fingers close on something else", _spoil(grip="decoy"), {Code.GRASP_FAILED: UNTIL_GRASP}, "still sees the cube"
    ),
    Fault(
        "cube gone when it is let go",
        _spoil(grip="vanish"),
        {Code.PLACE_FAILED: UNTIL_LOWER},
        "sees no cube at",
        (*UNTIL_LOWER, "retreat"),
    ),
    Fault("cube slips out once", _spoil(grip="slip"), {}),
    Fault("cancelled", lambda bench: bench.run.ask_cancel(), {Code.PREEMPTED: RUNNING}, "cancelled", RUNNING, within=2),
    Fault("SIGINT", _kill(signal.SIGINT), {}, exits=True, within=2),
    Fault("SIGTERM", _kill(signal.SIGTERM), {}, exits=True, within=2),
)


def every_case() -> list[tuple[Fault, str]]:
    """Each fault in each phase."""
    return [(fault, phase) for fault in FAULTS for phase in fault.phases]


def quick_cases() -> list[tuple[Fault, str]]:
    """Each fault in two phases: one that it ends and one that it does not, where there are both.

    The phases go round from fault to fault, so that all are met.
    """
    cases = []
    for number, fault in enumerate(FAULTS):
        placed = [phase for phase in fault.phases if fault.expected(phase) == PLACED]
        ended = [phase for phase in fault.phases if phase not in placed]
        if placed and ended:
            pair = [ended[number % len(ended)], placed[number % len(placed)]]
        else:
            half = len(fault.phases) // 2
            pair = [fault.phases[number % half], fault.phases[half + number % half]]
        cases += [(fault, phase) for phase in pair]
    return cases
