"""Bad values are named with what would be right; the file that is shipped holds the defaults."""

from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.waypoints import Spot

CONFIG = Path(__file__).parents[1] / "config" / "task.yaml"
SCENE = Path(__file__).parents[2] / "ur5e_nik_mujoco" / "config" / "scene.yaml"
NAN = float("nan")


def test_defaults_are_sound():
    assert Settings().problem() == ""


def test_every_parameter_says_what_it_is_and_every_number_has_a_range():
    for item in fields(Settings):
        assert len(item.metadata["description"]) > 15
        value = getattr(Settings(), item.name)
        number = value[0] if isinstance(value, list) else value
        if not isinstance(number, str):
            assert item.metadata["low"] < item.metadata["high"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joint_velocity": NAN}, "joint_velocity is nan; it must be finite"),
        ({"joint_velocity": 0.0}, "joint_velocity is 0.0; it must lie between 0.01 and 3.14"),
        ({"joint_jerk": -1.0}, "joint_jerk is -1.0"),
        ({"attempts": 0}, "attempts is 0; it must lie between 1 and 10"),
        ({"look_timeout": 0.0}, "look_timeout is 0.0"),
        ({"trajectory_action": ""}, "trajectory_action is an empty string"),
        ({"joint_states_topic": ""}, "joint_states_topic is an empty string"),
        ({"arm_joints": ["a", "b"]}, "arm_joints names 2 joints; it must name six"),
        ({"arm_joints": ["a", "b", "c", "d", "e", ""]}, "arm_joints is an empty string"),
        ({"gripper_joints": []}, "gripper_joints is empty"),
        ({"gripper_joints": ["elbow_joint"]}, "name a joint twice"),
        ({"solver": "magic"}, "solver is 'magic'; it must be one of auto, network, closed_form"),
        ({"look_posture": [0.0] * 5}, "look_posture has 5 values"),
        ({"look_posture": [0.0, 0.0, 3.5, 0.0, 0.0, 0.0]}, "outside the joint limits"),
        ({"look_posture": [NAN] * 6}, "look_posture is nan"),
        ({"gripper_closed": 0.0}, "gripper_open and gripper_closed are equal"),
        ({"held_from": 0.8}, "held_from must be smaller than held_to"),
        ({"places": [0.5, 0.2, 0.02]}, "places has 3 values; it must have four a place"),
        ({"obstacles": [0.1] * 5}, "obstacles has 5 values; it must have six a box"),
        ({"obstacles": [0.5, 0.0, 0.5, 0.1, -0.1, 0.1]}, "obstacles has a box with an edge of 0 or less"),
        ({"places": []}, "places has 0 values"),
        ({"place_colours": ["red", "blue"]}, "place_colours has 2 names; it must have one for each of the 9 places"),
        ({"place_colours": [""]}, "place_colours is an empty string"),
        ({"places": [0.5, 0.2, NAN, 0.0]}, "places is nan"),
    ],
)
def test_what_is_wrong_is_named(change, words):
    assert words in replace(Settings(), **change).problem()


def test_the_shipped_file_holds_the_defaults():
    values = yaml.safe_load(CONFIG.read_text())["/**/task"]["ros__parameters"]
    assert values == asdict(Settings())


def test_the_shipped_file_explains_every_parameter():
    text = CONFIG.read_text()
    for item in fields(Settings):
        assert item.metadata["description"] in text


def test_postures_and_places_are_those_of_the_simulated_cell():
    scene = yaml.safe_load(SCENE.read_text())
    settings = Settings()
    assert np.allclose(settings.look_posture, np.radians(scene["arm"]["start_posture"]), atol=1e-6)
    assert settings.tcp_offset == scene["gripper"]["tcp_offset"]
    assert settings.gripper_closed == scene["gripper"]["closed"]
    assert settings.cube_size == scene["cubes"]["edge"]
    grid, (x, y) = scene["places"], scene["trays"]["place"]["center"]
    expected = {
        (round(x + (i - 1) * grid["spacing"], 6), round(y + (j - 1) * grid["spacing"], 6))
        for i in range(grid["rows"])
        for j in range(grid["columns"])
    }
    assert {(spot.x, spot.y) for spot in settings.place_spots} == expected
    assert {spot.z for spot in settings.place_spots} == {settings.cube_size / 2}


def test_a_place_takes_its_colour_and_a_cube_that_nobody_named():
    colours = ["red"] * 3 + ["any"] * 6
    places = replace(Settings(), place_colours=colours).place_spots
    assert [place.takes("blue") for place in places] == [False] * 3 + [True] * 6
    assert all(place.takes("red") and place.takes("") for place in places)
    assert all(place.takes("blue") for place in Settings().place_spots)


def test_closed_share():
    assert Settings().closed_share(0.4) == pytest.approx(0.5)
    assert replace(Settings(), gripper_open=0.8, gripper_closed=0.0).closed_share(0.6) == pytest.approx(0.25)


def test_inside_the_table():
    assert not Settings().below_table(Spot(0.5, 0.0, 0.0225))
    assert Settings().below_table(Spot(0.5, 0.0, 0.0))
