"""The states of a pick_place goal, and what leads from one to the next. No ROS here."""

from __future__ import annotations

from enum import Enum, IntEnum


class Code(IntEnum):
    """How a goal or a cube ended: the constants of ur5e_nik_msgs/action/PickPlace."""

    SUCCESS = 1
    FAILURE = 99999
    INVALID_MOTION_PLAN = -2
    CONTROL_FAILED = -4
    TIMED_OUT = -6
    PREEMPTED = -7
    INVALID_GOAL_CONSTRAINTS = -16
    FRAME_TRANSFORM_FAILURE = -21
    ROBOT_STATE_STALE = -23
    SENSOR_INFO_STALE = -24
    NO_IK_SOLUTION = -31
    NO_OBJECT = -200
    NO_PLACE = -201
    GRASP_FAILED = -202
    IK_UNAVAILABLE = -203
    CONTROLLER_UNAVAILABLE = -204
    PLACE_FAILED = -205


class Fault(Exception):
    """What stops the arm and ends a goal: a code and one line for a person."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class State(Enum):
    """What the arm is doing; the values are the feedback's phases, but for the last."""

    HOME = "home"
    LOOK = "look"
    PLAN = "plan"
    APPROACH = "approach"
    DESCEND = "descend"
    GRASP = "grasp"
    LIFT = "lift"
    CARRY = "carry"
    LOWER = "lower"
    RELEASE = "release"
    RETREAT = "retreat"
    FINISHED = "finished"


class Event(Enum):
    """How a state ended. A fault or a cancel ends the goal from every state and stands in no row."""

    READY = "at the look posture, hand open"
    HOLDING = "a cube is held"
    SEEN = "a cube is seen"
    NONE_LEFT = "no cube is left"
    PLANNED = "every waypoint has joints"
    NO_WAY = "a waypoint has none"
    NO_PLACE = "no place is free"
    ARRIVED = "arrived"
    HELD = "the fingers hold a cube"
    MISSED = "the fingers hold nothing"
    DROPPED = "the cube was lost"
    RELEASED = "the cube is let go"
    STILL_THERE = "it is still where it was"
    NEXT_SEEN = "it is let go, and another is in view"
    MORE = "more cubes are asked for"
    ENOUGH = "as many as asked for"


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.HOME, Event.READY): State.LOOK,
    (State.HOME, Event.HOLDING): State.PLAN,
    (State.LOOK, Event.SEEN): State.PLAN,
    (State.LOOK, Event.NONE_LEFT): State.FINISHED,
    (State.PLAN, Event.PLANNED): State.APPROACH,
    (State.PLAN, Event.HOLDING): State.CARRY,
    (State.PLAN, Event.NO_WAY): State.RETREAT,
    (State.PLAN, Event.NO_PLACE): State.FINISHED,
    (State.APPROACH, Event.ARRIVED): State.DESCEND,
    (State.DESCEND, Event.ARRIVED): State.GRASP,
    (State.GRASP, Event.HELD): State.LIFT,
    (State.GRASP, Event.MISSED): State.RETREAT,
    (State.LIFT, Event.ARRIVED): State.CARRY,
    (State.LIFT, Event.DROPPED): State.RETREAT,
    (State.CARRY, Event.ARRIVED): State.LOWER,
    (State.CARRY, Event.DROPPED): State.RETREAT,
    (State.LOWER, Event.ARRIVED): State.RELEASE,
    (State.LOWER, Event.DROPPED): State.RETREAT,
    (State.RELEASE, Event.RELEASED): State.RETREAT,
    (State.RELEASE, Event.STILL_THERE): State.RETREAT,
    (State.RELEASE, Event.NEXT_SEEN): State.PLAN,
    (State.RETREAT, Event.MORE): State.LOOK,
    (State.RETREAT, Event.ENOUGH): State.FINISHED,
}


def next_state(state: State, event: Event) -> State:
    """Where ``event`` leads from ``state``. Raises ValueError for a pair that the table does not hold."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        known = ", ".join(e.name for s, e in TRANSITIONS if s is state) or "nothing"
        raise ValueError(f"{event.name} cannot happen in {state.name}, only {known}") from None


def diagram() -> str:
    """The table as a Mermaid state diagram, for the README."""
    rows = [f"    [*] --> {State.HOME.value}"]
    for (state, event), following in TRANSITIONS.items():
        target = "[*]" if following is State.FINISHED else following.value
        rows.append(f"    {state.value} --> {target}: {event.value}")
    return "\n".join(["stateDiagram-v2", *rows])
