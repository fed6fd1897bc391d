"""The runs of the vision evaluation: real nodes, pictures of the simulation, and what comes of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console
from rich.progress import track

from ur5e_nik_bringup.evaluation.nodes import running
from ur5e_nik_bringup.evaluation.pictures import LIGHT, OUT, Picture, View, box_corners
from ur5e_nik_bringup.evaluation.probe import Eye, Probe, to_image
from ur5e_nik_bringup.evaluation.scores import Tally
from ur5e_nik_bringup.scene_file import load_scene, scene_path
from ur5e_nik_bringup.system import NodeSpec, executable
from ur5e_nik_bringup.waypoints import Spot

SPOILT_PER_SCENE = 4
TIMED = 60
CALIBRATION = 120.0  # patience with the calibration [s]
SECOND = "/second/"
# The second node looks at the whole table, so that the region hides no fault from the judge.
WHOLE_TABLE = [0.0, 1.0, -0.7, 0.7]
# A camera whose picture is as high on the table as the scene's, but wider.
FULL_HD = {"width": 1920, "height": 1080, "horizontal_fov": 56.6}
STREAM = "1080p at 30 Hz"
STREAM_RATE = 30.0


@dataclass
class Findings:
    """What was measured.

    plain: the camera's own pictures; light: the same in bad light, by kind; spoilt: of pictures
    without a whole cube, by kind, how many there were and how many positions were published.
    pictures: some of the camera's, to measure times with.
    """

    scenes: int = 0
    plain: Tally = field(default_factory=Tally)
    light: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in LIGHT})
    spoilt: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0] for name in ("absent", *OUT)})
    pictures: list[Picture] = field(default_factory=list)
    frame_ms: list[float] = field(default_factory=list)
    full_hd: dict[str, float] = field(default_factory=dict)
    held_out_mm: float = float("nan")


def judge_scenes(findings: Findings, scenes: int, most_cubes: int, seed: int, folder: Path, console: Console) -> None:
    """Every scene through the camera's topic, and its picture, spoilt, through a second node."""
    second = _vision("second_vision", {"region": WHOLE_TABLE, "status_rate": 50.0}, SECOND.rstrip("/"))
    with running([second], folder, console) as nodes, Probe(nodes.alive) as probe:
        judge = probe.eye(SECOND)
        probe.open(SECOND)
        with running([_sim(scene_path()), _vision("vision", {})], folder, console):
            findings.held_out_mm = _calibrate(scene_path(), folder / "calibration.yaml")
            session = _Session(findings, probe, judge, np.random.default_rng(seed))
            # In blocks: a scene of another number of cubes is compiled anew.
            counts = [0] * (scenes // 8) + [1 + most_cubes * number // scenes for number in range(scenes)]
            for number, count in enumerate(track(counts, "scenes", console=console, transient=True)):
                session.scene(100_000 * seed + number, count)
            findings.scenes = scenes
        _measure_time(findings, probe, judge)


class _Session:
    """Scene after scene, judged by the eye on the camera and by the one that sees spoilt pictures."""

    def __init__(self, findings: Findings, probe: Probe, judge: Eye, random: np.random.Generator) -> None:
        self._findings, self._probe, self._judge, self._random = findings, probe, judge, random
        self._eye = probe.eye()
        cell = load_scene()
        self._edge = cell["cubes"]["edge"]
        self._view = View(*probe.pinhole(), tuple(cell["overhead_camera"]["position"]))

    def scene(self, seed: int, count: int) -> None:
        """Judge one scene of some cubes."""
        truth, laid = self._probe.lay(seed, count)
        stamp = self._probe.sight_after(self._eye, laid)
        picture = self._probe.picture_after(laid)
        self._count("absent" if not truth else "", self._findings.plain, self._eye, stamp, truth)
        if len(self._findings.pictures) < TIMED and count:
            self._findings.pictures.append(picture)
        outlines = [
            self._view.pixels(box_corners(np.array([cube.x, cube.y, cube.z]), cube.yaw, self._edge)) for cube in truth
        ]
        for name, change in LIGHT.items():
            corners = outlines[self._random.integers(count)] if count else np.array([[320.0, 240.0]])
            self._look("" if truth else "absent", self._findings.light[name], change, picture, corners, truth)
        if count == 1:
            for name, change in OUT.items():
                for _ in range(SPOILT_PER_SCENE):
                    self._look(name, self._findings.plain, change, picture, outlines[0], [])

    def _look(
        self, spoilt: str, tally: Tally, change: Any, picture: Picture, corners: np.ndarray, truth: Sequence[Spot]
    ) -> None:
        stamp = self._probe.look(self._judge, SECOND, to_image(change(picture, corners, self._random)))
        self._count(spoilt, tally, self._judge, stamp, truth)

    def _count(self, spoilt: str, tally: Tally, eye: Eye, stamp: int, truth: Sequence[Spot]) -> None:
        """Tell of one picture: of the kind without a whole cube, or of a tally."""
        # A position or pose of anything but the chosen cube is as false as a cube that is not there.
        false = not eye.agrees(stamp)
        if spoilt:
            self._findings.spoilt[spoilt][0] += 1
            self._findings.spoilt[spoilt][1] += len(eye.sights[stamp].cubes) + false
        else:
            tally.add(truth, eye.sights[stamp].cubes)
            tally.false += false


def _measure_time(findings: Findings, probe: Probe, eye: Eye) -> None:
    """What the node says of its time, picture by picture, with nothing else running."""
    eye.frame_ms.clear()
    for picture in findings.pictures * (1 + 2 * TIMED // len(findings.pictures)):
        probe.look(eye, SECOND, to_image(picture))
        probe.spin(0.025)
    findings.frame_ms = list(eye.frame_ms.values())


def stream_full_hd(findings: Findings, seconds: float, folder: Path, console: Console) -> None:
    """1920 x 1080 pictures at 30 Hz: how many younger ones had been published when one was judged."""
    cell = load_scene()
    cell["overhead_camera"] |= FULL_HD
    scene = folder / "full_hd.yaml"
    scene.write_text(yaml.safe_dump(cell))
    calibration = folder / "full_hd_calibration.yaml"
    pictures = []
    with running([_sim(scene)], folder, console) as nodes, Probe(nodes.alive) as probe:
        _calibrate(scene, calibration)
        for seed in range(3):
            _, laid = probe.lay(seed, 4)
            pictures.append(to_image(probe.picture_after(laid)))
    vision = _vision("second_vision", {"calibration_file": str(calibration), "status_rate": 50.0}, SECOND.rstrip("/"))
    with running([vision], folder, console) as nodes, Probe(nodes.alive) as probe:
        eye = probe.eye(SECOND)
        probe.open(SECOND)
        probe.look(eye, SECOND, pictures[0])
        eye.frame_ms.clear()
        shown: dict[int, float] = {}
        begin = time.monotonic()
        for number in range(round(seconds * STREAM_RATE)):
            probe.spin(begin + number / STREAM_RATE - time.monotonic())
            stamp = probe.show(SECOND, pictures[number % len(pictures)])
            shown[stamp] = time.monotonic()
        probe.spin(1.0)
        times = np.array(list(shown.values()))
        lags = [
            int((times <= eye.heard[stamp]).sum() - number) - 1
            for number, stamp in enumerate(shown)
            if stamp in eye.heard
        ]
        if not lags:
            raise RuntimeError("vision judged no picture of 1920 x 1080 in time; is the machine busy?")
        found = {len(eye.sights[stamp].cubes) for stamp in shown if stamp in eye.sights}
        if found != {4}:
            raise RuntimeError(f"vision saw {sorted(found)} of 4 cubes in 1920 x 1080 pictures")
        findings.full_hd = {
            "published": len(shown),
            "judged": len(lags),
            "lag_mean": round(float(np.mean(lags)), 3),
            "lag_max": max(lags),
            "frame_ms_median": round(float(np.median(list(eye.frame_ms.values()))), 3),
        }


def _sim(scene: Path) -> NodeSpec:
    # At real time, as faster physics would take the cores that vision is measured on.
    parameters = {"scene": str(scene), "cubes": 0, "camera_rate": 30.0, "render_share": 1.0}
    return NodeSpec("ur5e_nik_mujoco", "sim_node", "sim", parameters)


def _vision(name: str, parameters: dict[str, Any], namespace: str = "") -> NodeSpec:
    return NodeSpec("ur5e_nik_vision", "vision_node", name, {"use_sim_time": True, **parameters}, namespace=namespace)


def _calibrate(scene: Path, output: Path) -> float:
    """Calibrate with the package's own command; the median residual on held-out points [mm]."""
    command = executable(NodeSpec("ur5e_nik_vision", "calibrate", "calibrate"))
    arguments = ["--lay-board", "--board", str(scene), "--output", str(output)]
    try:
        done = subprocess.run([str(command), *arguments], capture_output=True, text=True, timeout=CALIBRATION)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"calibrate had not ended after {CALIBRATION:.0f} s") from None
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    residuals = yaml.safe_load(output.read_text())["residuals_mm"]
    return float(residuals["held_out"]["median"])
