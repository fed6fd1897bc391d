"""The committed world: made from the scene description, and held against what Webots R2025a knows."""

import math
from pathlib import Path

import numpy as np
import pytest
import vrml
import yaml

from ur5e_nik_bringup.scene_file import load_scene
from ur5e_nik_bringup.webots_world import PROTOS, RELEASE, WorldError, cube_poses, main, world
from ur5e_nik_mujoco import scene as simulation

SHARE = Path(__file__).resolve().parents[1]
FILE = SHARE / "worlds" / "pick_place.wbt"
SEED, CUBES = 0, 3  # of the committed world

# Nodes and those of their fields that the world uses, as the reference of R2025a lists them.
FIELDS = {
    "WorldInfo": {"title", "info", "basicTimeStep", "contactProperties"},
    "ContactProperties": {"material1", "coulombFriction", "bounce", "softCFM"},
    "Viewpoint": {"fieldOfView", "orientation", "position"},
    "Background": {"skyColor"},
    "DirectionalLight": {"direction", "intensity"},
    "Solid": {
        "translation",
        "rotation",
        "children",
        "name",
        "contactMaterial",
        "boundingObject",
        "physics",
    },
    "Pose": {"translation", "rotation", "children"},
    "Group": {"children"},
    "Shape": {"appearance", "geometry"},
    "PBRAppearance": {"baseColor", "roughness", "metalness"},
    "Box": {"size"},
    "Plane": {"size"},
    "Physics": {"density", "mass"},
    "Robot": {"translation", "rotation", "children", "name", "controller"},
    "Camera": {"name", "fieldOfView", "width", "height", "antiAliasing"},
    # of their PROTOs
    "UR5e": {"name", "controller", "toolSlot"},
    "Robotiq3fGripper": {"translation"},
}


@pytest.fixture(scope="module")
def scene():
    return load_scene()


@pytest.fixture(scope="module")
def nodes():
    return vrml.parse(FILE.read_text())[1]


def named(nodes, name):
    (found,) = [node for node in nodes if node.fields.get("name") == name]
    return found


def of_kind(nodes, kind):
    return [node for top in nodes for node in top.walk() if node.kind == kind]


def test_the_committed_world_is_the_one_that_the_scene_makes(scene):
    assert FILE.read_text() == world(scene, SEED, CUBES), (
        f"make it again: ros2 run ur5e_nik_bringup webots_world --output {FILE}"
    )


def test_header_and_addresses_name_one_release():
    text = FILE.read_text()
    protos, _ = vrml.parse(text)
    assert text.splitlines()[0] == f"#VRML_SIM {RELEASE} utf8"
    assert tuple(protos) == PROTOS
    assert all(f"/webots/{RELEASE}/projects/" in proto for proto in protos)


def test_every_node_and_field_is_known(nodes):
    for top in nodes:
        for node in top.walk():
            assert node.kind in FIELDS, node.kind
            assert set(node.fields) <= FIELDS[node.kind], f"{node.kind}: {set(node.fields) - FIELDS[node.kind]}"


def test_every_proto_is_declared(nodes):
    declared = {Path(proto).stem for proto in vrml.parse(FILE.read_text())[0]}
    assert declared == {node.kind for top in nodes for node in top.walk()} & {"UR5e", "Robotiq3fGripper"}


def test_no_hidden_fields():
    # As a saved world has them, they would move the arm's joint zeros.
    assert "hidden" not in FILE.read_text()


def test_names_are_unique(nodes):
    names = [node["name"] for node in nodes if "name" in node.fields]
    assert len(names) == len(set(names))


def test_the_controllers_period_is_a_multiple_of_the_time_step(nodes):
    controllers = yaml.safe_load((SHARE / "config" / "webots_controllers.yaml").read_text())
    period = 1000 / controllers["ur5e/controller_manager"]["ros__parameters"]["update_rate"]
    (info,) = of_kind(nodes, "WorldInfo")
    assert info["basicTimeStep"] == 8
    assert period / info["basicTimeStep"] == pytest.approx(round(period / info["basicTimeStep"]))


def test_every_cube_can_be_gripped(nodes, scene):
    cubes = [node for node in nodes if node.fields.get("name", "").startswith("cube_")]
    assert len(cubes) == CUBES
    (contact,) = of_kind(nodes, "ContactProperties")
    edge = scene["cubes"]["edge"]
    for cube in cubes:
        assert cube["physics"]["mass"] == scene["cubes"]["mass"]
        assert cube["physics"]["density"] == -1  # else the mass does not count
        assert cube["boundingObject"]["size"] == [edge] * 3
        assert cube["children"][0]["geometry"]["size"] == [edge] * 3
        assert cube["translation"][2] == edge / 2
        assert cube["contactMaterial"] == contact["material1"]
        assert cube["children"][0]["appearance"]["baseColor"] == scene["cubes"]["colors"]["red"]
    assert contact["coulombFriction"] == [scene["cubes"]["friction"]]


