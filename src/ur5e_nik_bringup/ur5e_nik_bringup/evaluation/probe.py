"""The vision evaluation's hands in ROS: resets the scene, asks for the truth, hears what vision says."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped, Pose, PoseStamped
from numpy.typing import NDArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import CameraInfo, Image

from ur5e_nik_bringup.waypoints import Spot, yaw_of
from ur5e_nik_msgs.msg import CubeDetections
from ur5e_nik_msgs.srv import GetGroundTruth, ResetScene

Picture = NDArray[np.uint8]
PATIENCE = 30.0


@dataclass(frozen=True)
class Sight:
    """What vision said of one picture: whole cubes, reasons for what it refused, and which was chosen."""

    cubes: tuple[Spot, ...]
    refused: tuple[str, ...]
    chosen: int


class Eye:
    """One vision node's topics. Stamps are in nanoseconds."""

    def __init__(self, node: Node, namespace: str) -> None:
        self.sights: dict[int, Sight] = {}
        self.points: dict[int, tuple[float, float, float]] = {}
        self.poses: dict[int, Spot] = {}
        # Times of judged pictures by how many there had been, so that none counts twice.
        self.frame_ms: dict[int, float] = {}
        self.heard: dict[int, float] = {}
        for kind, topic, hear in (
            (CubeDetections, "cube_detections", self._on_detections),
            (PointStamped, "cube_position", self._on_point),
            (PoseStamped, "cube_pose", self._on_pose),
            (DiagnosticArray, "vision_status", self._on_status),
        ):
            node.create_subscription(kind, f"{namespace}{topic}", hear, 50)

    def agrees(self, stamp: int) -> bool:
        """Whether point and pose tell of the chosen cube, and of none when none was chosen."""
        sight = self.sights[stamp]
        point, pose = self.points.get(stamp), self.poses.get(stamp)
        if sight.chosen < 0:
            return point is None and pose is None
        chosen = sight.cubes[sight.chosen]
        return pose == chosen and point == (chosen.x, chosen.y, chosen.z)

    def complete(self, stamp: int) -> bool:
        """Whether all that is published of a picture has arrived."""
        sight = self.sights.get(stamp)
        return sight is not None and (sight.chosen < 0 or (stamp in self.points and stamp in self.poses))

    def _on_detections(self, message: CubeDetections) -> None:
        cubes = tuple(spot_of(cube.pose) for cube in message.cubes if cube.graspable)
        refused = tuple(cube.reason for cube in message.cubes if not cube.graspable)
        stamp = nanoseconds(message.header.stamp)
        self.sights[stamp] = Sight(cubes, refused, message.chosen)
        self.heard[stamp] = time.monotonic()

    def _on_point(self, message: PointStamped) -> None:
        self.points[nanoseconds(message.header.stamp)] = (message.point.x, message.point.y, message.point.z)

    def _on_pose(self, message: PoseStamped) -> None:
        self.poses[nanoseconds(message.header.stamp)] = spot_of(message.pose)

    def _on_status(self, message: DiagnosticArray) -> None:
        values = {pair.key: pair.value for pair in message.status[0].values}
        if "frame_ms" in values:
            self.frame_ms[int(values["pictures"])] = float(values["frame_ms"])


