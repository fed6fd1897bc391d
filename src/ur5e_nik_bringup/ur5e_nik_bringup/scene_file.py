"""Reads the one description of the cell, which the simulation package owns and checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

PACKAGE = "ur5e_nik_mujoco"


def scene_path() -> Path:
    """Where `scene.yaml` is installed. Raises FileNotFoundError with what to do."""
    try:
        return Path(get_package_share_directory(PACKAGE), "config", "scene.yaml")
    except PackageNotFoundError:
        raise FileNotFoundError(f"package {PACKAGE} is not built or not sourced: it holds the scene") from None


def load_scene(path: Path | None = None) -> dict[str, Any]:
    """The scene as it stands in the file: metres, kilograms, degrees, in base_link."""
    with open(path or scene_path(), encoding="utf-8") as file:
        scene: dict[str, Any] = yaml.safe_load(file)
    return scene
