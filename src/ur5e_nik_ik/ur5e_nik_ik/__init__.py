"""Verified inverse kinematics of the UR5e. Poses are of tool0 in base_link, in metres and radians."""
