"""When what is due, in simulated and in wall time. Seconds; rates per second."""

from __future__ import annotations

_WALL_FACTOR = 2.0
_LONG_AGO = float("-inf")


class Periodic:
    """Something to do at a rate of simulated time, but at most at twice the rate of wall time.

    The second keeps a simulation that runs many times faster than real time from flooding others.
    """

    def __init__(self) -> None:
        self._next = _LONG_AGO
        self._next_wall = _LONG_AGO

    def is_due(self, rate: float, simulated: float, wall: float) -> bool:
        """Whether to do it now; if so, it counts as done."""
        if simulated < self._next or wall < self._next_wall:
            return False
        self._next = _after(self._next, simulated, 1.0 / rate)
        self._next_wall = _after(self._next_wall, wall, 1.0 / (_WALL_FACTOR * rate))
        return True


def _after(due: float, now: float, period: float) -> float:
    """The time after `due` on its grid, but without a burst for what a slow moment left out."""
    return max(due, now - period / 2) + period - 1e-9


class Budget:
    """Keeps something costly to a share of wall time."""

    def __init__(self) -> None:
        self._free_at = _LONG_AGO

    def is_open(self, wall: float) -> bool:
        """Whether the next one may begin."""
        return wall >= self._free_at

    def spend(self, begin: float, end: float, share: float) -> None:
        """Counts one that lasted from `begin` to `end`."""
        self._free_at = begin + (end - begin) / share


class Meter:
    """Mean of what was measured since it was last read."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0

    def add(self, value: float) -> None:
        """Counts one value."""
        self._total, self._count = self._total + value, self._count + 1

    def take(self) -> float | None:
        """The mean, and a new start; None when nothing was added."""
        mean = self._total / self._count if self._count else None
        self._total, self._count = 0.0, 0
        return mean


class Pace:
    """Keeps simulated time at a multiple of wall time."""

    def __init__(self) -> None:
        self._origin: tuple[float, float, float] | None = None

    def lead(self, speed: float, simulated: float, wall: float) -> float:
        """Wall seconds to wait before simulating on; 0 when late or when `speed` is 0 (no limit).

        What is lost by more than a fifth of a second is not caught up.
        """
        if speed == 0.0:
            self._origin = None
            return 0.0
        if self._origin is None or self._origin[2] != speed:
            self._origin = (simulated, wall, speed)
        lead = (simulated - self._origin[0]) / speed - (wall - self._origin[1])
        if lead < -0.2:
            self._origin = (simulated, wall, speed)
        return max(lead, 0.0)
