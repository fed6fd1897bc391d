"""Healthy: the task's status service answers, and the simulation's clock goes on."""

import sys

import rclpy
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

rclpy.init()
node = rclpy.create_node("healthy")
ticks = []
node.create_subscription(Clock, "/clock", ticks.append, 10)
client = node.create_client(Trigger, "/task/status")
if not client.wait_for_service(10.0):
    sys.exit("the task's status service is not there")
answer = client.call_async(Trigger.Request())
rclpy.spin_until_future_complete(node, answer, timeout_sec=5.0)
if not answer.done() or not answer.result().success:
    sys.exit("the task does not answer")
for _ in range(50):
    if len(ticks) > 1:
        sys.exit(0)
    rclpy.spin_once(node, timeout_sec=0.1)
sys.exit("the clock stands still")
