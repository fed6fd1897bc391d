"""What `./run eval` measures against the simulation's ground truth, a module each."""
