#!/usr/bin/env bash
# Webots in a browser, at http://localhost:6080/vnc.html: a screen of its own, shown by x11vnc and noVNC.
set -euo pipefail
export DISPLAY=:1
unset WEBOTS_OFFSCREEN
Xvfb "$DISPLAY" -screen 0 1600x900x24 +extension GLX &
until [ -e /tmp/.X11-unix/X1 ]; do sleep 0.1; done
x11vnc -display "$DISPLAY" -forever -shared -nopw -localhost -quiet &
websockify --web /usr/share/novnc 6080 localhost:5900 &
exec ros2 launch ur5e_nik_bringup sim.launch.py simulator:=webots gui:=true "$@"
