"""The task over DDS: what it does when all is well, and what it does about a cube, a place or an IK node that is lost.

The faults of its neighbours in each phase are those of the fault matrix: test_eval_faults.py.
"""

import threading
import time

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Pose

from ur5e_nik_bringup.evaluation.fake_cell import ARM, GRIPPER, SETTINGS, pose
from ur5e_nik_bringup.evaluation.fault_table import CUBE
from ur5e_nik_bringup.evaluation.task_process import wait_for
from ur5e_nik_bringup.states import Code
from ur5e_nik_bringup.waypoints import Spot

OTHER = Spot(0.6, -0.1, 0.0225, -0.6)


def assert_next_goal_works(cell):
    """The node is as good as new once its neighbours are."""
    cell.reset()
    cell.see(CUBE)
    cell.call("clear_places")
    run = cell.start(1)
    assert run.accepted
    result = run.result()
    assert (result.error_code, result.message) == (Code.SUCCESS, "1 placed")
    assert len(cell.placed) == 1


def test_cubes_are_placed_one_after_the_other(cell):
    cell.see(CUBE, OTHER)
    run = cell.start(0)
    result = run.result()
    assert (result.error_code, result.message) == (Code.SUCCESS, "2 placed")
    assert run.status == GoalStatus.STATUS_SUCCEEDED
    one = ["plan", "approach", "descend", "grasp", "lift", "carry", "lower", "release"]
    # The second cube is seen while the first is let go.
    assert run.phases == ["home", "look", *one * 2, "retreat", "look"]
    for placed, spot in zip(cell.placed, SETTINGS.place_spots, strict=False):
        assert placed.distance(spot) < 2e-3
        assert placed.turn(spot) < 1e-3
    for answer, cube in zip(result.cubes, (CUBE, OTHER), strict=True):
        assert answer.error_code == Code.SUCCESS
        assert answer.attempts == 1
        assert answer.detected.position.x == pytest.approx(cube.x)
        assert 1.5 < answer.cycle_time < 20.0
        assert len(answer.solvers) > 8
    assert [(f.cube, f.placed) for f in run.feedback if f.phase == "plan"] == [(0, 0), (1, 1)]
    assert all(f.message for f in run.feedback)


def test_what_is_sent_is_sound(cell):
    """One goal a motion, from the newest joint state by name, inside the limits, with a last velocity of 0."""
    cell.start(1).result()
    assert [sent.joints for sent in cell.sent] == [ARM, [GRIPPER], ARM, [GRIPPER], ARM]
    for sent in cell.sent:
        trajectory = sent.trajectory
        assert np.all(np.diff(trajectory.times) > 0.0)
        assert np.all(trajectory.velocities[-1] == 0.0)
        assert np.allclose(trajectory.positions[0], [sent.start[name] for name in sent.joints], atol=1e-6)
        limits = SETTINGS.arm_limits if sent.joints == ARM else SETTINGS.gripper_limits
        peaks = trajectory.peaks(samples=41)
        assert np.all(peaks.velocity <= limits.velocity)
        assert np.all(peaks.acceleration <= limits.acceleration)
        assert np.all(peaks.jerk <= limits.jerk)


def test_the_lift_begins_where_the_arm_is_though_it_was_pushed_during_the_grasp(cell):
    def push():
        cell.positions[ARM[0]] += 0.01

    # The lift is prepared by then, and the fingers still close.
    later = threading.Timer(0.2, push)
    cell.spoil(control=lambda _, joints: "slow" if joints == [GRIPPER] else "")
    assert cell.start(1, phase="grasp", act=lambda _: later.start()).result().error_code == Code.SUCCESS
    lift = cell.arm_goals()[1]
    assert lift.trajectory.positions[0] == pytest.approx([lift.start[name] for name in ARM], abs=1e-6)
    descent = cell.arm_goals()[0].trajectory
    assert lift.start[ARM[0]] - descent.positions[-1, 0] == pytest.approx(0.01, abs=1e-6)


def test_every_waypoint_is_solved_before_the_arm_moves(cell):
    run = cell.start(1)
    run.reach("approach")
    asked = len(cell.ik_calls)
    assert asked > 15
    run.result()
    assert len(cell.ik_calls) == asked


