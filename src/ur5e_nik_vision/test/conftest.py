import numpy as np
import pytest
from pinhole_scene import Scene

from ur5e_nik_vision.calibration import fit_calibration
from ur5e_nik_vision.camera import Lens


def calibrate_for(scene: Scene):
    """A calibration from a grid of true points at z = 0 and where the scene shows them."""
    lens = Lens.from_camera_info(scene.width, scene.height, scene.matrix.ravel(), scene.distortion, "plumb_bob")
    x, y = np.meshgrid(np.linspace(0.2, 0.8, 9), np.linspace(-0.4, 0.4, 13))
    points = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
    held_out = np.arange(len(points)) % 2 == 1
    return fit_calibration(lens, scene.project(points), points, held_out, "base_link", 1e-3)


@pytest.fixture(scope="session")
def scene():
    return Scene()


@pytest.fixture(scope="session")
def calibration(scene):
    return calibrate_for(scene)
