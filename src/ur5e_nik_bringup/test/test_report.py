"""The report's judgement: by the simulation's truth, not by the task's own word."""

import numpy as np
import pytest

from ur5e_nik_bringup.report import Pick, build_report
from ur5e_nik_bringup.waypoints import Spot

BEFORE = [Spot(0.5, -0.2, 0.0225, 0.3), Spot(0.4, -0.3, 0.0225)]
PLACE = Spot(0.38, 0.12, 0.0225, 0.1)


def pick(**changes):
    values = {
        "succeeded": True,
        "message": "",
        "detected": Spot(0.401, -0.3, 0.0225),
        "place": PLACE,
        "attempts": 1,
        "cycle_s": 9.0,
        "solvers": ("network", "network", "closed_form"),
    }
    return Pick(**{**values, **changes})


def test_a_cube_at_its_place_counts_with_its_errors():
    report = build_report(5, 2, [pick()], BEFORE, [BEFORE[0], Spot(0.38, 0.123, 0.0225, 0.1 + np.radians(91.0))])
    assert report["placed"] == 1
    assert report["seed"] == 5
    assert report["place_error_mm"]["mean"] == pytest.approx(3.0)
    assert report["yaw_error_deg"]["mean"] == pytest.approx(1.0)
    assert report["detect_error_mm"]["max"] == pytest.approx(1.0)
    assert report["solver_counts"] == {"network": 2, "closed_form": 1}
    assert report["picks"][0]["cube"] == 1


@pytest.mark.parametrize("resting", [Spot(0.38, 0.15, 0.0225), Spot(0.38, 0.12, 0.0675), BEFORE[1]])
def test_the_task_s_word_alone_places_nothing(resting):
    report = build_report(0, 2, [pick()], BEFORE, [BEFORE[0], resting])
    assert report["placed"] == 0
    assert report["place_error_mm"] == {"mean": None, "max": None}


def test_two_picks_of_one_cube_count_once():
    after = [BEFORE[0], PLACE]
    assert build_report(0, 2, [pick(), pick()], BEFORE, after)["placed"] == 1


def test_a_pick_that_was_never_tried_has_no_errors():
    report = build_report(0, 2, [pick(attempts=0, succeeded=False, message="no cube")], BEFORE, BEFORE)
    assert report["placed"] == 0
    assert report["detect_error_mm"]["mean"] is None
