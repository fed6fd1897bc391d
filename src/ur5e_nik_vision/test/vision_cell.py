"""A vision node in a process of its own, and the topics around it, on a DDS domain of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from array import array
from contextlib import contextmanager
from itertools import count

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped, PoseStamped
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image

from ur5e_nik_msgs.msg import CubeDetections

TIMEOUT = 30.0
_started: list[subprocess.Popen] = []


@contextmanager
def private_ros():
    """Rclpy on a domain of its own, where nothing else on this machine is heard; no node outlives it."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(20 + os.getpid() % 80)
    rclpy.init()
    try:
        yield
    finally:
        rclpy.shutdown()
        for process in _started:
            process.kill()


def start(module, arguments=(), namespace="", parameter_file=None, **parameters):
    """A node's process; in parameters' names __ stands for a dot."""
    command = [sys.executable, "-m", f"ur5e_nik_vision.{module}", *map(str, arguments), "--ros-args"]
    if namespace:
        command += ["-r", f"__ns:={namespace}"]
    if parameter_file:
        command += ["--params-file", str(parameter_file)]
    for name, value in parameters.items():
        command += ["-p", f"{name.replace('__', '.')}:={json.dumps(value)}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _started.append(process)
    return process


def image(bgr, encoding="bgr8", padding=0):
    """An Image of a (H, W, 3) BGR picture in an encoding of the bgr, rgb, bgra and rgba kinds."""
    alpha = np.full((*bgr.shape[:2], 1), 255, np.uint8)
    order = ["bgra".index(letter) for letter in encoding.rstrip("168")]
    pixels = np.concatenate([bgr, alpha], axis=-1)[..., order]
    if encoding.endswith("16"):
        pixels = pixels.astype(np.uint16) * 257
    rows = np.ascontiguousarray(pixels).view(np.uint8).reshape(len(bgr), -1)
    rows = np.hstack([rows, np.zeros((len(bgr), padding), np.uint8)])
    message = Image(height=bgr.shape[0], width=bgr.shape[1], encoding=encoding, step=rows.shape[1])
    message.header.frame_id = "overhead_camera"
    message.data = array("B", rows.tobytes())
    return message


def camera_info(scene, **changes):
    """The CameraInfo of a scene's camera."""
    info = CameraInfo(width=scene.width, height=scene.height, distortion_model="plumb_bob")
    info.k = scene.matrix.ravel().tolist()
    info.d = [float(coefficient) for coefficient in scene.distortion]
    for name, value in changes.items():
        setattr(info, name, value)
    return info


class VisionCell:
    """The node, a camera that publishes what it is given, and what the node publishes.

    Each is in a namespace of its own, so that several can live in one test.
    """

    _count = count()

    def __init__(self, calibration_file, reliability=ReliabilityPolicy.RELIABLE, **parameters):
        namespace = self.namespace = f"/cell/number_{next(self._count)}"
        parameters = {"status_rate": 40.0, "calibration_file": str(calibration_file), **parameters}
        self.process = start("vision_node", namespace=namespace, **parameters)
        self.node = rclpy.create_node("test", namespace=namespace)
        self.points, self.poses, self.detections, self.statuses = [], [], [], []
        for kind, topic, kept in (
            (PointStamped, "cube_position", self.points),
            (PoseStamped, "cube_pose", self.poses),
            (CubeDetections, "cube_detections", self.detections),
            (DiagnosticArray, "vision_status", self.statuses),
        ):
            self.node.create_subscription(kind, topic, kept.append, 100)
        self.infos = self.node.create_publisher(CameraInfo, "camera/camera_info", 1)
        self.images = self.camera(reliability)
        self._stamp = 0
        self.wait(lambda: self.statuses, "vision_status")

    def camera(self, reliability):
        """A publisher of pictures."""
        return self.node.create_publisher(Image, "camera/image_color", QoSProfile(depth=1, reliability=reliability))

    def spin(self, seconds):
        """Hear what comes for a while."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            rclpy.spin_once(self.node, timeout_sec=0.01)

    def wait(self, done, what):
        """Spin until something is so, as long as the node lives."""
        deadline = time.monotonic() + TIMEOUT
        while not done():
            assert time.monotonic() < deadline, f"no {what} in {TIMEOUT} s"
            assert self.process.poll() is None, f"the node ended: {self.process.communicate()[1]}"
            rclpy.spin_once(self.node, timeout_sec=0.02)

    @property
    def status(self):
        """The node's last word."""
        return self.statuses[-1].status[0]

    @property
    def pictures(self):
        """How many pictures the node says it has seen."""
        return int(next(pair.value for pair in self.status.values if pair.key == "pictures"))

    def look(self, message):
        """Publish a picture with a stamp of its own until the node has seen it; its status then."""
        self._stamp += 1
        message.header.stamp.sec = self._stamp
        seen = self.pictures
        deadline = time.monotonic() + TIMEOUT
        while self.pictures == seen:
            assert time.monotonic() < deadline, f"the picture was not seen in {TIMEOUT} s"
            assert self.process.poll() is None, f"the node ended: {self.process.communicate()[1]}"
            self.images.publish(message)
            self.spin(0.3)
        return self.status

    def point(self, message):
        """The PointStamped that the node publishes for a picture."""
        self.look(message)
        self.wait(lambda: self.points and self.points[-1].header.stamp.sec == self._stamp, "cube_position")
        return self.points[-1]

    def call(self, kind, service, request):
        """The answer of one of the node's services."""
        client = self.node.create_client(kind, f"vision/{service}")
        assert client.wait_for_service(TIMEOUT)
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=TIMEOUT)
        self.node.destroy_client(client)
        assert future.done()
        return future.result()

    def close(self):
        """End the node as Ctrl-C does; it must end well."""
        self.node.destroy_node()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=TIMEOUT)
        assert "Traceback" not in err, err
        assert self.process.returncode == 0, err


def parameter_messages(values):
    """rcl_interfaces Parameters of a dict."""
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
