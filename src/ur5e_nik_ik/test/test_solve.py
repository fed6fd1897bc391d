"""The command `solve`: an answer for a person, a refusal in a line, and no traceback."""

import re
import subprocess
import sys

import numpy as np
import pytest

from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk
from ur5e_nik_ik.rotations import matrix_from_rpy, rotation_vector


def solve(*words):
    command = [sys.executable, "-m", "ur5e_nik_ik.solve", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def rows(text):
    """Every line of six numbers, in radians."""
    found = [re.findall(r"-?\d+\.\d{4}", line) for line in text.splitlines()]
    return np.deg2rad([[float(word) for word in line] for line in found if len(line) == 6])


def test_every_printed_posture_reaches_the_pose():
    run = solve(0.4, -0.1, 0.2, "--rpy", 170, 10, 30)
    assert run.returncode == 0, run.stderr
    joints = rows(run.stdout)
    assert len(joints) >= 2
    for pose in fk(joints, UR5E):
        assert pose[:3, 3] == pytest.approx([0.4, -0.1, 0.2], abs=1e-5)
        assert np.linalg.norm(rotation_vector(pose[:3, :3].T @ matrix_from_rpy(np.deg2rad([170, 10, 30])))) < 1e-5
    assert "by the network" in run.stdout


def test_the_solver_and_the_seed_are_those_asked_for():
    run = solve(0.4, 0.1, 0.2, "--solver", "closed_form", "--seed", 0, -60, -90, -90, -90, 0)
    assert run.returncode == 0, run.stderr
    assert "by the closed form" in run.stdout
    assert rows(run.stdout)[0, 2] < 0.0  # the seed's elbow


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((2, 0, 0.2), 1, "refused: unreachable: too far"),
        ((0.05, 0.0, 0.4), 1, "dead cylinder"),
        ((0.4, "nan", 0.2), 2, "'nan' is not a finite number"),
        ((0.4, 0.1), 2, "arguments are required: Z"),
        ((0.4, 0.1, 0.2, "--solver", "magic"), 2, "magic"),
        ((0.4, 0.1, 0.2, "--dh", "no.yaml"), 2, "no.yaml"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(words, code, told):
    run = solve(*words)
    assert run.returncode == code, run.stdout
    assert told in run.stderr
    assert "Traceback" not in run.stderr


def test_a_rotation_by_roll_pitch_and_yaw_is_about_the_fixed_axes():
    matrix = matrix_from_rpy(np.deg2rad([90.0, 0.0, 90.0]))
    assert matrix @ [0.0, 0.0, 1.0] == pytest.approx([1.0, 0.0, 0.0])
    assert matrix @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0])
