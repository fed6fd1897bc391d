"""The node `view`: a page for a browser that shows, live, what the camera sees, the arm and what the task does."""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import signal
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

import rclpy
from aiohttp import WSMsgType, web
from ament_index_python.packages import get_package_share_directory
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import IntegerRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image, JointState

from ur5e_nik_bringup.recorder import to_picture

PICTURES = ("debug_image", "overview/image_color")  # in the page's order
PERIOD = 0.1  # between two looks of a page (wall time) [s]
QUALITY = 80  # of JPEG
STORY = 14  # lines that the page shows of what the task did


class ViewError(Exception):
    """Why there is no page, in one line."""


class ViewNode(Node):
    """Hears what a page shows. Pictures only while somebody looks, as a simulation renders them for listeners alone."""

    def __init__(self) -> None:
        super().__init__("view")
        ports = [IntegerRange(from_value=0, to_value=65535, step=1)]
        self.declare_parameter(
            "port",
            8080,
            ParameterDescriptor(description="TCP port of the page; 0: a free one", integer_range=ports, read_only=True),
        )
        self.declare_parameter(
            "host",
            "127.0.0.1",
            ParameterDescriptor(
                description="address it listens on; 0.0.0.0 shows it to the network, to whoever asks", read_only=True
            ),
        )
        self.pictures: dict[str, Image] = {}
        self._joints: list[tuple[str, float | None]] = []
        self._task = DiagnosticStatus()
        self._story: deque[tuple[float, str, str]] = deque(maxlen=STORY)
        self._lookers = 0
        self._eyes: list[Any] = []
        self._task_name = f"{self.get_namespace().rstrip('/')}/task"
        self.create_subscription(DiagnosticArray, "diagnostics", self._on_diagnostics, 10)
        self.create_subscription(JointState, "ur5e/joint_states", self._on_joint_states, 1)

    @property
    def state(self) -> dict[str, Any]:
        """What a page shows beside the pictures: angles [rad], times in ROS time [s]."""
        values = {pair.key: pair.value for pair in self._task.values}
        return {
            "time": self._now(),
            "phase": values.get("phase", "idle" if self._task.name else ""),
            "message": self._task.message,
            "failed": self._task.level != DiagnosticStatus.OK,
            "placed": int(values["placed"]) if "placed" in values else None,
            "joints": self._joints,
            "story": list(self._story),
        }

    def look(self, more: int) -> None:
        """One looker more (1), or one less (-1)."""
        self._lookers += more
        assert self.executor
        self.executor.create_task(self._open_eyes if self._lookers else self._close_eyes)

    def _open_eyes(self) -> None:
        if not self._eyes:
            self._eyes = [self.create_subscription(Image, topic, self._keep(topic), 1) for topic in PICTURES]

    def _close_eyes(self) -> None:
        for eye in self._eyes:
            self.destroy_subscription(eye)
        self._eyes = []
        self.pictures = {}

    def _keep(self, topic: str) -> Any:
        return lambda message: self.pictures.update({topic: message})

    def _on_joint_states(self, message: JointState) -> None:
        # JSON knows no NaN.
        angles = [angle if math.isfinite(angle) else None for angle in message.position]
        self._joints = list(zip(message.name, angles, strict=False))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name != self._task_name:
                continue
            news = status.message != self._task.message
            self._task = status
            if news:
                self._story.appendleft((self._now(), self.state["phase"], status.message))

    def _now(self) -> float:
        return self.get_clock().now().nanoseconds * 1e-9


class Page:
    """The page's server: `/` is the page, `/live` a WebSocket that tells states as JSON and pictures as JPEG.

    A picture's first byte is its number in `PICTURES`.
    """

    def __init__(self, node: ViewNode) -> None:
        self._node = node
        self._html = Path(get_package_share_directory("ur5e_nik_bringup"), "web", "view.html").read_text()

    async def serve(self, stop: threading.Event) -> None:
        """Until ``stop``. Raises ViewError when the port cannot be had."""
        application = web.Application()
        application.add_routes([web.get("/", self._on_page), web.get("/live", self._on_live)])
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        host, port = (self._node.get_parameter(name).value for name in ("host", "port"))
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            await runner.cleanup()
            raise ViewError(
                f"{host}:{port} cannot be listened on ({error.strerror}); choose another port, or 0 for a free one"
            ) from None
        self._node.get_logger().info(f"look at http://{host}:{runner.addresses[0][1]}")
        while not stop.is_set():
            await asyncio.sleep(PERIOD)
        await runner.cleanup()

    async def _on_page(self, _: web.Request) -> web.Response:
        return web.Response(text=self._html, content_type="text/html")

    async def _on_live(self, request: web.Request) -> web.StreamResponse:
        # A page from elsewhere that is open in the same browser has no business here.
        if request.headers.get("Origin", f"http://{request.host}") != f"http://{request.host}":
            raise web.HTTPForbidden(text="only the page of this server may look")
        socket = web.WebSocketResponse(heartbeat=10.0, compress=False)  # JPEG is compressed already
        await socket.prepare(request)
        self._node.look(1)
        telling = asyncio.create_task(self._tell(socket))
        try:
            async for message in socket:  # a page says nothing; the loop ends with the connection
                if message.type is WSMsgType.ERROR:
                    break
        finally:
            telling.cancel()
            self._node.look(-1)
        return socket

    async def _tell(self, socket: web.WebSocketResponse) -> None:
        shown: dict[str, Image] = {}
        with contextlib.suppress(ConnectionError):
            while True:
                await socket.send_json(self._node.state)
                for number, topic in enumerate(PICTURES):
                    picture = self._node.pictures.get(topic)
                    if picture is not None and shown.get(topic) is not picture:
                        shown[topic] = picture
                        with contextlib.suppress(ValueError):  # an encoding that cannot be shown
                            await socket.send_bytes(bytes([number]) + await asyncio.to_thread(_jpeg, picture))
                await asyncio.sleep(PERIOD)


def _jpeg(message: Image) -> bytes:
    """Raises ValueError for a picture that is no colour picture, or too short."""
    data = io.BytesIO()
    picture = to_picture(message.encoding, message.width, message.height, message.step, bytes(message.data))
    picture.save(data, "JPEG", quality=QUALITY)
    return data.getvalue()


def main() -> int:
    """Run the node until SIGINT or SIGTERM; 0 then, 1 with one line when it could not start."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = ViewNode()
    except (ParameterException, RuntimeError) as refused:
        print(f"view: {refused}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinning = threading.Thread(target=_spin, args=(executor,), daemon=True)
    spinning.start()
    try:
        asyncio.run(Page(node).serve(stop))
    except ViewError as error:
        print(f"view: {error}", file=sys.stderr)
        return 1
    finally:
        # Python's end would hand them back to the system, whose answer is to kill.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        executor.shutdown(timeout_sec=0.5)
        spinning.join(timeout=0.5)
        rclpy.try_shutdown()
    return 0


def _spin(executor: SingleThreadedExecutor) -> None:
    with contextlib.suppress(ExternalShutdownException):
        executor.spin()


if __name__ == "__main__":
    sys.exit(main())
