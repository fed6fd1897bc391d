import pytest

from ur5e_nik_mujoco.schedule import Budget, Pace, Periodic


def count(rate, speed, duration=10.0, tick=0.01):
    """How often something at `rate` is done in `duration` simulated seconds."""
    periodic = Periodic()
    ticks = round(duration / tick)
    return sum(periodic.is_due(rate, i * tick, i * tick / speed) for i in range(ticks))


@pytest.mark.parametrize("rate", [1.0, 7.0, 10.0, 50.0, 100.0])
def test_periodic_keeps_its_rate_in_simulated_time(rate):
    assert count(rate, speed=1.0) == pytest.approx(10 * rate, abs=1)
    assert count(rate, speed=0.5) == pytest.approx(10 * rate, abs=1)


def test_periodic_keeps_to_twice_its_rate_in_wall_time():
    assert count(50.0, speed=10.0) == pytest.approx(2 * 50, abs=2)  # in one second of wall time


def test_periodic_makes_no_burst_after_a_pause():
    periodic = Periodic()
    assert periodic.is_due(10.0, 0.0, 0.0)
    assert periodic.is_due(10.0, 5.0, 5.0)
    assert not periodic.is_due(10.0, 5.02, 5.02)


def test_budget_keeps_a_share():
    budget = Budget()
    wall = busy = 0.0
    while wall < 100.0:
        if budget.is_open(wall):
            budget.spend(wall, wall + 0.03, 0.25)
            busy += 0.03
            wall += 0.03
        wall += 0.001
    assert busy / wall == pytest.approx(0.25, abs=0.02)


def test_pace_waits_for_the_wall():
    pace = Pace()
    assert pace.lead(2.0, 0.0, 100.0) == 0.0
    assert pace.lead(2.0, 1.0, 100.1) == pytest.approx(0.4)
    assert pace.lead(2.0, 1.0, 100.6) == 0.0
    assert pace.lead(0.0, 9.0, 100.6) == 0.0


def test_pace_does_not_catch_up_what_is_long_lost():
    pace = Pace()
    pace.lead(1.0, 0.0, 0.0)
    assert pace.lead(1.0, 1.0, 5.0) == 0.0
    assert pace.lead(1.0, 1.5, 5.0) == pytest.approx(0.5)
