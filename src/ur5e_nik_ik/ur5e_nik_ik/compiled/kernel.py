"""The decorator of every kernel: compiled once, cached where this user may write."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

# What all kernels take, and some more [bytes].
_ROOM = 10 * 2**20


def cache_directory() -> Path | None:
    """Return a folder for compiled kernels that can be written, or None.

    It carries a digest of all kernels' sources: numba looks at one file at a time and would keep a
    kernel whose callee changed.
    """
    digest = hashlib.sha256()
    for source in sorted([*Path(__file__).parent.glob("*.py"), Path(__file__).parent.parent / "network.py"]):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(__file__).parent / "__pycache__"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places.insert(0, Path(os.environ["NUMBA_CACHE_DIR"]))
    # A user without a home, as in some containers, stays "~".
    if not user.startswith("~"):
        places.append(Path(user) / "ur5e_nik")
    for place in places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place / name):
                if shutil.disk_usage(place).free > _ROOM:
                    return place / name
        except OSError:
            continue
    return None


_CACHE = cache_directory()
# numba sets its configuration at run time, which type checkers do not see.
_CONFIG: Any = numba.config


def kernel(function: Callable[..., Any]) -> Any:
    """Compile function with numba on its first call; without a writable cache, once a process."""
    if _CACHE is None:
        return numba.njit(error_model="numpy")(function)
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = str(_CACHE)
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    finally:
        _CONFIG.CACHE_DIR = before
