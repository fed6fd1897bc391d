"""The node that turns camera pictures into the position and yaw of the cube to pick."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable, Mapping
from types import MappingProxyType

import cv2
import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped
from numpy.typing import NDArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header

from ur5e_nik_msgs.msg import CubeDetections

from . import messages, overlay, parameters
from .calibration import Calibration
from .camera import Lens
from .detection import NOWHERE, Cube, Detection, Region, find_cubes, watches
from .errors import CalibrationError, ImageError, VisionError
from .image_conversion import to_bgr
from .newest_image import NewestImage, newest
from .selection import Selector

STALE_AFTER = 2.0
LOG_PERIOD = 5.0


class VisionNode(Node):
    """Publishes the chosen cube of every picture, and nothing for a picture that shows none."""

    def __init__(self) -> None:
        super().__init__("vision")
        parameters.declare(self)
        self._settings = parameters.read(self._values())
        self._lens: Lens | None = None
        self._last_info: tuple[object, ...] = ()
        self._scaled: Calibration | None = None
        self._selector = Selector()
        self._pictures = 0
        self._tell(DiagnosticStatus.STALE, "no picture yet")
        self._last_picture = time.monotonic()
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._use_parameters)

        # The first conversion loads a library; better now than when the first picture is here.
        to_bgr(Image(width=1, height=1, encoding="bgr8", step=3, data=bytes(3)))
        self._position_publisher = self.create_publisher(PointStamped, "cube_position", 10)
        self._pose_publisher = self.create_publisher(PoseStamped, "cube_pose", 10)
        self._detections_publisher = self.create_publisher(CubeDetections, "cube_detections", 10)
        self._debug_publisher = self.create_publisher(Image, "debug_image", 1)
        # The task listens to this node alone; tools gather every node's.
        self._status_publishers = [
            self.create_publisher(DiagnosticArray, topic, 10) for topic in ("vision_status", "diagnostics")
        ]
        self._images = NewestImage(self, "camera/image_color", self._on_image)
        best_effort = newest(ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(CameraInfo, "camera/camera_info", self._on_info, best_effort)
        self._status_timer = self.create_timer(
            1 / self._settings.status_rate,
            self._publish_status,
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )

    def _values(self) -> dict[str, object]:
        names = self.list_parameters([], 0).names
        return {name: self.get_parameter(name).value for name in names}

    def _check_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            parameters.read({**self._values(), **{change.name: change.value for change in changes}})
        except VisionError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _use_parameters(self, _: list[Parameter]) -> None:
        self._settings = parameters.read(self._values())
        self._scaled = None
        self._status_timer.timer_period_ns = round(1e9 / self._settings.status_rate)

    def _on_info(self, info: CameraInfo) -> None:
        content = (info.width, info.height, *info.k, *info.d, info.distortion_model)
        if content == self._last_info:
            return
        self._last_info = content
        self._scaled = None
        try:
            self._lens = Lens.from_camera_info(info.width, info.height, info.k, info.d, info.distortion_model)
        except CalibrationError as error:
            self._lens = None
            self.get_logger().warning(
                f"camera_info is not used: {error}; the calibration file's lens is", throttle_duration_sec=LOG_PERIOD
            )

    def _on_image(self, message: Image) -> None:
        began = time.monotonic()
        self._last_picture = began
        self._pictures += 1
        try:
            picture = to_bgr(message)
        except ImageError as error:
            self._refuse(f"picture refused: {error}")
            return
        height, width, _ = picture.shape
        try:
            calibration = self._view(width, height)
        except CalibrationError as error:
            reason = str(error)
            self._refuse(reason)
            self._publish_debug(message, lambda: overlay.draw_notice(picture, reason))
            return
        settings = self._settings
        detection = find_cubes(picture, calibration, settings.colours, settings.detector)
        chosen = self._selector.choose(detection.cubes)
        header = Header(stamp=message.header.stamp, frame_id=calibration.frame_id)
        if chosen is not None:
            point, pose = messages.stamped(header, chosen)
            self._position_publisher.publish(point)
            self._pose_publisher.publish(pose)
        self._detections_publisher.publish(
            messages.detections(header, detection, chosen, settings.names, self._watched(calibration))
        )
        self._report(detection, chosen, message, 1e3 * (time.monotonic() - began))
        self._publish_debug(
            message,
            lambda: overlay.draw(picture, detection, chosen, settings.names, calibration, settings.detector),
        )

    def _watched(self, calibration: Calibration) -> Region:
        """The watched region, or zeros where the picture does not show all of it."""
        detector = self._settings.detector
        return detector.watch_region if watches(calibration, detector) else NOWHERE

    def _view(self, width: int, height: int) -> Calibration:
        """The calibration for pictures of one size, with the live lens if there is one."""
        if self._scaled is None or self._scaled.size != (width, height):
            scaled = self._settings.calibration.scaled(width, height)
            if self._lens is not None:
                scaled = scaled.with_lens(self._lens.scaled(width, height))
            self._scaled = scaled
        return self._scaled

    def _publish_debug(self, message: Image, draw: Callable[[], NDArray[np.uint8]]) -> None:
        if self._debug_publisher.get_subscription_count() == 0:
            return
        picture = draw()
        debug = Image(header=message.header, encoding="bgr8")
        debug.height, debug.width, _ = picture.shape
        debug.step = 3 * debug.width
        # rclpy takes an array as it is, but checks bytes one by one.
        debug.data = array("B", picture.tobytes())
        self._debug_publisher.publish(debug)

    def _report(self, detection: Detection, chosen: Cube | None, message: Image, took: float) -> None:
        reasons = [rejection.reason for rejection in detection.rejections]
        if chosen is not None:
            x, y, _ = chosen.position
            level, text = DiagnosticStatus.OK, f"{chosen.colour} cube at x {x:.4f}, y {y:.4f}"
        else:
            level = DiagnosticStatus.WARN
            text = f"no {self._settings.names} cube: {reasons[0] if reasons else messages.nothing(detection)}"
        values = {
            "picture": f"{message.width} x {message.height} {message.encoding}",
            "frame_ms": f"{took:.2f}",
            "cubes": str(len(detection.cubes)),
            "watched": str(len(detection.watched)),
        }
        self._tell(level, text, values | {f"refused {i}": reason for i, reason in enumerate(reasons, 1)})

    def _refuse(self, reason: str) -> None:
        self._tell(DiagnosticStatus.ERROR, reason)
        self.get_logger().error(reason, throttle_duration_sec=LOG_PERIOD)

    def _tell(self, level: bytes, message: str, values: Mapping[str, str] = MappingProxyType({})) -> None:
        """Keep what the next message on vision_status says."""
        values = {"pictures": str(self._pictures), **values}
        self._status = DiagnosticStatus(
            name=self.get_fully_qualified_name(),
            hardware_id="camera",
            level=level,
            message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )

    def _publish_status(self) -> None:
        quiet = time.monotonic() - self._last_picture
        if self._pictures and quiet > STALE_AFTER:
            self._tell(DiagnosticStatus.STALE, f"no picture for {quiet:.0f} s")
        report = DiagnosticArray(status=[self._status])
        report.header.stamp = self.get_clock().now().to_msg()
        for publisher in self._status_publishers:
            publisher.publish(report)


def main() -> None:
    """Run the node until it is told to stop; a parameter that cannot be used ends it with status 1."""
    # Ctrl-C reaches a launched node twice, from the terminal and from launch; a flag takes any number of them.
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    # Small pictures: threads cost more than they give, and the other nodes need the cores.
    cv2.setNumThreads(1)
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = VisionNode()
    except (VisionError, ParameterException, RuntimeError) as error:
        print(f"vision: {error}", file=sys.stderr, flush=True)
        # The middleware, taken down right after its start, was seen to hang.
        os._exit(1)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stop.is_set():
        executor.spin_once(timeout_sec=0.1)
    # Python's end would hand them back to the system, whose answer is to kill.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
