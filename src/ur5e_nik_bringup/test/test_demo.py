"""The whole job over real DDS: the demo's command, in a process of its own, and its bad inputs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from domain_coordinator.impl import PORT_BASE
from PIL import Image

DEMO = [sys.executable, "-m", "ur5e_nik_bringup.demo"]


def clean_environment():
    return {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}


def demo(*arguments, environment=None):
    return subprocess.run(
        [*DEMO, *arguments], env=environment or clean_environment(), capture_output=True, text=True, timeout=300
    )


def test_a_cube_goes_from_the_camera_to_its_place(tmp_path):
    run = demo("--cubes", "1", "--seed", "1", "--speed", "0", "--out", str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["placed"] == 1
    assert report["place_error_mm"]["max"] < 5.0
    assert report["detect_error_mm"]["max"] < 5.0
    assert sum(report["solver_counts"].values()) > 0
    with Image.open(tmp_path / "camera.png") as picture:
        assert picture.size == (640, 480)
        assert len(set(picture.get_flattened_data())) > 100
    with Image.open(tmp_path / "demo.webp") as film:
        assert film.n_frames > 5


@pytest.mark.parametrize(
    "arguments", [["--cubes", "0"], ["--cubes", "99"], ["--seed", "x"], ["--speed", "-1"], ["--out", "/proc/no"]]
)
def test_bad_input_ends_with_one_line(arguments):
    run = demo(*arguments)
    assert run.returncode != 0
    assert len(run.stderr.splitlines()) == 1, run.stderr
    assert arguments[0].lstrip("-") in run.stderr


def test_a_domain_in_use_is_refused():
    with socket.socket() as other_run:
        other_run.bind(("", PORT_BASE + 99))
        run = demo("--cubes", "1", environment={**clean_environment(), "ROS_DOMAIN_ID": "99"})
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1
    assert "99" in run.stderr


def children_of(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in listed.stdout.split()]


def gone(pids):
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.parametrize("victim", ["demo", "node"])
def test_a_kill_in_mid_run_leaves_one_line_and_no_orphan(tmp_path, victim):
    process = subprocess.Popen(
        [*DEMO, "--cubes", "1", "--speed", "0", "--out", str(tmp_path)],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if "all nodes are ready" in line:
            break
    nodes = children_of(process.pid)
    assert len(nodes) == 4
    os.kill(process.pid if victim == "demo" else nodes[1], signal.SIGINT if victim == "demo" else signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert len(errors.splitlines()) == 1, errors
    deadline = time.monotonic() + 10
    while not gone(nodes):
        assert time.monotonic() < deadline, "orphans are left"
        time.sleep(0.1)
