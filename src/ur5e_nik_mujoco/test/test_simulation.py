import numpy as np
import pytest
from manipulation import Operator

from ur5e_nik_mujoco.scene import SceneError
from ur5e_nik_mujoco.simulation import JOINTS, Simulation


def run(simulation, seconds):
    Operator(simulation).wait(seconds)


@pytest.mark.parametrize("cubes", [0, 1, 8])
def test_rests_where_it_was_put(scene, cubes):
    simulation = Simulation(scene, 1, cubes)
    before = simulation.joint_states()[0], [cube.position for cube in simulation.cubes()]
    run(simulation, 2.0)
    positions, velocities = simulation.joint_states()
    assert np.abs(positions - before[0])[:6].max() < 1e-4
    assert positions[-1] < 0.01, "the gripper is open"
    assert np.abs(velocities).max() < 1e-3
    for cube, start in zip(simulation.cubes(), before[1], strict=True):
        assert np.linalg.norm(np.subtract(cube.position, start)) < 5e-4
        assert cube.contacts == ("pick_tray",)


def test_same_seed_gives_the_same_run(scene):
    simulation = Simulation(scene, 5, 4)
    operator = Operator(simulation)
    first = [cube.position for cube in simulation.cubes()]
    operator.move(np.radians([20, -90, 90, -90, -90, 0]), 1.0)
    end = simulation.data.qpos.copy()

    simulation.reset(6, 4)
    assert [cube.position for cube in simulation.cubes()] != first
    simulation.reset(5, 4)
    assert [cube.position for cube in simulation.cubes()] == first
    Operator(simulation).move(np.radians([20, -90, 90, -90, -90, 0]), 1.0)
    assert np.abs(simulation.data.qpos - end).max() < 1e-9


def test_clock_never_goes_back(scene):
    simulation = Simulation(scene, 0, 1)
    simulation.step(500)
    assert simulation.time == pytest.approx(1.0)
    simulation.reset(0, 1)
    assert simulation.time == pytest.approx(1.0)
    simulation.reset(0, 3)
    simulation.step(500)
    assert simulation.time == pytest.approx(2.0)


def test_cubes_have_the_colours_asked_for(scene):
    simulation = Simulation(scene, 0, ["red", "blue"])
    assert [cube.color for cube in simulation.cubes()] == ["red", "blue"]
    assert [cube.name for cube in simulation.cubes()] == ["cube_0", "cube_1"]


@pytest.mark.parametrize("cubes", [9, ["pink"]])
def test_refused_reset_changes_nothing(scene, cubes):
    simulation = Simulation(scene, 0, 2)
    simulation.step(100)
    before = simulation.data.qpos.copy()
    with pytest.raises(SceneError):
        simulation.reset(1, cubes)
    assert np.array_equal(simulation.data.qpos, before)


def test_gripper_command_spans_the_actuator(scene):
    simulation = Simulation(scene, 0, 0)
    target = np.append(simulation.joint_states()[0][:6], scene.gripper.closed)
    simulation.command(target, np.zeros(len(JOINTS)), np.zeros(len(JOINTS)))
    assert simulation.data.ctrl[-1] == pytest.approx(255.0)
    simulation.step(1000)
    assert simulation.joint_states()[0][-1] == pytest.approx(scene.gripper.closed, abs=0.06)


def test_fast_moves_do_not_lag(scene):
    """The velocity term: without it the servo's damping holds the arm back by tens of degrees."""
    simulation = Simulation(scene, 0, 0)
    operator = Operator(simulation)
    start = simulation.joint_states()[0][:6]
    worst = 0.0
    operator.controller.start(_move(start + np.radians([90, 10, -10, 0, 0, 90])), simulation.time)
    while not operator.controller.outcomes:
        operator.wait(0.002)
        error = operator.controller.desired[0] - simulation.joint_states()[0]
        worst = max(worst, np.abs(error[:6]).max())
    assert np.degrees(worst) < 2.0


def _move(joints):
    from ur5e_nik_mujoco.controller import TrajectoryGoal, TrajectoryPoint

    return TrajectoryGoal(JOINTS[:6], [TrajectoryPoint(1.0, joints, np.zeros(6))])


def test_contact_with_the_table_is_named(scene):
    simulation = Simulation(scene, 0, 0)
    operator = Operator(simulation)
    operator.tcp_to([0.25, 0.0, 0.05], 0.0, 1.0)
    operator.move(operator.solve([0.25, 0.0, -0.005], 0.0), 1.0)
    assert ("gripper", "table") in simulation.contacts()
    assert simulation.bumps == {("gripper", "table")}
    simulation.reset(0, 0)
    assert not simulation.bumps
