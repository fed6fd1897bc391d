"""The demo's eyes in ROS: watches the cameras while the goal is done."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import Image

from ur5e_nik_bringup.cell_client import CellClient, Listener, Outcome
from ur5e_nik_bringup.recorder import Recorder, to_picture
from ur5e_nik_msgs.srv import SolveIK

if TYPE_CHECKING:
    from ur5e_nik_bringup.bag import Bag


class Observer(CellClient):
    """A ROS node of the demo, as a context.

    alive: raises when the system has ended. recording: the folder that all topics go to, if any.
    """

    def __init__(self, alive: Callable[[], None], namespace: str = "", recording: Path | None = None) -> None:
        super().__init__("demo", alive, namespace)
        self._recording = recording
        self._bag: Bag | None = None
        self._lock = threading.Lock()
        self._film = Recorder()
        self._annotated: Image | None = None
        self._keep_annotated = True
        self._timings: dict[str, float] = {}

    def _subscribe(self) -> None:
        self._node.create_subscription(Image, "overview/image_color", self._on_overview, 10)
        self._node.create_subscription(Image, "debug_image", self._on_annotated, 1)
        self._node.create_subscription(DiagnosticArray, "diagnostics", self._on_diagnostics, 10)
        if self._recording:
            self._bag = self._bag_of(self._recording)

    def _bag_of(self, path: Path) -> Bag:
        try:
            from ur5e_nik_bringup.bag import Bag
        except ModuleNotFoundError as missing:
            raise RuntimeError(
                f"--record needs rosbags, which is not installed ({missing}): pip install rosbags"
            ) from None
        return Bag(self._node, path)

    def _finish(self) -> None:
        if self._bag:
            self._bag.close()

    def _neighbours(self) -> dict[str, Callable[[], bool]]:
        return {**super()._neighbours(), "debug_image of node vision": lambda: self._annotated is not None}

    def measure_solve_ik(self, count: int) -> float:
        """Median round trip of /solve_ik [ms], one client, one tool-down target."""
        request = SolveIK.Request()
        request.target.header.frame_id = "base_link"
        request.target.pose.position.x = 0.45
        request.target.pose.position.z = 0.25
        request.target.pose.orientation.x, request.target.pose.orientation.w = 1.0, 0.0
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            self.result(self._solve.call_async(request))
            times.append(1000 * (time.perf_counter() - begin))
        return statistics.median(times)

    def pick_and_place(self, count: int, progress: Listener) -> Outcome:
        """Send one goal and follow it; the picture of before the first move is kept."""
        self._keep_annotated = False
        return super().pick_and_place(count, progress)

    def save_picture(self, path: Path) -> bool:
        """Write the annotated camera picture that was seen before the first move."""
        with self._lock:
            if self._annotated is None:
                return False
            _picture(self._annotated).save(path)
        return True

    def save_film(self, path: Path, period: float, rate: float) -> bool:
        """Write the animation of the run; see Recorder.save."""
        with self._lock:
            return self._film.save(path, period, rate)

    def timings(self) -> dict[str, float]:
        """What the nodes say of their own speed: milliseconds by name."""
        return dict(self._timings)

    def _on_overview(self, message: Image) -> None:
        seconds = message.header.stamp.sec + message.header.stamp.nanosec / 1e9
        phase, cube = self._phase
        caption = f"cube {cube + 1}: {phase}" if phase else ""
        with self._lock:
            self._film.add(seconds, _picture(message), f"{seconds:6.1f} s   {caption}")

    def _on_annotated(self, message: Image) -> None:
        if self._keep_annotated:
            with self._lock:
                self._annotated = message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for pair in status.values:
                if pair.key.endswith("_ms"):
                    self._timings[f"{status.name} {pair.key.removesuffix('_ms')}"] = float(pair.value)


def _picture(message: Image) -> Any:
    return to_picture(message.encoding, message.width, message.height, message.step, bytes(message.data))
