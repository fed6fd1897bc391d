import math
from itertools import combinations

import pytest
import yaml
from conftest import SCENE_FILE

from ur5e_nik_mujoco.scene import SceneError, load_scene, random_cubes


def changed(tmp_path, change):
    content = yaml.safe_load(SCENE_FILE.read_text())
    change(content)
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_shipped_scene_holds_the_agreed_cell(scene):
    assert scene.trays.pick.center == (0.50, -0.23)
    assert scene.trays.pick.size == (0.32, 0.40)
    assert scene.trays.place.center == (0.48, 0.22)
    assert scene.overhead_camera.position == (0.50, 0.0, 1.20)
    assert scene.cubes.edge == 0.045


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.pop("mast"), "lacks the key 'mast'"),
        (lambda c: c["cubes"].update(edgee=1), "cubes has no key 'edgee'"),
        (lambda c: c["cubes"].update(edge=-0.1), "cubes.edge must be above 0"),
        (lambda c: c["cubes"].update(edge="big"), "cubes.edge must be a number"),
        (lambda c: c["cubes"].update(edge=float("nan")), "cubes.edge must be finite"),
        (lambda c: c["cubes"].update(edge=0.09), "does not fit the gripper"),
        (lambda c: c["cubes"].update(max_count=2.5), "cubes.max_count must be a whole number"),
        (lambda c: c["cubes"].update(color="pink"), "none of cubes.colors"),
        (lambda c: c["cubes"]["colors"].update(red=[2, 0, 0]), "cubes.colors.red[0] must be at"),
        (lambda c: c["table"].update(size=[1]), "table.size must be a list of 2"),
        (lambda c: c["table"].update(top=0.1), "table.top must be in"),
        (lambda c: c.update(trays=3), "trays must be a mapping"),
        (lambda c: c["overhead_camera"].update(width=True), "overhead_camera.width must be a"),
        (lambda c: c["random_cubes"].update(edge_margin=0.2), "leaves nothing"),
        (lambda c: c["random_cubes"].update(min_distance=0.05), "would overlap"),
    ],
)
def test_bad_scene_is_refused_in_one_line(tmp_path, change, expected):
    path = changed(tmp_path, change)
    with pytest.raises(SceneError) as refused:
        load_scene(path)
    message = str(refused.value)
    assert expected in message
    assert str(path) in message
    assert "\n" not in message


@pytest.mark.parametrize("content", ["", "[]", "a: [", "\x00"])
def test_file_that_is_no_scene_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "scene.yaml"
    path.write_text(content)
    with pytest.raises(SceneError) as refused:
        load_scene(path)
    assert "\n" not in str(refused.value)


def test_missing_file_is_refused():
    with pytest.raises(SceneError, match="No such file"):
        load_scene("/nowhere/scene.yaml")


@pytest.mark.parametrize("count", [1, 4, 8])
def test_random_cubes_keep_the_rules(scene, count):
    tray, rules = scene.trays.pick, scene.random_cubes
    for seed in range(100):
        cubes = random_cubes(scene, seed, count)
        assert len(cubes) == count
        for cube in cubes:
            assert abs(cube.x - tray.center[0]) <= tray.size[0] / 2 - rules.edge_margin
            assert abs(cube.y - tray.center[1]) <= tray.size[1] / 2 - rules.edge_margin
        for a, b in combinations(cubes, 2):
            assert math.hypot(a.x - b.x, a.y - b.y) >= rules.min_distance


def test_random_cubes_are_the_same_for_a_seed_only(scene):
    assert random_cubes(scene, 7, 5) == random_cubes(scene, 7, 5)
    assert random_cubes(scene, 7, 5) != random_cubes(scene, 8, 5)


@pytest.mark.parametrize("count", [-1, 9])
def test_too_many_cubes_are_refused(scene, count):
    with pytest.raises(SceneError, match="0 to 8 are possible"):
        random_cubes(scene, 0, count)


def test_cubes_that_do_not_fit_are_refused(tmp_path):
    path = changed(tmp_path, lambda c: c["random_cubes"].update(min_distance=0.3))
    with pytest.raises(SceneError, match="do not fit"):
        random_cubes(load_scene(path), 0, 8)
