"""The node as a process of its own, and a client of its service, over real DDS on this host only."""

import os
import random
import subprocess
import sys
import time

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from ur5e_nik_ik.joints import JOINT_NAMES
from ur5e_nik_ik.rotations import quaternion_from_matrix
from ur5e_nik_msgs.srv import SolveIK

DOMAIN = random.randrange(1, 100)
# Compiling every kernel takes a while on a machine that has never done it.
READY_TIMEOUT = 120.0


def start(*arguments):
    """Start the node; its output is one stream of text."""
    environment = dict(os.environ, ROS_DOMAIN_ID=str(DOMAIN), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "ur5e_nik_ik.ik_node", "--ros-args", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def lines_until_ready(process):
    """Return what the node says before it is ready; fail if it ends first."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "ready" in line:
            return lines
    raise AssertionError(f"the node ended: {''.join(lines)}")


def stop(process):
    """End a node and return its exit code."""
    process.terminate()
    try:
        return process.wait(10.0)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


class Client:
    """Asks solve_ik and waits for the answer."""

    def __init__(self, namespace=""):
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=DOMAIN)
        self.node = rclpy.create_node("test_client", context=self.context, namespace=namespace)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.service = self.node.create_client(SolveIK, "solve_ik")

    def wait(self):
        """Wait until the service is there."""
        assert self.service.wait_for_service(READY_TIMEOUT)

    def send(self, service, request):
        return self.wait_for(service.call_async(request))

    def wait_for(self, future):
        deadline = time.monotonic() + 10.0
        # Not spin_until_future_complete, which with a timeout keeps a processor busy.
        while not future.done():
            assert time.monotonic() < deadline, "no answer in 10 s"
            self.executor.spin_once(timeout_sec=1.0)
        return future.result()

    def solve(self, pose, seed=None, solver="", frame="base_link", quaternion=None):
        """Ask for a pose (4, 4); `seed` is joints (6,) or a JointState."""
        return self.send(self.service, request(pose, seed, solver, frame, quaternion))

    def close(self):
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


def request(pose, seed=None, solver="", frame="base_link", quaternion=None):
    target = PoseStamped()
    target.header.frame_id = frame
    p, o = target.pose.position, target.pose.orientation
    p.x, p.y, p.z = (float(value) for value in pose[:3, 3])
    if quaternion is None:
        quaternion = quaternion_from_matrix(pose[:3, :3])
    o.x, o.y, o.z, o.w = (float(value) for value in quaternion)
    if seed is None:
        seed = JointState()
    elif not isinstance(seed, JointState):
        seed = JointState(name=list(JOINT_NAMES), position=list(map(float, seed)))
    return SolveIK.Request(target=target, seed=seed, solver=solver)
