"""No figure in the README without the file that a command wrote."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ur5e_nik_bringup.states import diagram

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
TOOL = ROOT / "tools" / "readme_numbers.py"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="the packages stand outside their repository")


def test_the_table_of_figures_is_what_the_files_say():
    run = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_another_figure_is_noticed(tmp_path, monkeypatch):
    tool = runpy.run_path(str(TOOL))
    copy = tmp_path / "README.md"
    copy.write_text(re.sub(r"0\.0\d+ mm", "0.001 mm", README.read_text(), count=1))
    monkeypatch.setitem(tool["main"].__globals__, "README", copy)
    monkeypatch.setattr(sys, "argv", ["readme_numbers.py", "--check"])
    assert tool["main"]() == 1


def test_every_file_that_the_readme_names_is_there():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_states_are_drawn_as_the_code_has_them():
    assert f"```mermaid\n{diagram()}\n```" in README.read_text()
