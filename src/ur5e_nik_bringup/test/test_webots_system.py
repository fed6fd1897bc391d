"""The real thing: Webots headless, the whole system by ros2 launch, one cube from tray to tray."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from ur5e_nik_bringup.system import SystemArgumentError, choose_simulator

try:
    choose_simulator("webots", launched=True)
except SystemArgumentError as missing:
    pytest.skip(f"{missing}", allow_module_level=True)
if not shutil.which("ros2"):
    pytest.skip("there is no ros2 command", allow_module_level=True)

import rclpy
from rclpy.action import ActionClient

from ur5e_nik_msgs.action import PickPlace

FIRST_START = 900  # Webots loads its models from the network [s]
GOAL = 600


@pytest.fixture
def system(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(100 + os.getpid() % 100))
    with open(tmp_path / "launch.log", "w") as log:
        process = subprocess.Popen(
            ["ros2", "launch", "ur5e_nik_bringup", "sim.launch.py", "simulator:=webots", "cubes:=1", "mode:=fast"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    yield process, tmp_path / "launch.log"
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_cube_is_picked_and_placed(system):
    process, log = system
    rclpy.init()
    try:
        node = rclpy.create_node("test_webots_system")
        client = ActionClient(node, PickPlace, "pick_place")
        deadline = time.monotonic() + FIRST_START
        while not client.wait_for_server(1.0):
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
        result = None
        # The task answers that the robot is not there yet until the controllers are up.
        while result is None or result.error_code in (
            PickPlace.Result.ROBOT_STATE_STALE,
            PickPlace.Result.TIMED_OUT,
            PickPlace.Result.CONTROLLER_UNAVAILABLE,
        ):
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, f"{result and result.message}\n{log.read_text()[-3000:]}"
            sent = client.send_goal_async(PickPlace.Goal(count=1))
            rclpy.spin_until_future_complete(node, sent, timeout_sec=30)
            done = sent.result().get_result_async()
            rclpy.spin_until_future_complete(node, done, timeout_sec=GOAL)
            assert done.done(), log.read_text()[-3000:]
            result = done.result().result
        assert result.error_code == PickPlace.Result.SUCCESS, f"{result.message}\n{log.read_text()[-3000:]}"
        assert len(result.cubes) == 1
    finally:
        rclpy.try_shutdown()
