import ctypes
import ctypes.util
from pathlib import Path

import pytest

from ur5e_nik_mujoco import gl


@pytest.fixture
def no_choice(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)


def test_choice_of_the_user_is_honoured(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setattr(gl, "_works", lambda backend: backend == "osmesa")
    assert gl.choose_backend() == "osmesa"


def test_choice_that_does_not_render_is_refused(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    with pytest.raises(gl.NoRenderingError, match="MUJOCO_GL=nonsense does not render") as refused:
        gl.choose_backend()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("works", ["egl", "osmesa"])
def test_first_backend_that_works_is_taken(monkeypatch, no_choice, works):
    monkeypatch.setattr(gl, "_works", lambda backend: backend == works)
    assert gl.choose_backend() == works
    assert gl.os.environ["MUJOCO_GL"] == works


def test_library_of_the_wheel_is_the_last_resort(monkeypatch, no_choice, tmp_path):
    offered = []
    monkeypatch.setattr(gl, "_works", lambda backend: False)
    monkeypatch.setattr(gl, "_wheel_library", lambda: tmp_path / "libOSMesa.so")
    monkeypatch.setattr(gl, "_offer_library", offered.append)
    assert "wheel" in gl.choose_backend()
    assert offered == [tmp_path / "libOSMesa.so"]


def test_one_line_says_what_to_install(monkeypatch, no_choice):
    monkeypatch.setattr(gl, "_works", lambda backend: False)
    monkeypatch.setattr(gl, "_wheel_library", lambda: None)
    with pytest.raises(gl.NoRenderingError) as refused:
        gl.choose_backend()
    message = str(refused.value)
    assert "\n" not in message
    for package in ("libegl1", "libgl1-mesa-dri", "libopengl0", "libosmesa6"):
        assert package in message


def test_library_of_the_wheel_is_found_by_its_usual_name(monkeypatch, tmp_path):
    monkeypatch.setattr(ctypes, "cdll", ctypes.cdll)  # put back afterwards
    some = next(Path("/").glob(f"*/*/{ctypes.util.find_library('m')}"))
    library = tmp_path / "libOSMesa-f6a8f160.so.8.0.0"
    library.write_bytes(some.read_bytes())
    gl._offer_library(library)
    assert ctypes.cdll.LoadLibrary("libOSMesa.so")._name == str(library)
    assert ctypes.cdll.LoadLibrary(some.name)._name == some.name