def test_no_motion_for_what_is_reached_already(cell):
    assert cell.call("home").success
    assert cell.call("open_gripper").success
    assert cell.sent == []


def test_cube_and_place_at_the_same_spot(cell):
    cell.see(Spot(0.48, 0.22, 0.0225, 0.0))
    result = cell.start(1, [pose(Spot(0.48, 0.22, 0.0225, 0.0))]).result()
    assert result.error_code == Code.SUCCESS
    for sent in cell.sent:
        assert np.all(np.diff(sent.trajectory.times) > 0.0)


def test_places_of_the_goal_are_taken_in_their_order(cell):
    places = [Spot(0.40, 0.30, 0.0225, 0.5), Spot(0.55, 0.15, 0.0225, -0.2)]
    cell.see(CUBE, OTHER)
    assert cell.start(2, [pose(place) for place in places]).result().error_code == Code.SUCCESS
    for placed, place in zip(cell.placed, places, strict=True):
        assert placed.distance(place) < 2e-3
        assert placed.turn(place) < 1e-3


def test_the_second_goal_is_refused_and_the_first_goes_on(cell):
    run = cell.start(1)
    run.reach("approach")
    assert not cell.start(1).accepted
    assert not cell.call("home").success
    assert run.result().error_code == Code.SUCCESS


def test_status_is_answered_while_the_arm_works(cell):
    run = cell.start(1)
    run.reach("carry")
    # A quick arm may have gone on before the question arrives.
    message = cell.call("status").message
    assert any(phase in message for phase in ("carry", "lower", "release", "retreat"))
    run.result()
    assert cell.call("status").message == "idle"


def test_the_target_is_frozen_when_it_is_picked(cell):
    run = cell.start(1)
    run.reach("approach")
    cell.spoil(cubes="jumping")
    assert run.result().error_code == Code.SUCCESS


def test_fewer_cubes_than_asked_for(cell):
    run = cell.start(3)
    result = run.result()
    assert result.error_code == Code.NO_OBJECT
    assert run.status == GoalStatus.STATUS_ABORTED
    assert result.message == "1 placed, no other cube is in view"
    assert [cube.error_code for cube in result.cubes] == [Code.SUCCESS]


def test_a_full_tray(cell):
    cell.see(CUBE, OTHER)
    result = cell.start(2, [pose(Spot(0.48, 0.22, 0.0225))]).result()
    assert result.error_code == Code.NO_PLACE
    assert [cube.error_code for cube in result.cubes] == [Code.SUCCESS, Code.NO_PLACE]
    assert "every place is taken" in result.message


def test_places_stay_taken_until_they_are_cleared(cell):
    for spot in SETTINGS.place_spots[:2]:
        cell.see(CUBE)
        assert cell.start(1).result().error_code == Code.SUCCESS
        assert cell.placed[-1].distance(spot) < 2e-3
    assert cell.call("clear_places").message == "2 places are free again"
    cell.see(CUBE)
    cell.start(1).result()
    assert cell.placed[-1].distance(SETTINGS.place_spots[0]) < 2e-3


def test_ik_dies_on_the_way(cell):
    """The cube at hand is planned and is placed; for the next one there is nobody to ask."""
    cell.see(CUBE, OTHER)
    run = cell.start(0)
    run.reach("approach")
    cell.stop_ik()
    try:
        result = run.result()
        assert result.error_code == Code.IK_UNAVAILABLE
        assert [cube.error_code for cube in result.cubes] == [Code.SUCCESS, Code.IK_UNAVAILABLE]
    finally:
        cell.start_ik()
    assert_next_goal_works(cell)


def test_services_are_answered_while_the_ik_node_is_silent(cell):
    cell.spoil(ik="mute")
    run = cell.start(1)
    run.reach("plan")
    began = time.monotonic()
    assert "plan" in cell.call("status").message
    assert time.monotonic() - began < 0.9
    run.result()


def test_what_is_held_after_a_cancel_is_placed_by_the_next_goal(cell):
    run = cell.start(1)
    run.reach("carry")
    run.cancel()
    assert run.result().error_code == Code.PREEMPTED
    assert run.status == GoalStatus.STATUS_CANCELED
    assert cell.held
    again = cell.start(1)
    result = again.result()
    assert result.error_code == Code.SUCCESS
    assert again.phases == ["home", "plan", "carry", "lower", "release", "retreat"]
    assert cell.placed[0].distance(SETTINGS.place_spots[0]) < 2e-3


