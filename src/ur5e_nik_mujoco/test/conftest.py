from pathlib import Path

import pytest

from ur5e_nik_mujoco import gl

gl.choose_backend()  # before any test imports mujoco

SCENE_FILE = Path(__file__).parent.parent / "config" / "scene.yaml"


@pytest.fixture(scope="session")
def scene():
    from ur5e_nik_mujoco.scene import load_scene

    return load_scene(SCENE_FILE)
