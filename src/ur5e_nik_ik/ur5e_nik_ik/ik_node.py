"""The node `ik`."""

import os
import signal
import sys


def main() -> int:
    """Serve until SIGINT or SIGTERM; 0 then, 1 when the node could not start."""
    # Loading takes a second or two: a signal ends that as quietly as the rest.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    # Before numpy: threads of a linear algebra library only get in the way of solves of microseconds.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

    import rclpy
    from rclpy.executors import ExternalShutdownException

    from ur5e_nik_ik.ik_service import IkNode
    from ur5e_nik_ik.parameters import ParameterError

    try:
        rclpy.init()
        rclpy.spin(IkNode())
    except ExternalShutdownException:
        pass
    except (ParameterError, RuntimeError) as error:
        print(f"ik: {error}", file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
