"""The whole job over real DDS: the demo's command, in a process of its own, and its bad inputs."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import rclpy
from domain_coordinator import domain_id
from domain_coordinator.impl import PORT_BASE
from PIL import Image
from rclpy.context import Context
from rclpy.node import Node
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from ur5e_nik_bringup.settings import Settings
from ur5e_nik_bringup.system import places_of

LAYOUT = Path(__file__).resolve().parents[1] / "config" / "foxglove_layout.json"
DEMO = [sys.executable, "-m", "ur5e_nik_bringup.demo"]


def clean_environment():
    return {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}


def demo(*arguments, environment=None):
    return subprocess.run(
        [*DEMO, *arguments], env=environment or clean_environment(), capture_output=True, text=True, timeout=300
    )


def test_a_cube_goes_from_the_camera_to_its_place(tmp_path):
    run = demo("--cubes", "1", "--seed", "1", "--speed", "0", "--record", "--out", str(tmp_path))
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
    assert_recorded(tmp_path / "recording")


def test_cubes_of_several_colours_are_sorted(tmp_path):
    run = demo("--cubes", "4", "--colours", "blue,yellow", "--speed", "0", "--out", str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    picks = json.loads((tmp_path / "report.json").read_text())["picks"]
    places = {
        (place.x, place.y): colour
        for place, colour in zip(Settings().place_spots, places_of(["blue", "yellow"]), strict=True)
    }
    for row in picks:
        # The simulation's cubes have the colours in turn.
        assert row["colour"] == ("blue", "yellow")[row["cube"] % 2] == places[row["place"]["x"], row["place"]["y"]]


def assert_recorded(folder):
    types = get_typestore(Stores.ROS2_JAZZY)
    with Reader(folder) as bag:
        counts = {topic: info.msgcount for topic, info in bag.topics.items()}
        assert min(counts.values()) > 0, counts
        found = {topic: next(bag.messages(info.connections))[2] for topic, info in bag.topics.items()}
        assert bag.duration > 3e9
    states = types.deserialize_cdr(found["/ur5e/joint_states"], "sensor_msgs/msg/JointState")
    assert len(states.position) == len(states.name) == 7
    picture = types.deserialize_cdr(found["/camera/image_color/compressed"], "sensor_msgs/msg/CompressedImage")
    with Image.open(io.BytesIO(picture.data.tobytes())) as image:
        assert (image.format, image.size) == ("JPEG", (640, 480))
    (file,) = folder.glob("*.mcap")
    assert file.stat().st_size < 30e6
    # What the layout shows is there.
    shown = set(re.findall(r'"(/[a-z0-9_/]+)', LAYOUT.read_text()))
    assert shown
    assert shown <= set(counts)


def test_two_cells_in_one_domain_do_not_hear_each_other(tmp_path):
    with domain_id() as domain:
        pass
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    listener = Node("listener", context=context, enable_rosout=False, start_parameter_services=False)
    process = subprocess.Popen(
        [*DEMO, "--cells", "2", "--cubes", "1", "--out", str(tmp_path)],
        env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout))
    reader.start()
    links = {}
    while process.poll() is None:
        for topic, namespaces in heard(listener).items():
            links[topic] = links.get(topic, set()) | namespaces
        time.sleep(0.3)
    reader.join()
    listener.destroy_node()
    rclpy.shutdown(context=context)
    assert process.returncode == 0, "".join(lines)
    seeds = {json.loads((tmp_path / name / "report.json").read_text())["seed"] for name in ("cell_a", "cell_b")}
    assert seeds == {0, 1000}
    assert len(links) > 10
    assert set().union(*links.values()) == {"/cell_a", "/cell_b"}
    for topic, ends in links.items():
        assert topic.startswith(("/cell_a/", "/cell_b/")), topic
        assert ends <= {topic[: len("/cell_a")]}, (topic, ends)


def heard(node):
    """The namespaces of the publishers and subscribers of every topic of the cells; of those not known yet, none."""
    links = {}
    for topic, _ in node.get_topic_names_and_types():
        if topic not in ("/rosout", "/parameter_events"):
            ends = node.get_publishers_info_by_topic(topic) + node.get_subscriptions_info_by_topic(topic)
            links[topic] = {end.node_namespace for end in ends} - {"_NODE_NAMESPACE_UNKNOWN_"}
    return links


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cubes", "0"],
        ["--cubes", "99"],
        ["--seed", "x"],
        ["--colours", "red,pink"],
        ["--speed", "-1"],
        ["--out", "/proc/no"],
        ["--namespace", "1st"],
        ["--namespace", "a", "--cells", "2"],
        ["--view", "8080", "--cells", "2"],
        ["--view", "70000"],
    ],
)
def test_bad_input_ends_with_one_line(arguments):
    run = demo(*arguments)
    assert run.returncode != 0
    assert len(run.stderr.splitlines()) == 1, run.stderr
    assert arguments[0].lstrip("-") in run.stderr


def test_a_port_in_use_is_refused_before_anything_starts():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = demo("--view", str(taken.getsockname()[1]))
    assert run.returncode == 1
    assert run.stdout == ""
    (line,) = run.stderr.strip().splitlines()
    assert "cannot be listened on" in line


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
