"""Compare a small network with threshold and homography, as the eye that finds the cube.

Question. The project began with a learned regressor beside a colour threshold, and dropped it: it had been trained on
labels of the threshold itself, behind a frozen network made for something else. With true labels and a network made for
the task, which is the better eye?

Protocol. Scenes of one cube, anywhere on the pick tray at any yaw, rendered by the embedded simulation, labelled by its
ground truth. The network sees the tray's part of the picture at full resolution: four convolutions, of which the last
makes one heat map, whose centre of mass gives the position (through an affine map) and whose weighted features give the
yaw (as cosine and sine of four times it). It is trained on 5000 scenes, two of three spoilt by the same kinds of bad
light as in the test. Both are judged on the same 500 held-out scenes, as they are and in four kinds of bad light.
The threshold knows the camera from the committed calibration and the cube's size; the network knows neither.

Time. About 8 minutes on one core, 2 of them for rendering; with --quick (300 scenes, 2 epochs, 40 test scenes) 30 s,
for trying the script only.

    ./run exec python experiments/camera.py [--quick] [--out FOLDER]

It needs torch and matplotlib, which ./run test installs. Writes camera.json and camera.png.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ur5e_nik_bringup.evaluation.pictures import LIGHT, View, box_corners
from ur5e_nik_bringup.evaluation.scores import summary
from ur5e_nik_bringup.waypoints import Spot
from ur5e_nik_mujoco.gl import choose_backend
from ur5e_nik_vision.calibration import Calibration
from ur5e_nik_vision.colour import COLOURS
from ur5e_nik_vision.detection import DetectorSettings, find_cubes

ROOT = Path(__file__).resolve().parents[1]
SEED = 0
# The pick tray with a margin, in the 640 x 480 picture: rows and columns, multiples of 8.
CROP = (slice(120, 360), slice(328, 616))
BATCH = 16
LEARNING_RATE = 3e-3


class Eye(nn.Module):
    """Pictures (N, 3, H, W) in [-0.5, 0.5] to x, y in tray units and cosine and sine of four yaws, (N, 4)."""

    def __init__(self) -> None:
        super().__init__()

        def block(inputs: int, outputs: int, size: int, stride: int) -> list[nn.Module]:
            convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
            return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]

        self.body = nn.Sequential(*block(3, 16, 5, 2), *block(16, 32, 3, 2), *block(32, 48, 3, 2), *block(48, 48, 3, 1))
        self.heat = nn.Conv2d(48, 1, 1)
        self.place = nn.Linear(2, 2)
        self.yaw = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """See the class."""
        features = self.body(pictures)
        height, width = features.shape[-2:]
        weight = self.heat(features).flatten(1).softmax(-1).view(-1, 1, height, width)
        v = (weight.sum(-1)[:, 0] * torch.linspace(-1, 1, height)).sum(-1)
        u = (weight.sum(-2)[:, 0] * torch.linspace(-1, 1, width)).sum(-1)
        pooled = (features * weight).sum((-1, -2))
        return torch.cat([self.place(torch.stack([u, v], -1)), self.yaw(pooled)], -1)


def render(count: int, first_seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """BGR pictures (480, 640, 3) of scenes of one cube, and its true x, y, z [m] and yaw [rad], (count, 4)."""
    choose_backend()
    from ur5e_nik_mujoco.cameras import Cameras
    from ur5e_nik_mujoco.scene import load_scene
    from ur5e_nik_mujoco.simulation import Simulation

    simulation = Simulation(load_scene(ROOT / "src/ur5e_nik_mujoco/config/scene.yaml"), first_seed, 1)
    pictures, truth = [], []
    with Cameras(simulation) as cameras:
        for seed in range(first_seed, first_seed + count):
            simulation.reset(seed, 1)
            simulation.step(50)  # the cube settles
            cube = simulation.cubes()[0]
            pictures.append(np.ascontiguousarray(cameras.render("overhead_camera")[..., ::-1]))
            truth.append((*cube.position, 2 * math.atan2(cube.quaternion[2], cube.quaternion[3])))
    return pictures, np.array(truth)


class Scene:
    """What the cell's description gives to both: the camera's view, and the tray as the unit of the network."""

    def __init__(self) -> None:
        self.calibration = Calibration.load(ROOT / "src/ur5e_nik_vision/config/overhead_camera.yaml")
        camera = self.calibration.camera
        matrix = camera.lens.matrix
        self.view = View(matrix[0, 0], (matrix[0, 2], matrix[1, 2]), tuple(camera.position))
        x_min, x_max, y_min, y_max = DetectorSettings().region
        self.middle = np.array([(x_min + x_max) / 2, (y_min + y_max) / 2])
        self.reach = np.array([(x_max - x_min) / 2, (y_max - y_min) / 2])

    def outline(self, truth: np.ndarray) -> np.ndarray:
        """Pixels (8, 2) of a cube's corners."""
        return self.view.pixels(box_corners(truth[:3], truth[3], 2 * 0.0225))

    def targets(self, truth: np.ndarray) -> np.ndarray:
        """What the network is to answer, (N, 4)."""
        turn = 4 * truth[:, 3]
        return np.column_stack([(truth[:, :2] - self.middle) / self.reach, np.cos(turn), np.sin(turn)])

    def answers(self, outputs: np.ndarray) -> np.ndarray:
        """x, y [m] and yaw [rad], (N, 3), of what the network answers."""
        yaw = np.arctan2(outputs[:, 3], outputs[:, 2]) / 4
        return np.column_stack([outputs[:, :2] * self.reach + self.middle, yaw])


