"""Pictures of a simulation."""

from __future__ import annotations

from types import TracebackType

import mujoco
import numpy as np
from numpy.typing import NDArray

from ur5e_nik_mujoco.simulation import Simulation


class Camera:
    """Renders one of the scene's cameras. Make it, use it and close it in one thread: OpenGL contexts belong to one."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        """`name` is "overhead_camera" or "overview_camera"."""
        self._simulation = simulation
        self.name = name
        description = getattr(simulation.scene, name)
        self.width, self.height = description.width, description.height
        self._model: mujoco.MjModel | None = None
        self._renderer: mujoco.Renderer | None = None

    def render(self) -> NDArray[np.uint8]:
        """The picture now, (height, width, 3) RGB; overwritten by the next one."""
        if self._renderer is None or self._model is not self._simulation.model:
            self.close()  # a reset with other cubes compiles another model
            self._model = self._simulation.model
            self._renderer = mujoco.Renderer(self._model, self.height, self.width)
        self._renderer.update_scene(self._simulation.data, self.name)
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False  # three times the time without a GPU
        return self._renderer.render()

    def close(self) -> None:
        """Frees the OpenGL context; rendering again makes another."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __enter__(self) -> Camera:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
