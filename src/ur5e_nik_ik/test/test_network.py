"""Networks at run time: what is refused, what the symmetries give, what covers and predict answer."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from poses import random_poses, tool_down

from ur5e_nik_ik.closed_form import branch_of, closed_form
from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.dh import UR5E, UR5E_WEBOTS
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_ik.network import ANY_POSE, Network, NetworkError, canonicalise, features_of, forward, uncanonicalise

MODELS = Path(__file__).parents[1] / "models"


def card(**changes):
    return {
        "version": 1,
        "name": "small",
        "kind": "tool_down",
        "dh": {"name": "ur5e", "d": list(UR5E.d), "a": list(UR5E.a)},
        "branches": [0, 1],
        "hidden": [4],
        "domain": {"radius": [0.3, 0.7], "height": [0.0, 0.4], "tilt": 0.02},
    } | changes


def weights(rows=2, parameters=42):
    return np.random.default_rng(0).normal(size=(rows, parameters))


def saved(path, content, values):
    np.savez(path, card=content if isinstance(content, str) else json.dumps(content), weights=values)
    return path


def refusal(path, dh=UR5E):
    with pytest.raises(NetworkError) as caught:
        Network.load(path, dh)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_loads_what_was_saved(tmp_path):
    network = Network.load(saved(tmp_path / "a.npz", card(), weights()), UR5E)
    assert network.branches == (0, 1)
    assert network.parameters == 84
    assert network.sizes.tolist() == [2, 4, 6]
    assert (network.weights == weights()).all()


def test_refuses_a_missing_file_and_a_folder(tmp_path):
    assert "there is no network file" in refusal(tmp_path / "none.npz")
    assert "there is no network file" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x00" * 1000, b"hello", b"\x93NUMPY\x01\x00"])
def test_refuses_what_is_no_archive(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    assert "is not a network file" in refusal(path)


def test_refuses_a_truncated_file_at_every_length(tmp_path):
    whole = saved(tmp_path / "whole.npz", card(), weights()).read_bytes()
    path = tmp_path / "part.npz"
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        assert "is not a network file" in refusal(path)


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_runs_no_code_from_a_file(tmp_path):
    victim = tmp_path / "victim"
    plain = tmp_path / "plain.npz"
    plain.write_bytes(pickle.dumps(Hostile(victim)))
    assert "is not a network file" in refusal(plain)
    inside = tmp_path / "inside.npz"
    np.savez(inside, card=np.array(Hostile(victim), dtype=object), weights=weights())
    assert "is not a network file" in refusal(inside)
    assert not victim.exists()
    pickle.loads(plain.read_bytes())
    assert victim.exists(), "the trap does not work, so the test shows nothing"


def test_refuses_an_archive_that_unpacks_to_too_much(tmp_path):
    path = tmp_path / "big.npz"
    np.savez_compressed(path, card=json.dumps(card()), weights=np.zeros((2, 5_000_000)))
    assert path.stat().st_size < 1_000_000
    assert "unpacks to" in refusal(path)


def test_refuses_an_archive_without_its_parts(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, weights=weights())
    assert "card" in refusal(path)
    np.savez(path, card=json.dumps(card()))
    assert "weights" in refusal(path)


def without(key):
    content = card()
    del content[key]
    return content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no json", "not a network of this project"),
        ("[1, 2]", "not a network of this project"),
        ("null", "not a network of this project"),
        (without("version"), "version"),
        (without("hidden"), "hidden"),
        (without("domain"), "domain"),
        (card(version=2), "format version 2, this release reads 1"),
        (card(kind="tool_up"), "kind 'tool_up' is none of"),
        (card(kind=[]), "not a network of this project"),
        (card(branches=[]), "branches"),
        (card(branches=[0, 0]), "branches"),
        (card(branches=[0, 8]), "0..7"),
        (card(branches=[-1, 0]), "0..7"),
        (card(hidden=[5]), "the card says"),
        (card(hidden=[0]), "1 to 4096"),
        (card(hidden=[10**9]), "1 to 4096"),
        ("[" * 100_000, "not a network of this project"),
        (card(hidden=[10**30]), "not a network of this project"),
        (card(domain=[0.3, 0.7]), "not a network of this project"),
        (card(hidden="four"), "not a network of this project"),
        (card(domain={}), "not a network of this project"),
        (card(domain={"radius": [0.3], "height": [0.0, 0.4], "tilt": []}), "not a network of this project"),
        (card(domain={"radius": [0.3, 0.7], "height": [0.0, float("nan")], "tilt": 0.02}), "NaN"),
        (card(dh={"name": "x", "d": [1, 2], "a": [3]}), "not a network of this project"),
        (card(dh={"name": "x", "d": [0.2] * 6, "a": [0.0] * 6}), "trained for the DH set 'x', the arm is 'ur5e'"),
    ],
)
def test_refuses_a_card_that_cannot_be(tmp_path, content, said):
    assert said in refusal(saved(tmp_path / "a.npz", content, weights()))


def test_refuses_the_other_arm(tmp_path):
    path = saved(tmp_path / "a.npz", card(), weights())
    message = refusal(path, UR5E_WEBOTS)
    assert "trained for the DH set 'ur5e', the arm is 'ur5e_webots'" in message
    assert "--dh ur5e_webots" in message


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (weights(1), "the card says"),
        (weights(2, 41), "the card says"),
        (weights().ravel(), "the card says"),
        (weights().astype(int), "the card says"),
        (weights().astype(complex), "the card says"),
        (weights().astype(str), "the card says"),
        (np.where(weights() == weights()[1, 7], np.nan, weights()), "NaN or Inf"),
        (np.where(weights() == weights()[1, 7], np.inf, weights()), "NaN or Inf"),
    ],
)
def test_refuses_weights_that_cannot_be(tmp_path, values, said):
    assert said in refusal(saved(tmp_path / "a.npz", card(), values))


def test_covers_its_domain_and_nothing_else():
    network = Network.from_arrays(card(), weights(), UR5E)
    inside = [tool_down(0.5, 0.0, 0.2), tool_down(0.0, -0.31, 0.01, 3.0), tool_down(-0.5, 0.45, 0.39, -2.0)]
    outside = [
        tool_down(0.29, 0.0, 0.2),
        tool_down(0.6, 0.4, 0.2),
        tool_down(0.5, 0.0, 0.41),
        tool_down(0.5, 0.0, -0.01),
    ]
    tilted, up = tool_down(0.5, 0.0, 0.2), np.eye(4)
    tilted[:3, :3] = tilted[:3, :3] @ [
        [1.0, 0.0, 0.0],
        [0.0, np.cos(0.03), -np.sin(0.03)],
        [0.0, np.sin(0.03), np.cos(0.03)],
    ]
    up[:3, 3] = 0.5, 0.0, 0.2
    none = np.full((4, 4), np.nan)
    assert network.covers(np.array(inside)).tolist() == [True] * 3
    assert network.covers(np.array([*outside, tilted, up, none])).tolist() == [False] * 7


def test_answers_only_the_branches_it_was_trained_for():
    network = Network.from_arrays(card(), weights(), UR5E)
    target = np.array([tool_down(0.5, 0.0, 0.2)] * 2)
    assert network.predict(target, np.array([0, 1])).shape == (2, 6)
    assert network.predict(target[:0], np.array([], dtype=int)).shape == (0, 6)
    with pytest.raises(ValueError, match=r"branches \(0, 1\) only"):
        network.predict(target, np.array([0, 2]))


def test_azimuth_and_yaw_only_turn_joints_1_and_6():
    network = Network.from_arrays(card(), weights(), UR5E)
    rng = np.random.default_rng(5)
    plain = network.predict(tool_down(0.45, 0.0, 0.3)[None], np.array([1]))[0]
    for azimuth, yaw in rng.uniform(-np.pi, np.pi, (50, 2)):
        target = tool_down(0.45 * np.cos(azimuth), 0.45 * np.sin(azimuth), 0.3, yaw)
        turned = network.predict(target[None], np.array([1]))[0] - plain
        turned -= [azimuth, 0.0, 0.0, 0.0, 0.0, azimuth - yaw]
        assert np.abs(turned - 2 * np.pi * np.round(turned / (2 * np.pi))).max() < 1e-9


@pytest.mark.parametrize("dh", [UR5E, UR5E_WEBOTS], ids=lambda dh: dh.name)
def test_mirror_images_lead_from_every_branch_to_one(dh):
    """With the exact elbow of the canonical branch in place of a perceptron, every branch is exact."""
    arm = pack(dh)
    a2, a3, d5 = arm[1], arm[2], arm[4]
    target = random_poses(300, 9, dh)
    joints, valid = closed_form(target, dh)
    answer = np.empty(6)
    for row, branch in np.argwhere(valid):
        features = np.empty(6)
        taken = canonicalise(ANY_POSE, branch, arm, target[row], features)
        along, up, c234, s234 = features[:4]
        x, y = along - d5 * s234, up + d5 * c234
        theta3 = np.arccos(np.clip((x * x + y * y - a2 * a2 - a3 * a3) / (2 * a2 * a3), -1.0, 1.0))
        theta2 = np.arctan2(y, x) - np.arctan2(a3 * np.sin(theta3), a2 + a3 * np.cos(theta3))
        uncanonicalise(ANY_POSE, arm, taken, np.array([np.cos(theta2), np.sin(theta2), theta3]), answer)
        turn = answer - joints[row, branch]
        assert np.abs(turn - 2 * np.pi * np.round(turn / (2 * np.pi))).max() < 1e-7


def test_any_pose_features_are_the_same_for_all_azimuths_and_yaws():
    target = random_poses(50, 10)
    branch = np.zeros(50, dtype=int)
    plain = features_of(ANY_POSE, target, branch, UR5E)
    turn = fk(np.array([0.7, 0, 0, 0, 0, 0]), UR5E) @ np.linalg.inv(fk(np.zeros(6), UR5E))
    yaw = np.linalg.inv(fk(np.zeros(6), UR5E)) @ fk(np.array([0, 0, 0, 0, 0, 1.1]), UR5E)
    assert np.abs(features_of(ANY_POSE, turn @ target @ yaw, branch, UR5E) - plain).max() < 1e-9


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_the_forward_pass_is_that_of_a_perceptron(kind):
    rng = np.random.default_rng(1)
    sizes = np.array([3, 7, 5, 2])
    layers = [(rng.normal(size=(i, o)), rng.normal(size=o)) for i, o in zip(sizes[:-1], sizes[1:], strict=True)]
    x = rng.normal(size=3)
    values, spare = np.zeros(7), np.zeros(7)
    values[:3] = x
    flat = np.concatenate([part.ravel() for layer in layers for part in layer])
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if number < 2:
            x = x / (1.0 + np.exp(-x)) if kind == 2 else x / np.sqrt(1.0 + x * x)
    assert np.abs(forward(kind, flat, sizes, values, spare)[:2] - x).max() < 1e-12


def test_a_singular_wrist_gives_finite_joints():
    """Where q5 is 0 the direction of the tool's axis in the plane of the arm does not exist."""
    network = Network.load(MODELS / "any-pose-ur5e.npz", UR5E)
    target = fk(np.array([[0.3, -1.2, 1.4, -0.9, 0.0, 0.4], [0.3, -1.2, 1.4, -0.9, 1e-9, 0.4]]), UR5E)
    for branch in range(8):
        assert np.isfinite(network.predict(target, np.full(2, branch))).all()


def test_the_any_pose_network_answers_in_the_branch_that_was_asked_for():
    network = Network.load(MODELS / "any-pose-ur5e.npz", UR5E)
    target = random_poses(2000, 12)
    row, branch = np.nonzero(closed_form(target, UR5E)[1])
    joints = network.predict(target[row], branch)
    assert (branch_of(joints, UR5E) == branch).mean() > 0.999
    # All but the elbow is exact, so the tool points where it should.
    assert np.abs(pose_error(fk(joints, UR5E), target[row])[:, 3:]).max() < 1e-6