def test_a_low_tool_goes_straight_up_first(cell):
    run = cell.start(1)
    run.reach("grasp")
    run.cancel()
    run.result()
    cell.see(CUBE)
    cell.held, cell.positions[GRIPPER] = None, 0.0
    cell.sent.clear()
    assert cell.call("home").success
    (sent,) = cell.arm_goals()
    heights = [cell.tool(q)[2] for q in sent.trajectory.sample(np.linspace(0, sent.trajectory.duration, 80))[0]]
    sideways = [
        np.hypot(*(cell.tool(q)[:2] - cell.tool(sent.trajectory.positions[0])[:2]))
        for q in sent.trajectory.sample(np.linspace(0, sent.trajectory.duration, 80))[0]
    ]
    low = [far for far, height in zip(sideways, heights, strict=True) if height < heights[0] + 0.05]
    assert low
    assert max(low) < 0.01


def test_cubes_go_to_the_places_of_their_colour(cell):
    third = Spot(0.4, -0.1, 0.0225, 0.1)
    cell.see(CUBE, OTHER, third)
    cell.colours = {CUBE: "blue", third: "blue"}
    cell.configure(place_colours=["red"] * 3 + ["blue"] + ["red"] * 5)
    try:
        result = cell.start(0).result()
    finally:
        cell.configure(place_colours=["any"])
    # There is one place for two blue cubes; the red one goes on.
    told = [(cube.color, Code(cube.error_code)) for cube in result.cubes]
    assert told == [("blue", Code.SUCCESS), ("red", Code.SUCCESS), ("blue", Code.NO_PLACE)]
    assert result.cubes[2].message == "every place for blue cubes is taken"
    spots = SETTINGS.place_spots
    assert [placed.distance(spot) < 2e-3 for placed, spot in zip(cell.placed, (spots[3], spots[0]), strict=True)]
    with pytest.raises(ValueError, match="place_colours has 2 names"):
        cell.configure(place_colours=["red", "blue"])


def test_a_place_that_the_camera_does_not_watch_is_not_judged(cell):
    cell.spoil(grip="vanish")
    result = cell.start(1, [pose(Spot(0.48, 0.45, 0.0225))]).result()
    assert result.error_code == Code.SUCCESS


def test_a_place_above_the_table_is_not_judged(cell):
    """The camera takes what it sees for lying on the table."""
    cell.spoil(grip="vanish")
    assert cell.start(1, [pose(Spot(0.48, 0.22, 0.0675))]).result().error_code == Code.SUCCESS


def test_a_place_with_something_unclear_beside_it_is_not_judged(cell):
    """Cubes that nearly touch are refused by vision, and are there all the same."""
    cell.spoil(grip="vanish")
    cell.unclear = [Spot(0.48, 0.25, 0.0225)]
    assert cell.start(1, [pose(Spot(0.48, 0.22, 0.0225))]).result().error_code == Code.SUCCESS
    cell.see(OTHER)
    result = cell.start(1, [pose(Spot(0.38, 0.12, 0.0225))]).result()
    assert [cube.error_code for cube in result.cubes] == [Code.PLACE_FAILED]


def test_a_cube_that_is_not_at_its_place_is_told_and_the_others_go_on(cell):
    cell.see(CUBE, OTHER)
    cell.spoil(grip="vanish")
    run = cell.start(2)
    wait_for(lambda: run.phases.count("grasp") == 2, 20.0, "the second cube")
    cell.spoil(grip="")
    result = run.result()
    assert [cube.error_code for cube in result.cubes] == [Code.PLACE_FAILED, Code.SUCCESS]
    assert result.message == "1 placed, 1 not: the camera sees no cube at (0.580, 0.120, 0.022)"


def test_from_the_place_to_the_next_cube_the_tool_goes_straight_up_first(cell):
    cell.see(CUBE, OTHER)
    cell.start(2).result()
    second = cell.arm_goals()[2].trajectory
    times = np.linspace(0.0, second.duration, 80)
    way = np.array([cell.tool(q) for q in second.sample(times)[0]])
    low = way[way[:, 2] < way[0, 2] + 0.05]
    beside = np.hypot(*(low - way[0])[:, :2].T)
    above = np.hypot(low[:, 0] - OTHER.x, low[:, 1] - OTHER.y)
    assert np.all((beside < 0.01) | (above < 0.01))


