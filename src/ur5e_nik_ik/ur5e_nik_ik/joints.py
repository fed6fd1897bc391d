"""The six arm joints in DH order: names, limits, speeds."""

import math

import numpy as np

JOINT_NAMES = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)

# Symmetric: every joint turns from -limit to +limit [rad].
JOINT_LIMITS = np.array([2.0, 2.0, 1.0, 2.0, 2.0, 2.0]) * math.pi
JOINT_LIMITS.flags.writeable = False

# Greatest speed of every joint [rad/s].
JOINT_SPEEDS = np.full(6, math.pi)
JOINT_SPEEDS.flags.writeable = False

# The default seed: tool down in front of the arm, elbow up [rad].
REST_POSTURE = np.deg2rad([0.0, -90.0, 90.0, -90.0, -90.0, 0.0])
REST_POSTURE.flags.writeable = False
