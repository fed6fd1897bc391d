"""The description of the system: its arguments, and that nodes, files and packages exist."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ament_index_python.packages import get_package_prefix

from ur5e_nik_bringup.scene_file import load_scene
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.starter import command
from ur5e_nik_bringup.system import (
    ARGUMENTS,
    COLOURS,
    SystemArgumentError,
    choose_simulator,
    describe,
    parse_arguments,
    places_of,
)


def test_defaults_are_values_that_the_arguments_accept():
    values = parse_arguments({})
    assert values["cubes"] == 3
    assert values["speed"] == 1.0
    assert values["gui"] is False
    assert set(values) == {argument.name for argument in ARGUMENTS}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cubes", "0"),
        ("cubes", "99"),
        ("cubes", "2.5"),
        ("seed", "x"),
        ("seed", "-1"),
        ("speed", "nan"),
        ("speed", "-1"),
        ("speed", "inf"),
        ("gui", "perhaps"),
        ("simulator", "gazebo"),
        ("solver", "magic"),
        ("colour", "red"),
        ("colours", "red,pink"),
        ("colours", ""),
    ],
)
def test_a_bad_argument_is_refused_by_name(name, text):
    with pytest.raises(SystemArgumentError, match=name) as caught:
        parse_arguments({name: text})
    assert "\n" not in str(caught.value)


def test_auto_says_which_simulator_and_why():
    simulator, why = choose_simulator("auto")
    assert simulator == "mujoco"
    assert "MuJoCo" in why


def test_every_node_and_file_exists():
    specs = describe(parse_arguments({}))
    assert [spec.name for spec in specs] == ["sim", "ik", "vision", "task"]
    for spec in specs:
        executable = Path(get_package_prefix(spec.package), "lib", spec.package, spec.executable)
        assert executable.is_file(), executable
        for path in spec.parameter_files:
            assert Path(path).is_file(), path
        for name, value in spec.parameters.items():
            assert not name.endswith("_file") or Path(value).is_file(), value


def test_arguments_reach_the_nodes():
    specs = {s.name: s for s in describe(parse_arguments({"seed": "7", "cubes": "5", "solver": "closed_form"}))}
    assert specs["sim"].parameters["seed"] == 7
    assert specs["sim"].parameters["cubes"] == 5
    assert specs["task"].parameters["solver"] == "closed_form"
    assert all(specs[name].parameters["use_sim_time"] for name in ("ik", "vision", "task"))


def test_several_colours_have_places_of_their_own():
    specs = {s.name: s.parameters for s in describe(parse_arguments({"colours": "red, blue,red"}))}
    assert specs["sim"]["colours"] == "red,blue,red"
    assert specs["vision"]["colour"] == "red,blue"
    assert specs["task"]["place_colours"] == ["red"] * 5 + ["blue"] * 4
    assert replace(Settings(), place_colours=specs["task"]["place_colours"]).problem() == ""
    assert places_of(["red"]) == ["any"]
    # As many cubes as the tray can hold find a place, whatever their colours.
    most = load_scene()["cubes"]["max_count"]
    for count in range(2, len(COLOURS) + 1):
        places = places_of(COLOURS[:count])
        assert all(places.count(colour) >= -(-most // count) - (most % count > 0) for colour in COLOURS[:count])


def test_the_colours_are_those_of_the_scene():
    assert set(COLOURS) == set(load_scene()["cubes"]["colors"])


def test_the_command_keeps_parameter_types(tmp_path):
    spec = describe(parse_arguments({"speed": "2"}))[0]
    words = command(spec, tmp_path)
    assert f"__node:={spec.name}" in words
    written = yaml.safe_load((tmp_path / "sim.yaml").read_text())["/**"]["ros__parameters"]
    assert written == spec.parameters
    assert isinstance(written["speed"], float)
