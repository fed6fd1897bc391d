"""A cube is picked, held and placed, at the level of joint trajectories."""

import numpy as np
import pytest
from manipulation import Operator, quarter_turn, yaw_of

from ur5e_nik_mujoco.simulation import Simulation


@pytest.mark.parametrize("seed", range(6))
def test_cube_is_picked_held_and_placed(scene, seed):
    simulation = Simulation(scene, seed, 1)
    operator = Operator(simulation)
    (cube,) = simulation.cubes()
    yaw = quarter_turn(yaw_of(cube.quaternion))
    grasp = np.array([*cube.position[:2], scene.cubes.edge / 2])
    place = np.array([*scene.trays.place.center, scene.cubes.edge / 2])
    above = np.array([0, 0, 0.12])

    operator.tcp_to(grasp + above, yaw, 1.5)
    operator.tcp_to(grasp, yaw, 1.0)
    outcome = operator.grip(scene.gripper.closed)
    assert outcome.code == 0
    position = simulation.joint_states()[0][-1]
    assert 0.2 < position < 0.6, "the fingers should have stopped at the cube"
    operator.tcp_to(grasp + above, yaw, 1.0)
    held = grasped_at(simulation)
    assert simulation.cubes()[0].contacts == ("gripper",)

    operator.wait(10.0)
    assert simulation.cubes()[0].contacts == ("gripper",)
    assert np.linalg.norm(grasped_at(simulation) - held) < 1e-3

    operator.tcp_to(place + above, 0.0, 2.0)
    operator.tcp_to(place, 0.0, 1.0)
    operator.grip(0.0)
    operator.tcp_to(place + above, 0.0, 1.0)
    (cube,) = simulation.cubes()
    assert cube.contacts == ("place_tray",)
    assert np.linalg.norm(np.subtract(cube.position, place)) < 2e-3
    assert abs(quarter_turn(yaw_of(cube.quaternion))) < np.radians(1.0)
    assert not operator.simulation.bumps


def grasped_at(simulation):
    """The cube's centre relative to tool0, in the world's axes."""
    return np.array(simulation.cubes()[0].position) - simulation.tool0()[0]