class Probe:
    """A ROS node of the evaluation, as a context. alive: raises when a node has ended."""

    def __init__(self, alive: Callable[[], None]) -> None:
        self._alive = alive

    def __enter__(self) -> Probe:
        rclpy.init()
        self._node = Node("eval")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._reset = self._node.create_client(ResetScene, "sim/reset")
        self._truth = self._node.create_client(GetGroundTruth, "sim/ground_truth")
        self._image: Image | None = None
        self._info: CameraInfo | None = None
        self._node.create_subscription(Image, "camera/image_color", self._on_image, 1)
        self._node.create_subscription(CameraInfo, "camera/camera_info", self._on_info, 1)
        self._publishers: dict[str, Publisher] = {}
        self._stamp = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def eye(self, namespace: str = "") -> Eye:
        """Listen to the vision node of a namespace, which ends with a slash."""
        return Eye(self._node, namespace)

    def lay(self, seed: int, cubes: int) -> tuple[list[Spot], int]:
        """Reset the scene; the true cubes, and a stamp before which pictures show the scene of before."""
        self.wait(self._reset.service_is_ready, "sim/reset")
        answer = self._result(self._reset.call_async(ResetScene.Request(seed=seed, cubes=cubes)))
        if not answer.success:
            raise RuntimeError(f"sim/reset: {answer.message}")
        truth = self._result(self._truth.call_async(GetGroundTruth.Request()))
        return [spot_of(cube.pose) for cube in truth.cubes], nanoseconds(truth.header.stamp)

    def sight_after(self, eye: Eye, stamp: int) -> int:
        """The stamp of the first complete sight of a picture younger than a stamp."""

        def complete() -> list[int]:
            return [key for key in eye.sights if key > stamp and eye.complete(key)]

        self.wait(complete, "cube_detections of a new picture")
        return min(complete())

    def picture_after(self, stamp: int) -> Picture:
        """A picture (H, W, 3) BGR younger than a stamp."""
        self.wait(lambda: self._image is not None and nanoseconds(self._image.header.stamp) > stamp, "a new picture")
        image = self._image
        assert image is not None
        pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 4)
        return np.ascontiguousarray(pixels[..., :3])

    def pinhole(self) -> tuple[float, tuple[float, float]]:
        """Focal length and principal point of the camera [pixels]."""
        self.wait(lambda: self._info is not None, "camera/camera_info")
        assert self._info is not None
        return self._info.k[0], (self._info.k[2], self._info.k[5])

    def open(self, namespace: str) -> None:
        """Publish pictures to a vision node of a namespace from now on."""
        publisher = self._node.create_publisher(Image, f"{namespace}camera/image_color", 5)
        self._publishers[namespace] = publisher
        self.wait(lambda: publisher.get_subscription_count() > 0, f"the vision node in {namespace}")
        # The node starts as best effort and changes over once it has seen what is offered.
        self.spin(1.2)

    def show(self, namespace: str, picture: Image) -> int:
        """Publish a picture; the stamp that it was given."""
        self._stamp += 1_000_000
        picture.header.stamp.sec, picture.header.stamp.nanosec = divmod(self._stamp, 1_000_000_000)
        self._publishers[namespace].publish(picture)
        return self._stamp

    def look(self, eye: Eye, namespace: str, message: Image) -> int:
        """Publish a picture until the node has judged it; the stamp of the sight."""
        for _ in range(5):
            stamp = self.show(namespace, message)
            deadline = time.monotonic() + 2.0
            while time.monotonic() < deadline:
                if eye.complete(stamp):
                    return stamp
                self._spin_once(0.05)
        raise TimeoutError(f"the vision node in {namespace} judged none of five pictures")

    def spin(self, seconds: float) -> None:
        """Hear what comes for a while."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._spin_once(left)

    def wait(self, done: Callable[[], Any], what: str) -> None:
        """Hear until something is so; TimeoutError says what did not come."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} did not come within {PATIENCE:.0f} s")
            self._spin_once(0.05)

    def _spin_once(self, timeout: float) -> None:
        self._alive()
        self._executor.spin_once(timeout_sec=timeout)

    def _result(self, future: Any) -> Any:
        self.wait(future.done, "a service's answer")
        return future.result()

    def _on_image(self, message: Image) -> None:
        self._image = message

    def _on_info(self, message: CameraInfo) -> None:
        self._info = message


def to_image(picture: Picture) -> Image:
    """A message of a (H, W, 3) BGR picture."""
    height, width, _ = picture.shape
    message = Image(height=height, width=width, encoding="bgr8", step=3 * width)
    message.header.frame_id = "overhead_camera"
    # rclpy checks anything but an array byte by byte.
    message.data = array("B", picture.tobytes())
    return message


def nanoseconds(stamp: Time) -> int:
    """A stamp as one number."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def spot_of(pose: Pose) -> Spot:
    """The centre and the yaw of an upright pose."""
    p, q = pose.position, pose.orientation
    return Spot(p.x, p.y, p.z, yaw_of(q.x, q.y, q.z, q.w))