def tensor(pictures: list[np.ndarray]) -> torch.Tensor:
    """The tray's part of pictures, as the network takes it."""
    stack = np.stack([picture[CROP] for picture in pictures]).transpose(0, 3, 1, 2)
    return torch.from_numpy(stack.astype(np.float32) / 255 - 0.5)


def train(pictures: list[np.ndarray], truth: np.ndarray, scene: Scene, epochs: int) -> Eye:
    """A network trained on true labels; each epoch spoils two of three pictures anew."""
    torch.manual_seed(SEED)
    random = np.random.default_rng(SEED)
    eye = Eye().to(memory_format=torch.channels_last)
    targets = torch.from_numpy(scene.targets(truth).astype(np.float32))
    optimizer = torch.optim.AdamW(eye.parameters(), weight_decay=1e-4)
    steps = epochs * (len(pictures) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    changes = list(LIGHT.values())
    corner = np.array([CROP[1].start, CROP[0].start])
    for epoch in range(epochs):
        losses = []
        for rows in np.split(random.permutation(len(pictures))[: steps // epochs * BATCH], steps // epochs):
            seen = []
            for row in rows:
                picture = pictures[row][CROP]
                if random.random() < 2 / 3:
                    change = changes[random.integers(len(changes))]
                    picture = change(picture, scene.outline(truth[row]) - corner, random)
                seen.append(picture)
            stack = np.stack(seen).transpose(0, 3, 1, 2)
            inputs = torch.from_numpy(stack.astype(np.float32) / 255 - 0.5)
            outputs = eye(inputs.contiguous(memory_format=torch.channels_last))
            error = outputs - targets[rows]
            loss = nn.functional.smooth_l1_loss(50 * error[:, :2], torch.zeros_like(error[:, :2]))
            loss = loss + error[:, 2:].square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.4f}", flush=True)
    return eye.eval()


def ask_network(eye: Eye, pictures: list[np.ndarray], scene: Scene) -> tuple[np.ndarray, float]:
    """Answers (N, 3), and the median time of one picture [ms]."""
    outputs, times = [], []
    with torch.inference_mode():
        for picture in pictures:
            begin = time.perf_counter()
            outputs.append(eye(tensor([picture]).contiguous(memory_format=torch.channels_last))[0].numpy())
            times.append(1e3 * (time.perf_counter() - begin))
    return scene.answers(np.array(outputs, dtype=np.float64)), float(np.median(times))


def ask_threshold(pictures: list[np.ndarray], scene: Scene) -> tuple[np.ndarray, float]:
    """The same by threshold and homography; NaN where no cube was found."""
    answers, times = [], []
    for picture in pictures:
        begin = time.perf_counter()
        cubes = find_cubes(picture, scene.calibration, {"red": COLOURS["red"]}, DetectorSettings()).cubes
        times.append(1e3 * (time.perf_counter() - begin))
        answers.append((*cubes[0].position[:2], cubes[0].yaw) if len(cubes) == 1 else (np.nan,) * 3)
    return np.array(answers), float(np.median(times))


def judge(answers: np.ndarray, truth: np.ndarray) -> tuple[dict, np.ndarray]:
    """Errors in the plane and in yaw of what was found, and every position error [mm]."""
    found = np.isfinite(answers[:, 0])
    position = 1e3 * np.linalg.norm(answers[found, :2] - truth[found, :2], axis=1)
    spots = [[Spot(0.0, 0.0, 0.0, yaw) for yaw in yaws] for yaws in (answers[found, 2], truth[found, 3])]
    yaw = np.degrees([seen.turn(true) for seen, true in zip(*spots, strict=True)])
    return {"found": int(found.sum()), "position_mm": summary(position), "yaw_deg": summary(yaw)}, position


def draw(errors: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """Distributions of the position errors, in plain light and in bad."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for (name, kinds), colour in zip(errors.items(), ("tab:blue", "tab:orange"), strict=True):
        for kind, style in zip(kinds, ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))), strict=True):
            values = np.sort(kinds[kind])
            axes.plot(values, np.linspace(0, 100, len(values)), linestyle=style, color=colour, label=f"{name}, {kind}")
    axes.set(xscale="log", xlabel="position error [mm]", ylabel="scenes with at most that [%]", ylim=(0, 101))
    axes.set_title(f"One cube, {len(values)} held-out scenes")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=7, loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Train, judge both, write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few scenes, to try the script")
    parser.add_argument(
        "--out", type=Path, help="folder of the results (default: experiments/results; quick: out/experiments)"
    )
    options = parser.parse_args()
    scenes, epochs, tests = (300, 2, 40) if options.quick else (5000, 12, 500)
    # A quick run must not take the place of the figures that the page shows.
    options.out = options.out or ROOT / ("out/experiments" if options.quick else "experiments/results")
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    scene = Scene()
    begin = time.monotonic()
    pictures, truth = render(scenes, 1_000_000)
    rendered = time.monotonic() - begin
    print(f"{scenes} scenes rendered in {rendered:.0f} s", flush=True)
    eye = train(pictures, truth, scene, epochs)
    trained = time.monotonic() - begin - rendered
    pictures, truth = render(tests, 2_000_000)
    random = np.random.default_rng(SEED + 1)
    report: dict = {"train_scenes": scenes, "epochs": epochs, "test_scenes": tests, "seed": SEED}
    report["network_parameters"] = sum(parameter.numel() for parameter in eye.parameters())
    report["seconds"] = {"rendering": round(rendered), "training": round(trained)}
    report["ms"] = {}
    report["results"] = {"threshold": {}, "network": {}}
    errors: dict = {"threshold": {}, "network": {}}
    for kind in ("plain", *LIGHT):
        shown = pictures
        if kind != "plain":
            rows = zip(pictures, truth, strict=True)
            shown = [LIGHT[kind](picture, scene.outline(cube), random) for picture, cube in rows]
        for name, (answers, ms) in (
            ("threshold", ask_threshold(shown, scene)),
            ("network", ask_network(eye, shown, scene)),
        ):
            report["results"][name][kind], errors[name][kind] = judge(answers, truth)
            report["ms"].setdefault(name, round(ms, 2))
            print(kind, name, report["results"][name][kind], flush=True)
    (options.out / "camera.json").write_text(json.dumps(report, indent=2) + "\n")
    draw(errors, options.out / "camera.png")


if __name__ == "__main__":
    main()
