"""The benchmark: it judges by our FK, counts what it says, and its command writes what it prints."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from poses import random_joints

torch = pytest.importorskip("torch", reason="torch is not installed; the benchmark's reference network needs it")

from ur5e_nik_ik.benchmark.guarantees import hopeless_targets, jacobian_error  # noqa: E402
from ur5e_nik_ik.benchmark.ours import eager_model, load_networks  # noqa: E402
from ur5e_nik_ik.benchmark.protocol import Contestant, measure, tool_down_targets  # noqa: E402
from ur5e_nik_ik.benchmark.urdf import urdf  # noqa: E402
from ur5e_nik_ik.closed_form import closed_form  # noqa: E402
from ur5e_nik_ik.dh import DH_SETS, UR5E  # noqa: E402
from ur5e_nik_ik.kinematics import fk  # noqa: E402
from ur5e_nik_ik.reachability import Reach, reachability  # noqa: E402

TARGETS, WARM_UP = tool_down_targets(20, 0), tool_down_targets(5, 1)


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "ur5e_nik_ik.benchmark", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "150"},
    )


def contestant(solve):
    return Contestant("test", np.copy, solve, np.asarray)


def exact(target):
    joints, valid = closed_form(target, UR5E)
    return joints[valid]


def test_a_wrong_answer_beside_right_ones_is_no_success():
    right = measure(contestant(exact), WARM_UP, TARGETS, 2, UR5E)
    assert right.success.all()
    assert right.times.shape == (2, 20)
    wrong = measure(contestant(lambda t: np.vstack([exact(t), exact(t)[:1] + 0.01])), WARM_UP, TARGETS, 1, UR5E)
    assert not wrong.success.any()
    assert wrong.summary()["pos_err_mm"]["max"] > 1.0


def test_no_answer_is_no_success_and_has_no_error():
    none = measure(contestant(lambda target: np.empty((0, 6))), WARM_UP, TARGETS, 1, UR5E)
    assert not none.success.any()
    assert none.summary()["pos_err_mm"] == {"mean": None, "p99": None, "max": None}


def test_warm_up_calls_are_on_other_targets_and_not_counted():
    calls = []
    score = measure(contestant(lambda t: calls.append(t) or exact(t)), WARM_UP, TARGETS, 3, UR5E)
    assert np.array_equal(calls[:5], WARM_UP)
    assert np.array_equal(calls[5:25], TARGETS)
    assert len(calls) == 5 + score.times.size


def test_hopeless_targets_have_no_answer():
    targets = hopeless_targets(800, 0, UR5E)
    rigid = np.isfinite(targets).all(axis=(1, 2))
    product = targets[rigid, :3, :3] @ targets[rigid, :3, :3].mT
    rigid[rigid] = np.isclose(np.linalg.det(targets[rigid, :3, :3]), 1.0) & np.isclose(product, np.eye(3)).all((1, 2))
    assert 0.3 < rigid.mean() < 0.5
    reaches = {reachability(target, UR5E).reach for target in targets[rigid]}
    assert reaches == {Reach.TOO_FAR, Reach.DEAD_CYLINDER}


def test_the_jacobian_agrees_with_differences():
    assert jacobian_error(200, 0, UR5E) <= 1e-9


@pytest.mark.parametrize("dh", DH_SETS.values(), ids=DH_SETS)
def test_the_urdf_is_the_dh_chain(dh):
    q = random_joints(10, 0)
    joints = ElementTree.fromstring(urdf(dh)).findall("joint")
    assert [joint.get("type") for joint in joints] == ["revolute"] * 6 + ["fixed"]
    for row in q:
        pose = np.eye(4)
        for joint, angle in zip(joints, [*row, 0.0], strict=True):
            xyz, (roll, pitch, yaw) = (
                [float(value) for value in joint.find("origin").get(name).split()] for name in ("xyz", "rpy")
            )
            assert pitch == 0.0
            origin = turn(2, yaw) @ turn(0, roll)
            origin[:3, 3] = xyz
            pose = pose @ origin @ turn(2, angle)
        assert pose == pytest.approx(fk(row, dh), abs=1e-12)


def turn(axis, angle):
    matrix = np.eye(4)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix[[i, j], [i, j]] = math.cos(angle)
    matrix[i, j], matrix[j, i] = -math.sin(angle), math.sin(angle)
    return matrix


def test_torch_and_the_kernel_run_the_same_network():
    network = load_networks(UR5E)["reference"]
    points = torch.tensor(TARGETS[:, :3, 3], dtype=torch.float32)
    joints = eager_model(network)(points).detach().numpy()
    assert joints == pytest.approx(network.predict(TARGETS, np.zeros(20, int)), abs=2e-5)


def test_the_command_prints_and_writes_the_same(tmp_path):
    out = tmp_path / "bench.json"
    run = bench("--quick", "--out", str(out))
    assert run.returncode == 0, run.stdout + run.stderr
    result = json.loads(out.read_text())
    assert result["targets"] == 20
    assert result["machine"]["cores"] >= 1
    for name, score in result["solvers"].items():
        assert f"{score['median_us']:.2f}" in run.stdout, name
        assert score["median_us"] <= score["p99_us"]
        if "verified" in name:
            assert score["success"] == 1.0
            assert score["pos_err_mm"]["max"] <= 1e-3
    assert all(promise["kept"] for promise in result["guarantees"].values())
    assert min(result["batch"]["solves_per_s"].values()) > 0
    assert set(result["solve_ik"]) == {"1", "4"}
    assert (tmp_path / "bench.png").stat().st_size > 10_000


def test_a_killed_benchmark_leaves_no_node_behind():
    # It would answer for the nodes of whoever takes its domain next.
    code = "from ur5e_nik_ik.benchmark.round_trip import round_trip; round_trip(10**9)"
    run = subprocess.Popen([sys.executable, "-c", code])
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    within(30.0, lambda: len(children.read_text().split()) >= 2)  # the node and a client
    left = [Path(f"/proc/{child}") for child in children.read_text().split()]
    run.kill()
    run.wait()
    within(10.0, lambda: not any(process.exists() for process in left))


def within(seconds, done):
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--targets", "0"], "'0' is not a whole number from 10 to 100,000"),
        (["--targets", "many"], "'many' is not a whole number"),
        (["--only", "nobody"], "no solver's name contains 'nobody'"),
        (["--out", "/proc/no/bench.json"], "/proc/no"),
    ],
)
def test_bad_options_are_told_in_one_line(arguments, words):
    run = bench(*arguments)
    assert run.returncode != 0
    assert words in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr
