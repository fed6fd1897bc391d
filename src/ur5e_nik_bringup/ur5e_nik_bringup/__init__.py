"""Pick and place with a UR5e over ROS 2: the task, its launch files and its demo."""
