"""The experiments can be run, and the page of results says what their files say."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXPERIMENTS = ROOT / "experiments"
PAGE = ROOT / "docs" / "results.md"
# Those that are quick in their quick form; ./run exec python experiments/all.py --quick runs all.
CHEAP = ("accuracy", "branches", "jacobian", "mixed", "outside")
pytestmark = pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="the packages stand outside their repository")


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, EXPERIMENTS / f"{script}.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def no_number(text):
    raise AssertionError(f"{text} stands in the results")


def committed(name):
    return json.loads((EXPERIMENTS / "results" / f"{name}.json").read_text(), parse_constant=no_number)


@pytest.mark.parametrize("name", CHEAP)
def test_the_quick_form_writes_figures(name, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed; the experiments train with it")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; the experiments draw with it")
    done = run(name, "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / f"{name}.json").read_text(), parse_constant=no_number)
    assert found["quick"] is True
    assert found["command"].endswith(f"{name}.py --quick")
    # The same content as the full run, whose figures the page shows.
    assert found.keys() == committed(name).keys()
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed; the experiments train with it")
    file = tmp_path / "file"
    file.touch()
    done = run("branches", "--quick", "--out", file / "folder")
    assert done.returncode == 2
    assert "file/folder: Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_must_never_happen_did_not():
    assert committed("outside")["total"]["silent_errors"] == 0
    assert committed("outside")["total"]["reachable_but_refused"] == 0
    branches = committed("branches")
    assert branches["round_trips_closed"] == branches["poses"]
    assert branches["elbow_down"]["right"] == branches["elbow_down"]["answers"]
    assert branches["elbow_down"]["right_with_the_fault"] == 0


def test_the_page_is_what_the_files_say():
    done = run("page", "--check")
    assert done.returncode == 0, done.stderr
    assert "Not run yet" not in PAGE.read_text()
    assert "A small form" not in PAGE.read_text()


def test_another_figure_is_noticed(tmp_path):
    results = tmp_path / "experiments" / "results"
    shutil.copytree(EXPERIMENTS / "results", results)
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    shutil.copy(PAGE, page)
    assert run("page", "--results", results, "--out", page, "--check").returncode == 0
    found = committed("jacobian")
    found["best_central"]["difference"] *= 2.0
    (results / "jacobian.json").write_text(json.dumps(found))
    done = run("page", "--results", results, "--out", page, "--check")
    assert done.returncode == 1
    assert "out of date" in done.stderr


def test_every_picture_of_the_page_is_there():
    pictures = [line.split("](")[1].rstrip(")") for line in PAGE.read_text().splitlines() if line.startswith("![")]
    assert len(pictures) >= 11
    for picture in pictures:
        assert (PAGE.parent / picture).stat().st_size < 300_000, picture
