"""The capsules against the simulation's own contacts, and what they say of motions."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from ur5e_nik_bringup.clearance import Box, Surroundings
from ur5e_nik_bringup.settings import Settings

SCENE = Path(__file__).parents[2] / "ur5e_nik_mujoco" / "config" / "scene.yaml"
LOOK = np.array(Settings().look_posture)
MARGIN = Settings().path_margin


def test_the_obstacles_are_the_scene_s_mast_boom_and_camera():
    scene = yaml.safe_load(SCENE.read_text())
    (x, y), width = scene["mast"]["position"], scene["mast"]["width"]
    camera = np.array(scene["overhead_camera"]["position"])
    foot, boom = scene["table"]["top"], camera[2] + 0.08
    mast, beam, body = np.reshape(Settings().obstacles, (3, 6))
    assert mast == pytest.approx([x, y, (foot + boom) / 2, width, width, boom - foot])
    assert beam == pytest.approx([(x + camera[0]) / 2, y, boom, x - camera[0] + width, width, width])
    assert np.abs(body[:3] - camera).max() < 0.05


def test_what_touches_in_the_simulation_is_too_near():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed; the contacts are its own")
    from ur5e_nik_mujoco.scene import load_scene
    from ur5e_nik_mujoco.simulation import Simulation

    simulation, surroundings = Simulation(load_scene(SCENE), 0, 0), Settings().surroundings
    random = np.random.default_rng(0)
    touching, missed = 0, []
    for _ in range(1000):
        posture = LOOK + random.uniform(-1.0, 1.0, 6) * [3.0, 1.2, 1.2, 2.0, 2.0, 3.0]
        simulation.data.qpos[:6] = posture
        mujoco.mj_forward(simulation.model, simulation.data)
        if any(pair != ("gripper", "gripper") and {"arm", "gripper"} & set(pair) for pair in simulation.contacts()):
            touching += 1
            gap = surroundings.narrowest(posture)
            if gap.distance > MARGIN:
                missed.append((gap, simulation.contacts()))
    assert touching > 150
    # The wide gripper's corners stick out of its capsules.
    assert len(missed) <= 0.01 * touching, missed


@pytest.mark.parametrize(
    ("joint", "angle", "between"),
    [(1, 1.5, "gripper and table"), (2, 0.4, "upper arm and gripper"), (4, -2.0, "forearm and gripper")],
)
def test_the_narrowest_place_is_named(joint, angle, between):
    posture = LOOK.copy()
    posture[joint] += angle
    gap = Settings().surroundings.narrowest(np.linspace(LOOK, posture, 40))
    assert gap.distance < MARGIN
    assert gap.between == between


def test_a_box_in_the_way_is_met_on_the_way_and_not_at_the_ends():
    one, other = LOOK.copy(), LOOK.copy()
    one[0] += 1.0
    other[0] -= 1.0
    middle = Surroundings(0.0, [], 0.1558)
    free = middle.narrowest(np.linspace(one, other, 100))
    assert free.distance > MARGIN
    blocked = Surroundings(0.0, [Box((0.22, 0.0, 0.5), (0.05, 0.05, 0.05))], 0.1558)
    assert blocked.narrowest([one, other]).distance > MARGIN
    gap = blocked.narrowest(np.linspace(one, other, 100))
    assert gap.distance < 0.0
    assert gap.between.endswith("obstacle 0")
