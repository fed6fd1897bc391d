"""Records a cell's topics as a rosbag2 folder with an MCAP file, which Foxglove and `ros2 bag play` open."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped, PoseStamped
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState
from trajectory_msgs.msg import JointTrajectory

from ur5e_nik_bringup.recorder import to_picture
from ur5e_nik_msgs.msg import CubeDetections

# What is recorded as it comes, and the pictures, which would be 20 MB/s, as JPEG under image_transport's names.
TOPICS = {
    "camera/camera_info": CameraInfo,
    "ur5e/joint_states": JointState,
    "cube_position": PointStamped,
    "cube_pose": PoseStamped,
    "cube_detections": CubeDetections,
    "vision_status": DiagnosticArray,
    "task/trajectory": JointTrajectory,
    "diagnostics": DiagnosticArray,
}
PICTURES = ("camera/image_color", "debug_image", "overview/image_color")
DEPTH = 100  # messages that wait for the disk
PICTURE_DEPTH = 5  # they wait in shared memory, which is not for hoarding
QUALITY = 90  # of JPEG


class Bag:
    """A recording under way, of all that a node hears.

    path: a folder that is not there yet. Times are those of the node's clock.
    """

    def __init__(self, node: Node, path: Path) -> None:
        self._node = node
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._types = get_typestore(Stores.ROS2_JAZZY)
        share = Path(get_package_share_directory("ur5e_nik_msgs"), "msg")
        for name in ("CubeDetection", "CubeDetections"):
            text = (share / f"{name}.msg").read_text()
            self._types.register(get_types_from_msg(text, f"ur5e_nik_msgs/msg/{name}"))
        for topic, kind in TOPICS.items():
            node.create_subscription(kind, topic, self._keep(self._connect(topic, kind)), DEPTH, raw=True)
        for topic in PICTURES:
            connection = self._connect(f"{topic}/compressed", CompressedImage)
            node.create_subscription(Image, topic, self._keep_picture(connection), PICTURE_DEPTH)

    def close(self) -> None:
        """End the recording, when the node's executor has."""
        self._writer.close()

    def _connect(self, topic: str, kind: Any) -> Connection:
        full = self._node.resolve_topic_name(topic)
        package = kind.__module__.split(".")[0]
        return self._writer.add_connection(full, f"{package}/msg/{kind.__name__}", typestore=self._types)

    def _keep(self, connection: Connection) -> Callable[[bytes], None]:
        return lambda data: self._writer.write(connection, self._node.get_clock().now().nanoseconds, data)

    def _keep_picture(self, connection: Connection) -> Callable[[Image], None]:
        def keep(message: Image) -> None:
            data = io.BytesIO()
            picture = to_picture(message.encoding, message.width, message.height, message.step, bytes(message.data))
            picture.save(data, "JPEG", quality=QUALITY)
            jpeg = CompressedImage(header=message.header, format="jpeg", data=data.getvalue())
            self._writer.write(connection, self._node.get_clock().now().nanoseconds, serialize_message(jpeg))

        return keep
