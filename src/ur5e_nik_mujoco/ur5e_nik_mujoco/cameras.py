"""Pictures of a simulation."""

from __future__ import annotations

from types import TracebackType

import mujoco
import numpy as np
from numpy.typing import NDArray

from ur5e_nik_mujoco.simulation import Simulation


class Cameras:
    """Renders the scene's cameras, "overhead_camera" and "overview_camera".

    To be used and closed in one thread: an OpenGL context belongs to the thread that made it.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._model: mujoco.MjModel | None = None
        self._renderers: dict[tuple[int, int], mujoco.Renderer] = {}  # by height and width

    def render(self, name: str) -> NDArray[np.uint8]:
        """What a camera sees now, (height, width, 3) RGB; overwritten by the next picture."""
        if self._model is not self._simulation.model:
            self.close()  # a reset with other cubes compiles another model
            self._model = self._simulation.model
        camera = getattr(self._simulation.scene, name)
        size = camera.height, camera.width
        if size not in self._renderers:
            self._renderers[size] = mujoco.Renderer(self._model, *size)
        renderer = self._renderers[size]
        renderer.update_scene(self._simulation.data, name)
        # Shadows take three times as long without a GPU.
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        return renderer.render()

    def close(self) -> None:
        """Frees the OpenGL contexts; rendering again makes others."""
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()

    def __enter__(self) -> Cameras:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
