# The suite with the embedded simulation and ROS 2 from pip: no apt repository of ROS, no Webots. In the repository's folder:
#   docker build -f docker/slim.Dockerfile -t ur5e_nik:slim .
FROM python:3.12-slim-bookworm

ARG USER_ID=1000
# A compiler for the interfaces; EGL and Mesa render the cameras without a GPU.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    g++ \
    libegl1 \
    libgl1-mesa-dri \
    libopengl0 \
    make \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid "${USER_ID}" --shell /bin/bash ros

USER ${USER_ID}
WORKDIR /home/ros/suite
COPY --chown=ros . .
RUN ./run setup

# Containers have shared memory of their own: over UDP they hear each other whoever they are.
ENV FASTDDS_BUILTIN_TRANSPORTS=UDPv4 ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET MUJOCO_GL=egl
ENTRYPOINT ["./run", "exec"]
HEALTHCHECK --interval=30s --timeout=30s --start-period=2m CMD ["./run", "exec", "python", "docker/healthy.py"]
CMD ["python", "-m", "ur5e_nik_bringup.starter"]
