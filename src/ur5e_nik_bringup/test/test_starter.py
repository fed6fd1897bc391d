"""The starter ends every process it started: on request, when one dies, and when it is killed itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ur5e_nik_bringup.starter import Starter
from ur5e_nik_bringup.system import NodeSpec

PACKAGE = "fake_nodes"
OBEDIENT = "import signal\nprint('up', flush=True)\nsignal.pause()"
DEAF = """import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('up', flush=True)
while True:
    signal.pause()
"""
SHORT = "print('up', flush=True); raise SystemExit(3)"


@pytest.fixture
def specs(tmp_path, monkeypatch):
    """Nodes of a package that exists only in an ament index of the test's own."""
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / PACKAGE).touch()
    folder = tmp_path / "lib" / PACKAGE
    folder.mkdir(parents=True)
    for name, text in (("obedient", OBEDIENT), ("deaf", DEAF), ("short", SHORT)):
        (folder / name).write_text(f"#!{sys.executable}\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}:{os.environ['AMENT_PREFIX_PATH']}")
    return {name: NodeSpec(PACKAGE, name, f"the_{name}") for name in ("obedient", "deaf", "short")}


def wait_for(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


def test_logs_are_forwarded_with_the_node_s_name_and_all_processes_end(specs, tmp_path):
    lines = []
    with Starter([specs["obedient"]] * 1, tmp_path / "log", lambda *line: lines.append(line)) as starter:
        wait_for(lambda: lines)
        assert starter.ended() is None
        pids = [process.pid for process in starter._processes.values()]
    assert lines[0] == ("the_obedient", "up")
    assert not any(is_alive(pid) for pid in pids)


def test_a_node_that_ignores_signals_is_killed(specs, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "ur5e_nik_bringup.starter.PATIENCE",
        ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0)),
    )
    lines = []
    with Starter([specs["deaf"]], tmp_path / "log", lambda *line: lines.append(line)) as starter:
        wait_for(lambda: lines)
        pid = starter._processes["the_deaf"].pid
    assert not is_alive(pid)


def test_a_node_that_ended_is_named_with_its_exit_code(specs, tmp_path):
    with Starter([specs["obedient"], specs["short"]], tmp_path / "log", lambda *line: None) as starter:
        wait_for(starter.ended)
        assert starter.ended() == "node the_short ended with exit code 3"


def test_a_killed_node_is_named_with_the_signal(specs, tmp_path):
    with Starter([specs["obedient"]], tmp_path / "log", lambda *line: None) as starter:
        os.kill(starter._processes["the_obedient"].pid, signal.SIGKILL)
        wait_for(starter.ended)
        assert starter.ended() == "node the_obedient was killed by signal 9"


def test_no_orphan_is_left_when_the_starter_itself_is_killed(specs, tmp_path):
    script = f"""
import time
from pathlib import Path
from ur5e_nik_bringup.starter import Starter
from ur5e_nik_bringup.system import NodeSpec
with Starter([NodeSpec({PACKAGE!r}, 'obedient', 'x')], Path({str(tmp_path / "log")!r}), print) as starter:
    print(starter._processes['x'].pid, flush=True)
    time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.wait()
    wait_for(lambda: not is_alive(pid))
