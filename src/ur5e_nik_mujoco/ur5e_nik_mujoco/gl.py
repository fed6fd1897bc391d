"""Chooses how MuJoCo renders. To be done before `mujoco` is imported: the import reads MUJOCO_GL."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_PROBE = "import mujoco; mujoco.GLContext(16, 16).make_current()"


class NoRenderingError(RuntimeError):
    """Nothing here can render; the message is one line that says what to install."""


def choose_backend() -> str:
    """Sets MUJOCO_GL where the user did not: EGL, else OSMesa, else the OSMesa of the pip wheel.

    Returns what was chosen; raises NoRenderingError.
    """
    chosen = os.environ.get("MUJOCO_GL", "")
    if chosen:
        if not _works(chosen):
            raise NoRenderingError(
                f"MUJOCO_GL={chosen} does not render here; unset it, or install libegl1 "
                "libgl1-mesa-dri libopengl0 (for egl) or libosmesa6 (for osmesa)"
            )
        return chosen
    for backend in ("egl", "osmesa"):
        if _works(backend):
            os.environ["MUJOCO_GL"] = backend
            return backend
    library = _wheel_library()
    if library is None:
        raise NoRenderingError(
            "nothing here can render: install the packages libegl1 libgl1-mesa-dri libopengl0, "
            "or libosmesa6, or from pip lavavu-osmesa"
        )
    _offer_library(library)
    os.environ["MUJOCO_GL"] = "osmesa"
    return "osmesa from the lavavu-osmesa wheel"


def _works(backend: str) -> bool:
    """Whether a context can be made; in a process of its own, as a failed import cannot be undone."""
    environment = {**os.environ, "MUJOCO_GL": backend}
    probe = subprocess.run([sys.executable, "-c", _PROBE], env=environment, capture_output=True)
    return probe.returncode == 0


def _wheel_library() -> Path | None:
    try:
        files = importlib.metadata.files("lavavu-osmesa") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if f.name.startswith("libOSMesa")), None)


def _offer_library(library: Path) -> None:
    """Makes PyOpenGL, which asks for libOSMesa.so by name, find one outside the search path."""
    # What it needs lies beside it but is not looked for there; the order of loading is not known.
    waiting = sorted(library.parent.glob("*.so*"))
    for _ in range(len(waiting)):
        waiting = [path for path in waiting if not _loads(path)]

    class Loader(ctypes.CDLL):
        def __init__(self, name: str | None, *arguments: Any, **options: Any) -> None:
            asked = name is not None and name.startswith("libOSMesa.so")
            super().__init__(str(library) if asked else name, *arguments, **options)

    ctypes.cdll = ctypes.LibraryLoader(Loader)


def _loads(path: Path) -> bool:
    try:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True
