"""MuJoCo's interactive viewer beside a simulation."""

from __future__ import annotations

import os
import time

import mujoco
import mujoco.viewer

from ur5e_nik_mujoco.simulation import Simulation

_PERIOD = 1 / 30  # [s, wall]


class ViewerError(RuntimeError):
    """There is nothing to show a window on."""


class Viewer:
    """A window that a person can turn and close; the simulation goes on without it."""

    def __init__(self) -> None:
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise ViewerError("gui needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set")
        self._handle: mujoco.viewer.Handle | None = None
        self._model: mujoco.MjModel | None = None
        self._next = 0.0

    def show(self, simulation: Simulation) -> None:
        """Brings the window up to date, a few times a second."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _PERIOD
        if self._model is not simulation.model:
            self.close()
            self._model = simulation.model
            self._handle = mujoco.viewer.launch_passive(
                simulation.model, simulation.data, show_left_ui=False, show_right_ui=False
            )
        if self._handle and self._handle.is_running():
            self._handle.sync()

    def close(self) -> None:
        """Closes the window."""
        if self._handle:
            self._handle.close()
            self._handle = None