def test_a_next_cube_out_of_reach_is_given_up_with_the_arm_out_of_view(cell):
    cell.see(CUBE, Spot(1.2, 0.0, 0.0225))
    run = cell.start(0)
    result = run.result()
    assert [cube.error_code for cube in result.cubes] == [Code.SUCCESS, Code.NO_IK_SOLUTION]
    assert run.phases[-5:] == ["lower", "release", "plan", "retreat", "look"]
    assert np.allclose(cell.arm, SETTINGS.look_posture, atol=1e-3)


def test_where_the_next_cube_is_hidden_the_arm_goes_out_of_view(cell):
    cell.see(CUBE, OTHER)
    run = cell.start(2)
    run.reach("carry")
    cell.spoil(cubes="silent")
    run.reach("retreat")
    cell.spoil(cubes="")
    assert run.result().error_code == Code.SUCCESS
    assert run.phases.count("look") == 2


def test_a_missed_cube_is_tried_again_with_another_yaw(cell):
    cell.spoil(grip="miss")
    run = cell.start(1)
    wait_for(lambda: run.phases.count("approach") == 2, 20.0, "the second attempt")
    cell.spoil(grip="")
    result = run.result()
    assert result.error_code == Code.SUCCESS
    assert result.cubes[0].attempts == 2
    first, second = (cell.yaw(cell.arm_goals()[i].trajectory.positions[-1]) for i in (0, 2))
    assert abs(np.cos(first - second)) < 1e-3


def test_a_cube_that_cannot_be_held_is_given_up_and_the_others_go_on(cell):
    cell.see(CUBE, OTHER)
    cell.spoil(grip="miss")
    run = cell.start(0)
    wait_for(lambda: run.phases.count("grasp") == 3, 30.0, "three attempts")
    cell.spoil(grip="")
    cell.see(OTHER)
    result = run.result()
    assert result.error_code == Code.GRASP_FAILED
    assert [cube.error_code for cube in result.cubes] == [Code.GRASP_FAILED, Code.SUCCESS]
    assert [cube.attempts for cube in result.cubes] == [3, 1]
    assert "1 placed, 1 not" in result.message


def test_a_cube_taken_away_after_it_was_seen(cell):
    run = cell.start(0)
    run.reach("approach")
    cell.see()
    result = run.result()
    assert result.error_code == Code.GRASP_FAILED
    assert "no longer in view" in result.message
    assert cell.placed == []


def test_a_cube_lost_on_the_way_is_noticed_and_picked_again(cell):
    cell.spoil(grip="slip")
    run = cell.start(1)
    result = run.result()
    assert result.error_code == Code.SUCCESS
    assert run.phases.count("grasp") == 2
    assert result.cubes[0].attempts == 2
    assert "cancelled" in [sent.ended for sent in cell.arm_goals()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position.x": float("nan")}, "place 0 is not finite"),
        ({"orientation.w": 0.0}, "quaternion of zeros"),
        ({"orientation.x": 1.0}, "tilted"),
        ({"position.z": -0.1}, "inside the table"),
    ],
)
def test_places_that_are_none(cell, change, words):
    place = pose(Spot(0.48, 0.22, 0.0225))
    for name, value in change.items():
        part, axis = name.split(".")
        setattr(getattr(place, part), axis, value)
    result = cell.start(1, [place]).result()
    assert result.error_code == Code.INVALID_GOAL_CONSTRAINTS
    assert words in result.message
    assert cell.sent == []


def test_a_place_out_of_reach_moves_nothing(cell):
    result = cell.start(1, [pose(Spot(1.3, 0.2, 0.0225))]).result()
    assert result.error_code == Code.NO_IK_SOLUTION
    assert "the place (1.300, 0.200, 0.022)" in result.message
    assert cell.sent == []


def test_goal_without_a_place_pose_is_level_at_the_origin(cell):
    result = cell.start(1, [Pose()]).result()
    assert result.error_code == Code.INVALID_GOAL_CONSTRAINTS
