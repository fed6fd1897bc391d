"""A UR5e pick-and-place cell in MuJoCo, behind the ROS interfaces of the real one."""
