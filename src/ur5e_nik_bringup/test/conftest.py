"""A fake cell and a task node for the tests that go over DDS; each test module has its own pair and ROS domain."""

import pytest
from domain_coordinator import domain_id
from fake_cell import FakeCell, TaskProcess

from ur5e_nik_bringup.waypoints import Spot

# Short, so that the tests that wait for them do not take long.
QUICK = [
    "stall_timeout:=2.0",
    "ik_timeout:=2.0",
    "controller_timeout:=2.0",
    "motion_time_margin:=5.0",
    "look_timeout:=1.0",
    "look_timeout_wall:=1.0",
    "settle_timeout:=3.0",
]


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
    process = TaskProcess(domain, QUICK)
    yield process
    code, _ = process.end()
    assert code == 0
    assert "Traceback" not in process.output, process.output[-3000:]


@pytest.fixture
def cell(unchecked_cell, task):
    """In order, with one cube in view; whatever the test before has broken."""
    unchecked_cell.reset()
    unchecked_cell.see(Spot(0.5, -0.25, 0.0225, 0.3))
    assert task.process.poll() is None, "the task node has died"
    unchecked_cell.call("clear_places")
    begin = len(task.output)
    yield unchecked_cell
    print(task.output[begin:])
    unchecked_cell.end_goals()
