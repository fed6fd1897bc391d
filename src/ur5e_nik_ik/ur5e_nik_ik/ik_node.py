"""The node `ik`."""

import os
import signal
import sys
import threading
from types import FrameType


def main() -> int:
    """Serve until SIGINT or SIGTERM; 0 then, 1 when the node could not start."""
    loaded, stop = threading.Event(), threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        # Loading takes a second or two and leaves nothing to clean up.
        if not loaded.is_set():
            os._exit(0)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    # Before numpy: threads of a linear algebra library only get in the way of solves of microseconds.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    from ur5e_nik_ik.ik_service import IkNode
    from ur5e_nik_ik.parameters import ParameterError

    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = IkNode()
    except (ParameterError, RuntimeError) as error:
        print(f"ik: {error}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # Python runs signal handlers in the main thread only, and not while it waits in the middleware.
    spinning = threading.Thread(target=executor.spin)
    spinning.start()
    loaded.set()
    node.get_logger().info(node.description)
    stop.wait()
    executor.shutdown()
    # Python's end would hand them back to the system, whose answer is to kill.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    spinning.join()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
