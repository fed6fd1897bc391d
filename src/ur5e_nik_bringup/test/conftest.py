"""A fake cell and a task node for the tests that go over DDS; each test module has its own pair and ROS domain."""

import pytest
from domain_coordinator import domain_id

from ur5e_nik_bringup.evaluation.fake_cell import FakeCell
from ur5e_nik_bringup.evaluation.fault_runs import IMPATIENT
from ur5e_nik_bringup.evaluation.fault_table import CUBE
from ur5e_nik_bringup.evaluation.task_process import TaskProcess


@pytest.fixture(scope="module")
def domain():
    with domain_id() as number:
        yield number


@pytest.fixture(scope="module")
def unchecked_cell(domain):
    cell = FakeCell(domain)
    yield cell
    cell.close()


@pytest.fixture(scope="module")
def task(domain, unchecked_cell):
    process = TaskProcess(domain, IMPATIENT)
    yield process
    code, _ = process.end()
    assert code == 0
    assert "Traceback" not in process.output, process.output[-3000:]


@pytest.fixture
def cell(unchecked_cell, task):
    """In order, with one cube in view; whatever the test before has broken."""
    unchecked_cell.reset()
    unchecked_cell.see(CUBE)
    assert task.alive, "the task node has died"
    unchecked_cell.call("clear_places")
    begin = len(task.output)
    yield unchecked_cell
    print(task.output[begin:])
    unchecked_cell.end_goals()
