"""Poses and a quickly fitted network that several tests share."""

import numpy as np

from ur5e_nik_ik.closed_form import closed_form
from ur5e_nik_ik.dh import UR5E
from ur5e_nik_ik.kinematics import fk
from ur5e_nik_ik.network import FORMAT_VERSION, Network


def random_joints(count, seed):
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))


def random_poses(count, seed, dh=UR5E):
    return fk(random_joints(count, seed), dh)


def tool_down(x, y, z, yaw=0.0):
    """Tool0 straight down: quaternion xyzw (1, 0, 0, 0) turned about z by yaw."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    pose = np.eye(4)
    pose[:3, :3] = [[cos, sin, 0.0], [sin, -cos, 0.0], [0.0, 0.0, -1.0]]
    pose[:3, 3] = x, y, z
    return pose


def tool_down_poses(count, seed):
    """Tool-down poses in front of the arm, at any yaw."""
    rng = np.random.default_rng(seed)
    low, high = (0.30, -0.35, 0.05, -np.pi), (0.70, 0.35, 0.45, np.pi)
    return np.array([tool_down(*numbers) for numbers in rng.uniform(low, high, (count, 4))])


def fitted_network(branches=(0, 1, 6, 7), dh=UR5E, error=0.0, radii=(0.25, 0.80)):
    """A tool-down network without training: random features, and outputs by least squares.

    Its answers are good to some tenths of a millimetre; `error` is added to every joint [rad].
    """
    rng = np.random.default_rng(0)
    width, count = 150, 2000
    radius, height = rng.uniform((0.25, -0.05), (0.80, 0.45), (count, 2)).T
    target = np.array([tool_down(r, 0.0, z) for r, z in zip(radius, height, strict=True)])
    joints, valid = closed_form(target, dh)
    rows = []
    for branch in branches:
        assert valid[:, branch].all()
        labels = np.unwrap(np.vstack([joints[:1, branch], joints[:, branch]]), axis=0)[1:]
        inner = rng.normal(0.0, 8.0, (2, width))
        bias = rng.normal(0.0, 3.0, width)
        hidden = np.column_stack([radius, height]) @ inner + bias
        hidden = np.column_stack([hidden / np.sqrt(1.0 + hidden**2), np.ones(count)])
        outer = np.linalg.lstsq(hidden, labels, rcond=1e-12)[0]
        outer[-1] += error
        rows.append(np.concatenate([inner.ravel(), bias, outer.ravel()]))
    card = {
        "version": FORMAT_VERSION,
        "name": "fitted",
        "kind": "tool_down",
        "dh": {"name": dh.name, "d": dh.d, "a": dh.a},
        "branches": list(branches),
        "hidden": [width],
        "domain": {"radius": radii, "height": [-0.05, 0.45], "tilt": 0.02},
    }
    return Network.from_arrays(card, np.array(rows), dh)
