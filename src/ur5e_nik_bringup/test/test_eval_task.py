"""The evaluations of the task: what they count, and their commands, quick, through the real nodes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from ur5e_nik_bringup.evaluation import soak, task
from ur5e_nik_bringup.evaluation.speed_limit import quickest, violations
from ur5e_nik_bringup.trajectory import Limits, joint_move

LIMITS = Limits(np.full(6, 1.5), np.full(6, 8.0), np.full(6, 100.0))
WAY = np.array([1.2, 0.3, 0.0, -0.6, 0.1, 0.0])


def evaluate(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
    command = [sys.executable, "-m", "ur5e_nik_bringup.evaluation", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_a_motion_inside_its_limits_is_no_violation_and_a_quicker_one_is():
    motion = joint_move(np.zeros(6), WAY, LIMITS)
    assert violations(motion, LIMITS) == 0
    for factor in (0.99, 0.8):
        assert violations(motion.slower(factor), LIMITS) == 1


def test_the_quickest_time_is_that_of_the_joint_with_the_longest_way():
    assert quickest(joint_move(np.zeros(6), WAY, LIMITS), LIMITS) == pytest.approx(1.2 / 1.5, rel=1e-6)


def test_memory_that_grows_after_the_first_eighth_is_told():
    findings = soak.Findings(times=[450.0 * (k + 1) for k in range(16)], cubes=[8] * 16, placed=[8] * 15 + [7])
    findings.memory = {"flat": [100.0] * 16, "grows": [100.0 + k for k in range(16)]}
    report = soak.build(findings, 10.0)
    assert report["growth_percent"]["flat"] == 0.0
    assert report["growth_percent"]["grows"] > 5.0
    kept = {promise.what: promise.kept for promise in soak.targets(report)}
    assert [kept[name] for name in kept if "flat" in name] == [True]
    assert [kept[name] for name in kept if "grows" in name] == [False]
    assert not kept["cubes placed"]


def test_the_task_in_one_scene(tmp_path):
    out = tmp_path / "task.json"
    run = evaluate("task", "--quick", "--out", str(out))
    report = json.loads(out.read_text())
    assert report["placed"] == report["cubes"] == task.QUICK_CUBES, run.stdout + run.stderr
    assert report["place_mm"]["mean"] <= 1.0
    assert report["yaw_deg"]["max"] <= 2.0
    assert report["limit_violations"] == 0
    assert report["contacts"] == 0
    assert report["net_vs_closed_form_mm"]["max"] <= 0.05
    assert set(report["answers"]) == {"network"}
    assert 0.0 < report["cycle_limit_s"] < report["cycle_s"]


def test_a_short_soak(tmp_path):
    out = tmp_path / "soak.json"
    run = evaluate("soak", "--quick", "--out", str(out))
    report = json.loads(out.read_text())
    assert report["placed"] == report["cubes"] > 0, run.stdout + run.stderr
    assert report["lost_messages"] == 0
    assert set(report["memory_mb"]) == {"sim", "ik", "vision", "task"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["task", "--cubes", "5"], "--cubes is 5, but must be a multiple of 4"),
        (["task", "--seed", "-1"], "--seed is -1"),
        (["soak", "--hours", "0"], "--hours is 0, but must be from 0.01"),
        (["soak", "--out", "/proc/no/soak.json"], "/proc/no"),
    ],
)
def test_bad_input_ends_with_one_line(arguments, words):
    run = evaluate(*arguments)
    assert run.returncode == 1
    (line,) = run.stderr.splitlines()
    assert words in line
