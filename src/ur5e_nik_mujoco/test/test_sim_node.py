"""The node over real DDS, in a namespace and a domain of its own."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ur5e_nik_msgs.srv import GetGroundTruth, ResetScene
from ur5e_nik_mujoco.controller import ErrorCode
from ur5e_nik_mujoco.simulation import ARM_JOINTS, GRIPPER_JOINT, JOINTS

DOMAIN = 10 + os.getpid() % 90
NAMESPACE = f"/cell_{os.getpid()}"
ENVIRONMENT = {
    **os.environ,
    "ROS_DOMAIN_ID": str(DOMAIN),
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    "PYTHONUNBUFFERED": "1",
}
ACTION = "ur5e/ur_joint_trajectory_controller/follow_joint_trajectory"
REST = np.radians([0, -90, 90, -90, -90, 0])
ABORTED, CANCELED, SUCCEEDED = 6, 5, 4


def start_node(*parameters, namespace=NAMESPACE, environment=ENVIRONMENT):
    command = [sys.executable, "-m", "ur5e_nik_mujoco.sim_node", "--ros-args"]
    command += ["-r", f"__ns:={namespace}", "-r", f"/clock:={namespace}/clock"]
    for parameter in parameters:
        command += ["-p", parameter]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class Client:
    """What a user of the cell does, with a timeout on everything."""

    def __init__(self, namespace=NAMESPACE):
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=DOMAIN)
        self.node = rclpy.create_node("client", namespace=namespace, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.action = ActionClient(self.node, FollowJointTrajectory, ACTION)
        self.feedback = []
        self.states = []
        self.node.create_subscription(JointState, "ur5e/joint_states", self.states.append, 10)

    def wait(self, done, timeout=20.0):
        end = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < end, "timed out"
            self.executor.spin_once(timeout_sec=0.05)

    def result(self, future, timeout=20.0):
        self.wait(future.done, timeout)
        return future.result()

    def call(self, kind, name, request):
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready)
        answer = self.result(client.call_async(request))
        self.node.destroy_client(client)
        return answer

    def reset(self, **request):
        return self.call(ResetScene, "sim/reset", ResetScene.Request(**request))

    def set_parameter(self, name, value):
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        (answer,) = self.call(SetParameters, "sim/set_parameters", request).results
        return answer

    def truth(self):
        return self.call(GetGroundTruth, "sim/ground_truth", GetGroundTruth.Request())

    def collect(self, kind, topic, count):
        received = []
        subscription = self.node.create_subscription(kind, topic, received.append, 10)
        self.wait(lambda: len(received) >= count)
        self.node.destroy_subscription(subscription)
        return received

    def send(self, request):
        self.wait(self.action.server_is_ready)
        handle = self.result(self.action.send_goal_async(request, lambda f: self.feedback.append(f.feedback)))
        assert handle.accepted
        return handle, handle.get_result_async()

    def execute(self, request):
        _, future = self.send(request)
        answer = self.result(future)
        return answer.status, answer.result

    def positions(self):
        self.states.clear()
        self.wait(lambda: self.states)
        return np.array(self.states[-1].position)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


def duration(seconds):
    return Duration(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))


def trajectory(names, *points, **fields):
    """A goal that moves through (time, positions) and rests at each."""
    goal = FollowJointTrajectory.Goal(**fields)
    goal.trajectory.joint_names = list(names)
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=np.array(positions, dtype=float).tolist())
        point.velocities = [0.0] * len(point.positions)
        point.time_from_start = duration(seconds)
        goal.trajectory.points.append(point)
    return goal


@pytest.fixture(scope="module")
def client():
    process = start_node("cubes:=4", "seed:=2", "speed:=2.0")
    client = Client()
    try:
        client.wait(client.action.server_is_ready, timeout=60.0)
        yield client
    finally:
        client.close()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=10.0)
    assert process.returncode == 0
    assert "Traceback" not in output


def test_joint_states_and_clock_keep_their_rates(client):
    clocks = client.collect(Clock, "clock", 200)
    times = np.array([m.clock.sec + m.clock.nanosec * 1e-9 for m in clocks])
    assert np.all(np.diff(times) > 0)
    assert np.median(np.diff(times)) == pytest.approx(0.01, rel=0.2)

    states = client.collect(JointState, "ur5e/joint_states", 100)
    times = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in states])
    assert np.median(np.diff(times)) == pytest.approx(0.02, rel=0.2)
    assert tuple(states[0].name) == JOINTS
    assert len(states[0].position) == len(states[0].velocity) == 7
    assert len(states[0].effort) == 0


def test_camera_shows_red_where_the_cubes_are(client):
    client.reset(seed=3, cubes=4)
    truth = client.truth()
    image = client.collect(Image, "camera/image_color", 2)[-1]
    info = client.collect(CameraInfo, "camera/camera_info", 1)[0]
    assert (image.encoding, image.step) == ("bgra8", 4 * image.width)
    assert image.header.frame_id == info.header.frame_id == "overhead_camera"
    assert (image.width, image.height) == (info.width, info.height) == (640, 480)
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 4)
    assert pixels[..., :3].std() > 10, "not one flat colour"
    assert np.all(pixels[..., 3] == 255)

    focal, center_x, center_y = info.k[0], info.k[2], info.k[5]
    assert len(truth.cubes) == 4
    for cube in truth.cubes:
        depth = 1.20 - 0.045
        column = center_x - focal * cube.pose.position.y / depth
        row = center_y - focal * (cube.pose.position.x - 0.50) / depth
        blue, green, red, _ = pixels[round(row), round(column)].astype(int)
        assert red > 150
        assert max(blue, green) < 90


def test_overview_is_a_picture(client):
    image = client.collect(Image, "overview/image_color", 1)[0]
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 4)
    assert image.header.frame_id == "overview_camera"
    assert pixels[..., :3].std() > 10


def test_frames_come_often_enough_however_fast_the_simulation_is(client):
    client.set_parameter("speed", 0.0)
    try:
        images = client.collect(Image, "camera/image_color", 20)
    finally:
        client.set_parameter("speed", 2.0)
    times = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in images])
    # One chunk of steps may pass before the simulation looks whether a frame is due.
    assert np.diff(times)[1:].max() < 0.4 + 0.03


def test_diagnostics_tell_the_cost_of_a_frame(client):
    subscription = client.node.create_subscription(Image, "camera/image_color", lambda _: None, 10)
    figures = {}
    try:
        while "render_overhead_camera_ms" not in figures:
            (message,) = client.collect(DiagnosticArray, "diagnostics", 1)
            figures = {pair.key: float(pair.value) for pair in message.status[0].values}
    finally:
        client.node.destroy_subscription(subscription)
    assert message.status[0].name == f"{NAMESPACE}/sim"
    assert 0.1 < figures["render_overhead_camera_ms"] < 5000
    assert figures["real_time_factor"] > 0


def test_arm_and_gripper_follow_a_trajectory(client):
    client.reset(seed=0, cubes=0)
    client.feedback.clear()
    status, result = client.execute(trajectory(ARM_JOINTS, (2.0, REST), goal_time_tolerance=duration(0.5)))
    assert (status, result.error_code) == (SUCCEEDED, ErrorCode.SUCCESSFUL)
    assert np.abs(client.positions()[:6] - REST).max() < 1e-3
    tool0 = client.truth().tool0.position
    assert np.allclose([tool0.x, tool0.y, tool0.z], [0.4919, 0.1333, 0.4879], atol=1e-3)
    assert 10 <= len(client.feedback) <= 25
    assert tuple(client.feedback[0].joint_names) == JOINTS
    assert np.abs(client.feedback[-1].error.positions).max() < 0.01

    status, result = client.execute(trajectory([GRIPPER_JOINT], (0.5, [0.8])))
    assert (status, result.error_code) == (SUCCEEDED, ErrorCode.SUCCESSFUL)
    assert client.positions()[6] > 0.7
    assert np.abs(client.positions()[:6] - REST).max() < 1e-3


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        (trajectory(ARM_JOINTS), ErrorCode.INVALID_GOAL),
        (trajectory(["elbow"], (1.0, [0.0])), ErrorCode.INVALID_JOINTS),
        (trajectory(ARM_JOINTS, (1.0, [0.0])), ErrorCode.INVALID_GOAL),
        (trajectory(["elbow_joint"], (1.0, [3.2])), ErrorCode.INVALID_GOAL),
        (trajectory(["elbow_joint"], (1.0, [float("nan")])), ErrorCode.INVALID_GOAL),
        (trajectory(["elbow_joint"], (1.0, [1.0]), (1.0, [1.0])), ErrorCode.INVALID_GOAL),
    ],
)
def test_bad_goal_ends_with_its_code_and_moves_nothing(client, goal, code):
    client.reset(seed=0, cubes=0)
    before = client.positions()
    status, result = client.execute(goal)
    assert (status, result.error_code) == (ABORTED, code)
    assert result.error_string
    assert np.abs(client.positions() - before).max() < 1e-3


def test_late_goal_and_effort_are_refused(client):
    late = trajectory(["elbow_joint"], (0.001, [1.0]))
    late.trajectory.header.stamp = Time(sec=0, nanosec=1)
    assert client.execute(late)[1].error_code == ErrorCode.OLD_HEADER_TIMESTAMP
    effort = trajectory(["elbow_joint"], (1.0, [1.0]))
    effort.trajectory.points[0].effort = [1.0]
    assert client.execute(effort)[1].error_code == ErrorCode.INVALID_GOAL


def test_violated_tolerance_aborts(client):
    client.reset(seed=0, cubes=0)
    goal = trajectory(["shoulder_pan_joint"], (0.05, [2.0]))
    goal.path_tolerance = [JointTolerance(name="shoulder_pan_joint", position=0.1)]
    status, result = client.execute(goal)
    assert (status, result.error_code) == (ABORTED, ErrorCode.PATH_TOLERANCE_VIOLATED)
    assert "shoulder_pan_joint" in result.error_string


def test_cancel_stops_the_arm_soon(client):
    client.reset(seed=0, cubes=0)
    handle, future = client.send(trajectory(ARM_JOINTS, (4.0, REST)))
    client.wait(lambda: any(abs(v) > 0.2 for v in client.states[-1].velocity[:6]))
    assert len(client.result(handle.cancel_goal_async()).goals_canceling) == 1
    answer = client.result(future)
    assert answer.status == CANCELED
    stopped = client.positions()
    assert np.abs(stopped[:6] - REST).max() > 0.1, "before the end"
    client.wait(lambda: len(client.states) > 50)
    assert np.abs(client.positions() - stopped).max() < 1e-2


def test_cancel_at_rest_is_answered(client):
    client.reset(seed=0, cubes=0)
    here = client.positions()[:6]
    goal = trajectory(ARM_JOINTS, (60.0, here))
    handle, future = client.send(goal)
    client.result(handle.cancel_goal_async())
    assert client.result(future).status == CANCELED


def test_new_goal_preempts_the_running_one(client):
    client.reset(seed=0, cubes=0)
    _, old = client.send(trajectory(ARM_JOINTS, (30.0, REST)))
    status, result = client.execute(trajectory(ARM_JOINTS, (1.5, REST)))
    assert (status, result.error_code) == (SUCCEEDED, ErrorCode.SUCCESSFUL)
    answer = client.result(old)
    assert (answer.status, answer.result.error_code) == (ABORTED, ErrorCode.INVALID_GOAL)
    assert "preempted" in answer.result.error_string


def test_reset_depends_on_the_seed_alone(client):
    def poses(seed):
        assert client.reset(seed=seed, cubes=3).success
        cubes = client.truth().cubes
        return [(c.name, round(c.pose.position.x, 4), round(c.pose.position.y, 4)) for c in cubes]

    first = poses(11)
    assert len(first) == 3
    assert poses(12) != first
    client.execute(trajectory(ARM_JOINTS, (1.0, REST)))
    assert poses(11) == first
    assert np.abs(client.positions()[:6] - REST).max() > 0.1, "back at the start posture"
    assert client.truth().cubes[0].contacts == ["pick_tray"]


def test_reset_in_mid_motion_aborts_the_goal(client):
    _, future = client.send(trajectory(ARM_JOINTS, (30.0, REST)))
    assert client.reset(seed=0, cubes=1).success
    assert client.result(future).status == ABORTED


def test_reset_with_too_many_cubes_is_refused(client):
    answer = client.reset(seed=0, cubes=9)
    assert not answer.success
    assert "0 to 8" in answer.message
    assert len(client.truth().cubes) == 1


def test_calibration_board_is_in_the_picture(client):
    client.reset(seed=0, cubes=0, calibration_board=True)
    image = client.collect(Image, "camera/image_color", 2)[-1]
    gray = np.frombuffer(image.data, np.uint8).reshape(480, 640, 4)[..., :3].mean(axis=2)
    assert np.mean(gray < 60) > 0.2
    assert np.mean(gray > 200) > 0.3
    client.reset(seed=0, cubes=0)


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("speed", 3.0, True),
        ("speed", 2.0, True),
        ("speed", -1.0, False),
        ("speed", float("nan"), False),
        ("camera_rate", 0.0, False),
        ("seed", 5, False),
    ],
)
def test_parameters_are_checked_when_set(client, name, value, accepted):
    answer = client.set_parameter(name, value)
    assert answer.successful == accepted
    assert accepted or answer.reason


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("cubes:=9", "cubes"),
        ("cubes:=many", "cubes"),
        ("seed:=-1", "seed"),
        ("colours:=red,pink", "no cube colour 'pink'; there are red, green, blue, yellow"),
        ("speed:=-0.5", "speed"),
        ("speed:=.nan", "speed"),
        ("camera_rate:=0.0", "camera_rate"),
        ("scene:=/nowhere.yaml", "/nowhere.yaml: No such file"),
    ],
)
def test_bad_start_value_ends_the_node_with_one_line(parameter, expected):
    process = start_node(parameter)
    output, _ = process.communicate(timeout=30.0)
    assert process.returncode == 1
    assert len(output.splitlines()) == 1
    assert expected in output


def test_viewer_without_a_display_is_refused():
    environment = {k: v for k, v in ENVIRONMENT.items() if "DISPLAY" not in k}
    process = start_node("gui:=true", environment=environment)
    output, _ = process.communicate(timeout=30.0)
    assert process.returncode == 1
    assert output == ("sim: gui needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set\n")


def test_two_cells_do_not_hear_each_other(client):
    namespace = f"{NAMESPACE}_other"
    process = start_node("cubes:=2", "colours:=blue,green", namespace=namespace)
    other = Client(namespace)
    try:
        other.wait(lambda: other.states, timeout=60.0)
        client.reset(seed=0, cubes=1)
        other.execute(trajectory(ARM_JOINTS, (1.0, REST)))
        assert np.abs(other.positions()[:6] - REST).max() < 1e-2
        assert np.abs(client.positions()[:6] - REST).max() > 0.1
        assert [cube.color for cube in client.truth().cubes] == ["red"]
        assert [cube.color for cube in other.truth().cubes] == ["blue", "green"]
        other.reset(seed=1, cubes=3)
        assert [cube.color for cube in other.truth().cubes] == ["blue", "green", "blue"]
    finally:
        other.close()
        process.terminate()
        process.communicate(timeout=5.0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["starting", "idle", "moving"])
def test_signals_end_the_node_cleanly(number, moment):
    namespace = f"{NAMESPACE}_ends"
    process = start_node("cubes:=1", namespace=namespace)
    client = Client(namespace)
    try:
        if moment == "starting":
            time.sleep(0.6)
        else:
            client.wait(lambda: client.states, timeout=60.0)
        if moment == "moving":
            _, future = client.send(trajectory(ARM_JOINTS, (30.0, REST)))
            client.wait(lambda: any(abs(v) > 1e-3 for v in client.states[-1].velocity[:6]))
        process.send_signal(number)
        if moment == "moving":
            assert client.result(future, timeout=2.0).status == ABORTED
        output, _ = process.communicate(timeout=3.0)
    finally:
        client.close()
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in output
