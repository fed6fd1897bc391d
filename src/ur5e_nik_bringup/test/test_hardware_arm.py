"""The calibrated arm: from the file that ur_calibration writes to the DH parameters that the IK node loads."""

import math

import numpy as np
import pytest
import yaml

from ur5e_nik_bringup.calibrated_arm import NOMINAL_A, NOMINAL_D, CalibratedArmError, read_kinematics
from ur5e_nik_ik.dh import UR5E, load_dh

# The nominal UR5e as ur_description has it.
NOMINAL = {
    "shoulder": (0, 0, 0.1625, 0, 0, 0),
    "upper_arm": (0, 0, 0, math.pi / 2, 0, 0),
    "forearm": (-0.425, 0, 0, 0, 0, 0),
    "wrist_1": (-0.3922, 0, 0.1333, 0, 0, 0),
    "wrist_2": (0, -0.0997, 0, math.pi / 2, 0, 0),
    "wrist_3": (0, 0.0996, 0, math.pi / 2, math.pi, math.pi),
}


def write(path, links):
    names = ("x", "y", "z", "roll", "pitch", "yaw")
    content = {"kinematics": {link: dict(zip(names, map(float, n), strict=True)) for link, n in links.items()}}
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_nominal_file_is_the_nominal_arm(tmp_path):
    arm = read_kinematics(write(tmp_path / "k.yaml", NOMINAL))
    assert arm.d == pytest.approx(NOMINAL_D)
    assert arm.a == pytest.approx(NOMINAL_A)
    assert (UR5E.d, UR5E.a) == (NOMINAL_D, NOMINAL_A)
    assert arm.deviation < 1e-9


def test_a_calibrated_arm_keeps_its_lengths_and_tells_what_is_lost(tmp_path):
    links = {name: list(numbers) for name, numbers in NOMINAL.items()}
    links["forearm"][0] -= 0.0007
    links["wrist_1"][2] += 0.0004
    links["wrist_2"][3] += 0.001  # a tilt that DH parameters of a UR arm cannot have
    arm = read_kinematics(write(tmp_path / "k.yaml", links))
    assert arm.a[1] == pytest.approx(-0.4257)
    assert arm.d[3] == pytest.approx(0.1337)
    assert 1e-5 < arm.deviation < 1e-3


def test_the_ik_node_reads_what_is_written(tmp_path):
    arm = read_kinematics(write(tmp_path / "k.yaml", NOMINAL))
    arm.write(tmp_path / "my_arm.yaml")
    dh = load_dh(tmp_path / "my_arm.yaml")
    assert dh.name == "my_arm"
    assert np.allclose(dh.d, arm.d)
    assert np.allclose(dh.a, arm.a)


def test_another_arms_file_is_refused(tmp_path):
    links = {**NOMINAL, "forearm": (-0.6127, 0, 0, 0, 0, 0)}  # a UR10e
    with pytest.raises(CalibratedArmError, match="another arm's file"):
        read_kinematics(write(tmp_path / "k.yaml", links))


@pytest.mark.parametrize(
    "text",
    ["", "kinematics: 3", "kinematics: {shoulder: {x: 0}}", "[", "a: b", "kinematics: {shoulder: {x: .nan}}"],
)
def test_a_bad_file_is_one_plain_line(tmp_path, text):
    path = tmp_path / "k.yaml"
    path.write_text(text)
    with pytest.raises(CalibratedArmError, match=r"k\.yaml") as caught:
        read_kinematics(path)
    assert "\n" not in str(caught.value)


def test_a_number_that_is_not_finite_is_refused(tmp_path):
    links = {**NOMINAL, "shoulder": (0, 0, math.nan, 0, 0, 0)}
    with pytest.raises(CalibratedArmError, match="ur_calibration"):
        read_kinematics(write(tmp_path / "k.yaml", links))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CalibratedArmError, match="No such file"):
        read_kinematics(tmp_path / "no.yaml")
