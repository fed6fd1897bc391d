"""The executable of the simulated cell."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from types import FrameType

from ur5e_nik_mujoco import gl


def main() -> int:
    """Runs the cell until SIGINT or SIGTERM; 1 and one line where it cannot start."""
    stop = threading.Event()
    running = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()
        if not running.is_set():
            raise SystemExit(0)

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    try:
        backend = gl.choose_backend()
    except gl.NoRenderingError as error:
        print(f"sim: {error}", file=sys.stderr)
        return 1

    # After the signals, as they take a while; after the backend, as MuJoCo looks it up on import.
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    from ur5e_nik_mujoco.cell_node import CellNode
    from ur5e_nik_mujoco.parameters import ParameterError
    from ur5e_nik_mujoco.scene import SceneError
    from ur5e_nik_mujoco.viewer import ViewerError

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = CellNode()
    except (ParameterError, SceneError, ViewerError) as error:
        print(f"sim: {error}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1

    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin)
    thread.start()
    node.get_logger().info(f"ready, renders with {backend}")
    running.set()
    node.run(stop)
    executor.shutdown(timeout_sec=1.0)
    thread.join(timeout=1.0)
    # Python's end would hand them back to the system, whose answer is to kill.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
