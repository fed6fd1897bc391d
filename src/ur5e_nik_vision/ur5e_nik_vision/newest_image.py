"""A subscription to pictures that always gives the newest one, whatever their publishers offer."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import Image

MATCH_PERIOD = 0.5


def newest(reliability: ReliabilityPolicy) -> QoSProfile:
    """Of messages that queue up only the last is kept."""
    return QoSProfile(depth=1, reliability=reliability)


class NewestImage:
    """Reliable while every publisher is reliable, else best effort.

    Best effort alone would work with both, but a picture travels in many fragments, and without
    repeats most pictures of a reliable publisher arrive incomplete and are dropped.
    """

    def __init__(self, node: Node, topic: str, callback: Callable[[Image], None]) -> None:
        self._node = node
        self._topic = topic
        self._callback = callback
        self._reliability = self._offered()
        self._subscription = self._subscribe()
        node.create_timer(MATCH_PERIOD, self._match, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _offered(self) -> ReliabilityPolicy:
        publishers = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(self._topic))
        reliable = [info.qos_profile.reliability == ReliabilityPolicy.RELIABLE for info in publishers]
        return ReliabilityPolicy.RELIABLE if reliable and all(reliable) else ReliabilityPolicy.BEST_EFFORT

    def _subscribe(self) -> Subscription:
        return self._node.create_subscription(Image, self._topic, self._callback, newest(self._reliability))

    def _match(self) -> None:
        offered = self._offered()
        if offered != self._reliability:
            self._node.destroy_subscription(self._subscription)
            self._reliability = offered
            self._subscription = self._subscribe()
