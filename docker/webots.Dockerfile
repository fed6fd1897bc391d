# ROS 2 Jazzy, Webots R2025a and the suite, built and tested. amd64 only, as Webots is. In the repository's folder:
#   docker build -f docker/webots.Dockerfile -t ur5e_nik:webots .
FROM osrf/ros:jazzy-desktop AS built

ARG WEBOTS_RELEASE=R2025a
ARG WEBOTS_DEB=webots_2025a_amd64.deb
ARG USER_ID=1000
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8

# Webots under Xvfb; x11vnc and noVNC show it in a browser.
ADD https://github.com/cyberbotics/webots/releases/download/${WEBOTS_RELEASE}/${WEBOTS_DEB} /tmp/webots.deb
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    /tmp/webots.deb \
    novnc \
    python3-venv \
    ros-jazzy-rmw-cyclonedds-cpp \
    websockify \
    x11vnc \
    xauth \
    xvfb \
 && rm -rf /tmp/webots.deb /var/lib/apt/lists/*

# The image's own user 1000 makes room for ours. USER is part of the path of Webots' sockets.
RUN userdel --remove ubuntu \
 && useradd --create-home --uid "${USER_ID}" --shell /bin/bash ros
ENV USER=ros WEBOTS_HOME=/usr/local/webots WEBOTS_OFFSCREEN=1 QTWEBENGINE_DISABLE_SANDBOX=1
WORKDIR /home/ros/suite
COPY --chown=ros . .

# Every package.xml is a list of apt packages; what apt does not have comes from pip.
RUN apt-get update \
 && rosdep update --rosdistro jazzy \
 && rosdep install --from-paths src --ignore-src -y \
 && rm -rf /var/lib/apt/lists/*
USER ${USER_ID}
RUN mkdir -p "$HOME/.config/Cyberbotics" \
 && cp docker/webots.conf "$HOME/.config/Cyberbotics/Webots-${WEBOTS_RELEASE}.conf"
# Built with the environment's Python, the nodes run with it and see what is in it.
RUN python3 -m venv --system-site-packages .venv \
 && .venv/bin/pip install --no-cache-dir -r docker/pip.txt
RUN . /opt/ros/jazzy/setup.bash \
 && . .venv/bin/activate \
 && python -m colcon build

# The tests also need torch; their stage is left behind, but for its word. The one that runs Webots is for the finished image.
FROM built AS tested
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN .venv/bin/pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch==2.13.0
RUN . /opt/ros/jazzy/setup.bash \
 && . .venv/bin/activate \
 && . install/local_setup.bash \
 && python -m colcon test --executor sequential --return-code-on-test-failure \
    --pytest-args --ignore=test/test_webots_system.py \
 && python -m colcon test-result --verbose | tee tested.txt

FROM built
COPY --from=tested --chown=ros /home/ros/suite/tested.txt .
# Containers have shared memory of their own: over UDP they hear each other whoever they are.
ENV FASTDDS_BUILTIN_TRANSPORTS=UDPv4 ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET
ENTRYPOINT ["docker/entrypoint.sh"]
HEALTHCHECK --interval=30s --timeout=30s --start-period=15m CMD ["docker/entrypoint.sh", "python", "docker/healthy.py"]
CMD ["ros2", "launch", "ur5e_nik_bringup", "sim.launch.py", "simulator:=webots"]
