"""Training of the networks: the only part of this package, with torch_kinematics, that needs torch."""
