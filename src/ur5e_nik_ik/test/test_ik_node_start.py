"""How the node starts and ends: parameters, networks that cannot be used, signals."""

import json
import pickle
import signal
import time

import ik_process
import numpy as np
import pytest
from poses import fitted_network, tool_down

from ur5e_nik_ik.dh import UR5E, UR5E_WEBOTS
from ur5e_nik_ik.kinematics import fk, pose_error
from ur5e_nik_msgs.srv import SolveIK


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-p", "position_tolerance:=.nan"], "position_tolerance"),
        (["-p", "position_tolerance:=2.0"], "position_tolerance"),
        (["-p", "orientation_tolerance:=tight"], "orientation_tolerance"),
        (["-p", "dh:=ur10e"], "no DH set named 'ur10e'"),
        (["-p", "dh:=/nowhere/arm.yaml"], "cannot read the DH file"),
        (["-p", "prefer_wrist:=flip"], "wrist 'flip' is none of any, negative, positive"),
        (["-p", "rest_posture:=[0.0, -90.0, 90.0, -90.0, -90.0, 0.0]"], "not degrees"),
    ],
)
def test_a_bad_parameter_ends_the_node_with_one_line(arguments, words):
    process = ik_process.start(*arguments)
    output, _ = process.communicate(timeout=60.0)
    assert process.returncode == 1
    assert words in output
    assert len(output.strip().splitlines()) == 1


class Hostile:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def write_network(path, network, **changes):
    card = {**network.card, **changes.pop("card", {})}
    np.savez(path, card=json.dumps(card), weights=changes.pop("weights", network.weights))


@pytest.fixture
def unusable(tmp_path):
    """Files that are no networks for this arm, each in a way of its own."""
    network = fitted_network()
    good = tmp_path / "good.npz"
    write_network(good, network)
    files = {name: tmp_path / f"{name}.npz" for name in ("missing", "empty", "truncated", "pickle", "object", "nan")}
    files |= {name: tmp_path / f"{name}.npz" for name in ("wrong_arm", "wrong_shape", "wrong_version")}
    files["empty"].write_bytes(b"")
    files["truncated"].write_bytes(good.read_bytes()[:2000])
    files["pickle"].write_bytes(pickle.dumps(Hostile(tmp_path / "executed")))
    write_network(files["object"], network, weights=np.array([Hostile(tmp_path / "executed")], dtype=object))
    write_network(files["nan"], network, weights=np.full_like(network.weights, np.nan))
    write_network(files["wrong_arm"], fitted_network(dh=UR5E_WEBOTS))
    write_network(files["wrong_shape"], network, weights=network.weights[:, :-1])
    write_network(files["wrong_version"], network, card={"version": -1})
    return files


def test_unusable_networks_are_named_and_the_closed_form_answers(unusable, tmp_path):
    paths = ", ".join(f"'{path}'" for path in unusable.values())
    process = ik_process.start("-r", "__ns:=/unusable", "-p", f"networks:=[{paths}]")
    client = ik_process.Client("/unusable")
    try:
        lines = ik_process.lines_until_ready(process)
        for path in unusable.values():
            (warning,) = [line for line in lines if str(path) in line]
            assert "WARN" in warning
            assert "closed form answers instead" in warning
        client.wait()
        target = tool_down(0.4, 0.0, 0.1)
        answer = client.solve(target)
        assert answer.error_code == SolveIK.Response.SUCCESS
        assert answer.solver == "closed_form"
        assert client.solve(target, solver="network").error_code == SolveIK.Response.NO_IK_SOLUTION
        assert not (tmp_path / "executed").exists()
    finally:
        client.close()
        assert ik_process.stop(process) == 0


def test_another_arm_by_a_file_and_its_own_network(tmp_path):
    lines = [f"{name}: {list(getattr(UR5E_WEBOTS, name))}" for name in ("d", "a")]
    (tmp_path / "mine.yaml").write_text("\n".join(lines))
    write_network(tmp_path / "mine.npz", fitted_network(dh=UR5E_WEBOTS))
    process = ik_process.start(
        *("-r", "__ns:=/mine", "-p", f"dh:={tmp_path / 'mine.yaml'}", "-p", f"networks:=['{tmp_path / 'mine.npz'}']")
    )
    client = ik_process.Client("/mine")
    try:
        ik_process.lines_until_ready(process)
        client.wait()
        target = tool_down(0.4, 0.1, 0.2)
        answer = client.solve(target)
        assert answer.solver == "network"
        joints = np.array(answer.solution.position)
        assert np.abs(pose_error(fk(joints, UR5E_WEBOTS), target)).max() <= 1e-6
        assert np.linalg.norm(pose_error(fk(joints, UR5E), target)[:3]) > 1e-4
    finally:
        client.close()
        assert ik_process.stop(process) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.4, None], ids=["while loading", "ready"])
def test_signals_end_it_quietly(number, delay):
    process = ik_process.start()
    if delay is None:
        ik_process.lines_until_ready(process)
    else:
        time.sleep(delay)
    process.send_signal(number)
    output, _ = process.communicate(timeout=15.0)
    assert process.returncode == 0
    assert "Traceback" not in output
