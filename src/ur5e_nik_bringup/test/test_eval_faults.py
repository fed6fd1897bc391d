"""The fault matrix in its short form, case by case, and the command that runs and prints all of it."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from ur5e_nik_bringup.evaluation.fault_runs import Bench
from ur5e_nik_bringup.evaluation.fault_table import FAULTS, PHASES, PLACED, every_case, quick_cases
from ur5e_nik_bringup.states import Code

EVAL = [sys.executable, "-m", "ur5e_nik_bringup.evaluation", "faults"]


@pytest.fixture(scope="module")
def bench(domain):
    with Bench(domain) as bench:
        yield bench


def named(name):
    return next(fault for fault in FAULTS if fault.name == name)


@pytest.mark.parametrize(
    ("fault", "phase"), [pytest.param(fault, phase, id=f"{fault.name}, {phase}") for fault, phase in quick_cases()]
)
def test_fault(bench, fault, phase):
    case = bench.judge(fault, phase)
    assert case.ok, case.why


def test_the_short_form_meets_every_fault_and_every_phase():
    cases = quick_cases()
    assert {fault.name for fault, _ in cases} == {fault.name for fault in FAULTS}
    assert {phase for _, phase in cases} == set(PHASES)
    assert len(set(map(str, cases))) == len(cases) == 2 * len(FAULTS)


def test_every_row_of_the_table_is_sound():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len(every_case()) == sum(len(fault.phases) for fault in FAULTS) > 400
    for fault in FAULTS:
        ended = [phase for phases in fault.ends.values() for phase in phases]
        assert len(ended) == len(set(ended)), f"{fault.name} ends a phase twice"
        assert set(ended) <= set(fault.phases) <= set(PHASES)
        assert bool(fault.ends) == bool(fault.says)


def test_another_end_than_the_stated_is_told(bench):
    fault = named("controller rejects")
    wrong = bench.judge(replace(fault, ends={}), "carry")
    assert not wrong.ok
    assert wrong.why.startswith("CONTROL_FAILED instead of placed: ")
    words = bench.judge(replace(fault, says="the moon is full"), "carry")
    assert (words.result, words.ok) == ("CONTROL_FAILED", False)
    assert "tells something else" in words.why
    late = bench.judge(replace(named("controller three times slower"), within=0.1), "carry")
    assert (late.result, late.ok) == (PLACED, False)
    assert "more than 0.1" in late.why


def test_a_cube_that_falls_is_told(bench):
    """Fingers that open on the way, whatever the result says."""

    def drop(bench):
        bench.cell.drop()
        bench.run.ask_cancel()

    case = bench.judge(replace(named("cancelled"), begin=drop, ends={Code.PREEMPTED: PHASES}), "carry")
    assert not case.ok
    assert "the cube was let go at" in case.why


def evaluate(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
    return subprocess.run([*EVAL, *arguments], env=environment, capture_output=True, text=True, timeout=120)


def test_the_command_prints_a_table_and_writes_every_case(tmp_path):
    out = tmp_path / "new" / "faults.json"
    run = evaluate("--faults", "vision silent", "cube taken away", "--phases", "look", "carry", "--out", str(out))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "4 of 4" in run.stdout
    cases = json.loads(out.read_text())["cases"]
    assert [(case["fault"], case["phase"], case["expected"]) for case in cases] == [
        ("vision silent", "look", "SENSOR_INFO_STALE"),
        ("vision silent", "carry", "placed"),
        ("cube taken away", "look", "NO_OBJECT"),
        ("cube taken away", "carry", "placed"),
    ]
    for case in cases:
        assert list(case) == ["fault", "phase", "expected", "result", "seconds", "ok"]
        assert case["result"] == case["expected"]
        assert case["ok"] is True
        assert 0 < case["seconds"] < 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--faults", "gremlin"], "no fault has 'gremlin' in its name; there are: joint states silent"),
        (["--phases", "lunch"], "'lunch' is none; there are: start, home, look"),
        (["--faults", "cancelled", "--phases", "start"], "leave no case"),
        (["--out", "/proc/no/faults.json"], "/proc/no"),
    ],
)
def test_bad_options_are_explained_in_a_line(arguments, words):
    run = evaluate(*arguments)
    assert run.returncode == 1
    (line,) = run.stderr.strip().splitlines()
    assert words in line
