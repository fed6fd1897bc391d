#!/usr/bin/env bash
# Runs a command with ROS 2, the virtual environment and the workspace.
set -eo pipefail
suite=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source /opt/ros/jazzy/setup.bash
source "$suite/.venv/bin/activate"
source "$suite/install/local_setup.bash"
exec "$@"
