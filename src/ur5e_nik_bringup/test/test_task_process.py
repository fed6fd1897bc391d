"""The task node as a process: a signal while nothing answers, parameters that are refused, a namespace of its own."""

import signal
import time
from dataclasses import replace

import pytest
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters

from ur5e_nik_bringup.evaluation.fake_cell import FakeCell
from ur5e_nik_bringup.evaluation.fault_runs import IMPATIENT
from ur5e_nik_bringup.evaluation.fault_table import CUBE
from ur5e_nik_bringup.evaluation.task_process import TaskProcess, wait_for
from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.waypoints import Spot


def test_a_signal_ends_it_while_nothing_answers(unchecked_cell, domain):
    """No joint states, no clock, an IK node that is deaf: the end comes all the same."""
    unchecked_cell.reset()
    unchecked_cell.spoil(states="silent", ik="mute")
    process = TaskProcess(domain)
    unchecked_cell.start(1).reach("home")
    time.sleep(0.3)
    code, seconds = process.end(signal.SIGTERM)
    assert (code, "Traceback" in process.output) == (0, False)
    assert seconds < 2.0


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("joint_velocity:=100.0", "parameter joint_velocity"),
        ("joint_velocity:=.nan", "parameter joint_velocity"),
        ("joint_velocity:=fast", "parameter joint_velocity"),
        ("attempts:=0", "parameter attempts"),
        ("look_timeout:=-1.0", "parameter look_timeout"),
        ("solver:=magic", "parameter solver is 'magic'; it must be one of auto, network, closed_form"),
        ("trajectory_action:=''", "parameter trajectory_action is an empty string"),
        ("look_posture:=[0.0, 1.0]", "parameter look_posture has 2 values; it must have six"),
        ("places:=[0.5]", "parameter places has 1 values"),
        ("held_from:=0.9", "parameter held_from must be smaller than held_to"),
    ],
)
def test_a_bad_value_at_start_is_one_line_and_exit_code_1(domain, argument, words):
    process = TaskProcess(domain, [argument], wait=False)
    assert process.wait(20.0) == 1
    lines = process.output.strip().splitlines()
    assert len(lines) == 1
    assert words in lines[0]


def double(value):
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


def text(value):
    return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)


def doubles(*values):
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=values)


def call(cell, service, name, request):
    client = cell.node.create_client(service, f"task/{name}")
    assert client.wait_for_service(10.0)
    future = client.call_async(request)
    wait_for(future.done, 10.0, name)
    cell.node.destroy_client(client)
    return future.result()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("joint_velocity", double(0.0), ""),
        ("joint_velocity", double(float("nan")), "nan"),
        ("joint_velocity", text("fast"), ""),
        ("held_from", double(0.9), "held_from must be smaller than held_to"),
        ("solver", text("magic"), "must be one of"),
        ("look_posture", doubles(0.0, 0.0, 4.0, 0.0, 0.0, 0.0), "outside the joint limits"),
        ("places", doubles(0.5, 0.2, float("nan"), 0.0), "places is nan; it must be finite"),
        ("places", doubles(), "places has 0 values"),
        ("trajectory_action", text("other"), "read"),
    ],
)
def test_a_bad_value_is_refused_when_it_is_set(cell, name, value, words):
    request = SetParameters.Request(parameters=[ParameterMsg(name=name, value=value)])
    (result,) = call(cell, SetParameters, "set_parameters", request).results
    assert not result.successful
    assert words in result.reason


def test_a_good_value_counts_from_the_next_goal_on(cell):
    for spot in ([0.40, 0.30, 0.0225, 0.0], Settings().places):
        request = SetParameters.Request(parameters=[ParameterMsg(name="places", value=doubles(*spot))])
        assert call(cell, SetParameters, "set_parameters", request).results[0].successful
        cell.see(CUBE)
        assert cell.start(1).result().error_code == 1
        assert cell.placed[-1].distance(Spot(*spot[:4])) < 2e-3


def test_every_parameter_is_described(cell):
    names = call(cell, ListParameters, "list_parameters", ListParameters.Request()).result.names
    ours = set(vars(Settings()))
    assert ours <= set(names)
    request = DescribeParameters.Request(names=sorted(ours))
    for descriptor in call(cell, DescribeParameters, "describe_parameters", request).descriptors:
        assert descriptor.description
        if descriptor.type == ParameterType.PARAMETER_DOUBLE:
            assert descriptor.floating_point_range


def test_another_robot_with_other_names_and_three_fingers(domain):
    settings = replace(
        Settings(),
        trajectory_action="scaled_joint_trajectory_controller/follow_joint_trajectory",
        joint_states_topic="joint_states",
        gripper_joints=["finger_1_joint_1", "finger_2_joint_1", "finger_middle_joint_1"],
    )
    arguments = [
        f"trajectory_action:={settings.trajectory_action}",
        f"joint_states_topic:={settings.joint_states_topic}",
        f"gripper_joints:=[{', '.join(settings.gripper_joints)}]",
    ]
    cell = FakeCell(domain, namespace="other", settings=settings)
    process = TaskProcess(domain, [*IMPATIENT, *arguments], namespace="other")
    try:
        cell.see(CUBE)
        assert cell.start(1).result().error_code == 1
        assert len(cell.placed) == 1
        assert [sent.joints for sent in cell.grips()] == [settings.gripper_joints] * 2
    finally:
        process.end()
        cell.close()


def test_a_wrong_controller_name_is_named(domain):
    cell = FakeCell(domain, namespace="wrong")
    process = TaskProcess(domain, [*IMPATIENT, "trajectory_action:=scaled/follow_joint_trajectory"], namespace="wrong")
    try:
        result = cell.start(1).result()
        assert result.error_code == -204
        assert "no controller serves scaled/follow_joint_trajectory" in result.message
    finally:
        process.end()
        cell.close()


def test_two_cells_in_one_domain_do_not_hear_each_other(domain):
    cells = [FakeCell(domain, namespace=name) for name in ("left", "right")]
    tasks = [TaskProcess(domain, IMPATIENT, namespace=name) for name in ("left", "right")]
    try:
        cells[0].see(CUBE)
        runs = [cell.start(1) for cell in cells]
        assert [run.result().error_code for run in runs] == [1, -200]
        assert [len(cell.placed) for cell in cells] == [1, 0]
        assert cells[1].sent == []
    finally:
        for process in tasks:
            process.end()
        for cell in cells:
            cell.close()
