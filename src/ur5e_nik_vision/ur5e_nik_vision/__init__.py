"""Position and yaw of coloured cubes from one calibrated overhead camera."""