def test_cubes_have_the_colours_in_turn(scene):
    text = world(scene, 0, 3, ["blue", "green"])
    colours = scene["cubes"]["colors"]
    cubes = [node for node in vrml.parse(text)[1] if node.fields.get("name", "").startswith("cube_")]
    painted = [cube["children"][0]["appearance"]["baseColor"] for cube in cubes]
    assert painted == [colours["blue"], colours["green"], colours["blue"]]


@pytest.mark.parametrize(("seed", "count"), [(0, 3), (1, 8), (2, 1), (12345, 5), (0, 0)])
def test_the_cubes_lie_as_in_the_embedded_simulation(scene, seed, count):
    from ur5e_nik_bringup.scene_file import scene_path

    expected = simulation.random_cubes(simulation.load_scene(scene_path()), seed, count)
    assert cube_poses(scene, seed, count) == [(cube.x, cube.y, cube.yaw) for cube in expected]


def test_the_committed_cubes_are_those_of_the_seed(nodes, scene):
    for index, (x, y, yaw) in enumerate(cube_poses(scene, SEED, CUBES)):
        cube = named(nodes, f"cube_{index}")
        assert cube["translation"][:2] == pytest.approx([x, y], abs=1e-9)
        assert cube["rotation"] == pytest.approx([0, 0, 1, yaw], abs=1e-9)


@pytest.mark.parametrize("name", ["pick", "place"])
def test_trays_stand_where_the_scene_has_them(nodes, scene, name):
    tray, solid = scene["trays"][name], named(nodes, f"{name}_tray")
    assert solid["translation"] == [*tray["center"], 0]
    sheet, *rims = [(pose["translation"], pose["children"][0]["size"]) for pose in solid["boundingObject"]["children"]]
    assert sheet[0][2] + sheet[1][2] / 2 == pytest.approx(0)  # its surface
    assert sheet[1][:2] == pytest.approx([size + 2 * tray["rim_width"] for size in tray["size"]])
    assert len(rims) == 4
    for at, size in rims:
        assert at[2] + size[2] / 2 == pytest.approx(tray["rim_height"])
        # The rim begins where the surface ends.
        side = int(abs(at[1]) > abs(at[0]))
        assert abs(at[side]) - size[side] / 2 == pytest.approx(tray["size"][side] / 2)
    shown = [(pose["translation"], pose["children"][0]["geometry"]["size"]) for pose in solid["children"]]
    assert shown == [sheet, *rims]


def test_the_table_is_what_the_arm_stands_on(nodes, scene):
    table = named(nodes, "table")
    assert table["translation"][2] + table["boundingObject"]["size"][2] / 2 == pytest.approx(scene["table"]["top"])
    arm = named(nodes, "UR5e")
    assert "translation" not in arm.fields
    assert "rotation" not in arm.fields  # base_link is the world's frame


def test_the_camera_is_the_scenes(nodes, scene):
    camera, robot = scene["overhead_camera"], named(nodes, "overhead_camera")
    (device,) = robot["children"]
    assert robot["translation"] == camera["position"]
    assert (device["width"], device["height"]) == (camera["width"], camera["height"])
    assert device["fieldOfView"] == pytest.approx(math.radians(camera["horizontal_fov"]), abs=1e-9)


def test_the_view_shows_the_cell(nodes, scene):
    (view,) = of_kind(nodes, "Viewpoint")
    *axis, angle = view["orientation"]
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    way = np.subtract(scene["overview_camera"]["target"], view["position"])
    assert rotation[:, 0] == pytest.approx(way / np.linalg.norm(way), abs=1e-9)  # a viewpoint looks along its x
    assert rotation[2, 1] == pytest.approx(0, abs=1e-9)  # level


def test_light_is_white_so_that_red_stays_red(nodes):
    (background,) = of_kind(nodes, "Background")
    assert len(set(np.ravel(background["skyColor"]))) == 1
    for light in of_kind(nodes, "DirectionalLight"):
        assert "color" not in light.fields  # white is the default
    red = [node for node in of_kind(nodes, "PBRAppearance") if node["baseColor"][0] > 1.5 * max(node["baseColor"][1:])]
    assert len(red) == CUBES  # nothing else is red
    assert all(node["metalness"] == 0 for node in of_kind(nodes, "PBRAppearance"))


def test_too_many_cubes_are_refused_in_one_line(tmp_path, monkeypatch, capsys, scene):
    with pytest.raises(WorldError, match="0 to 8"):
        world(scene, 0, 9)
    monkeypatch.setattr("sys.argv", ["webots_world", "--cubes", "9", "--output", str(tmp_path / "out.wbt")])
    assert main() == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "out.wbt").exists()


def test_a_world_can_be_written(tmp_path, monkeypatch, scene):
    out = tmp_path / "out.wbt"
    monkeypatch.setattr("sys.argv", ["webots_world", "--cubes", "8", "--seed", "4", "--output", str(out)])
    assert main() == 0
    assert out.read_text() == world(scene, 4, 8)
