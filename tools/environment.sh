# Sourced by ./run and its tools: the environment of the nodes. Needs ROOT; makes nothing.
UNDERLAY=/opt/ros/jazzy
VENV=$ROOT/.venv
[ -f "$UNDERLAY/setup.bash" ] && UR5E_NIK_ROS="ROS 2 from $UNDERLAY" || UR5E_NIK_ROS="ROS 2 from pip in .venv"
export UR5E_NIK_ROS

set +u # the setup files of ROS read variables that may be unset
if [ -f "$UNDERLAY/setup.bash" ]; then
  source "$UNDERLAY/setup.bash"
elif [ -x "$VENV/bin/python" ]; then
  # The wheels would restart every Python to set these two.
  libraries=$(printf '%s:' "$VENV"/lib/python3*/site-packages/ros_*.libs)
  export LD_LIBRARY_PATH=$VENV/lib:${libraries%:}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
  export AMENT_PREFIX_PATH=$VENV CMAKE_PREFIX_PATH=$VENV ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
  export RMW_IMPLEMENTATION=${RMW_IMPLEMENTATION:-rmw_fastrtps_cpp}
fi
export VIRTUAL_ENV=$VENV PATH=$VENV/bin:$PATH
[ -f "$VENV/underlay/local_setup.bash" ] && source "$VENV/underlay/local_setup.bash"
[ -f "$ROOT/install/local_setup.bash" ] && source "$ROOT/install/local_setup.bash"
set -u

# Nothing leaves this machine unless the user says so.
export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}
# Small matrices on few cores: more threads only fight.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
export PYTHONUNBUFFERED=1
