"""The table of states: complete, without dead ends, and in step with the messages."""

import pytest

from ur5e_nik_bringup.pick_place import PickPlace
from ur5e_nik_bringup.states import TRANSITIONS, Code, Event, State, diagram, next_state
from ur5e_nik_msgs.action import PickPlace as PickPlaceAction


def reachable(start: State) -> set[State]:
    found, todo = {start}, [start]
    while todo:
        state = todo.pop()
        for (source, _), target in TRANSITIONS.items():
            if source is state and target not in found:
                found.add(target)
                todo.append(target)
    return found


def test_every_state_is_reached_and_leads_to_the_end():
    assert reachable(State.HOME) == set(State)
    for state in State:
        assert State.FINISHED in reachable(state)


def test_every_event_is_used():
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_the_story_of_one_cube():
    story = [
        (Event.READY, State.LOOK),
        (Event.SEEN, State.PLAN),
        (Event.PLANNED, State.APPROACH),
        (Event.ARRIVED, State.DESCEND),
        (Event.ARRIVED, State.GRASP),
        (Event.HELD, State.LIFT),
        (Event.ARRIVED, State.CARRY),
        (Event.ARRIVED, State.LOWER),
        (Event.ARRIVED, State.RELEASE),
        (Event.RELEASED, State.RETREAT),
        (Event.MORE, State.LOOK),
        (Event.NONE_LEFT, State.FINISHED),
    ]
    state = State.HOME
    for event, expected in story:
        state = next_state(state, event)
        assert state is expected


@pytest.mark.parametrize("state", [State.LIFT, State.CARRY, State.LOWER])
def test_a_lost_cube_is_followed_by_a_new_look(state):
    assert next_state(state, Event.DROPPED) is State.RETREAT
    assert next_state(State.RETREAT, Event.MORE) is State.LOOK


def test_the_fingers_are_never_closed_but_after_a_descent():
    assert {source for (source, _), target in TRANSITIONS.items() if target is State.GRASP} == {State.DESCEND}


def test_what_cannot_happen_is_refused():
    with pytest.raises(ValueError, match="HELD cannot happen in HOME, only READY, HOLDING"):
        next_state(State.HOME, Event.HELD)
    with pytest.raises(ValueError, match="only nothing"):
        next_state(State.FINISHED, Event.MORE)


def test_every_state_has_its_chapter():
    for state in State:
        assert hasattr(PickPlace, f"_{state.value}") == (state is not State.FINISHED)


def test_codes_are_those_of_the_action():
    for code in Code:
        assert getattr(PickPlaceAction.Result, code.name) == code.value


def test_diagram_shows_every_transition():
    text = diagram()
    assert text.startswith("stateDiagram-v2\n    [*] --> home\n")
    assert text.count("-->") == len(TRANSITIONS) + 1
    assert "    grasp --> lift: the fingers hold a cube\n" in text
