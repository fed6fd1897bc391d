"""The command line: train one network, or evaluate the committed ones."""

import argparse
import dataclasses
import json
import math
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from rich.console import Console
from rich.table import Table

from ur5e_nik_ik.dh import DhParameters, load_dh
from ur5e_nik_ik.network import Network, NetworkError
from ur5e_nik_ik.training.configs import CONFIGS, TrainingConfig
from ur5e_nik_ik.training.data import held_out_targets
from ur5e_nik_ik.training.evaluate import evaluate
from ur5e_nik_ik.training.trainer import Trainer, TrainingError

MODELS = Path(__file__).resolve().parents[2] / "models"


def _number(text: str, convert, good, wanted: str):
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or not good(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return value


def _count(text: str) -> int:
    return _number(text, int, lambda value: value >= 1, "a whole number of 1 or more")


def _seed(text: str) -> int:
    return _number(text, int, lambda value: 0 <= value < 2**32, "a whole number from 0 to 2^32 - 1")


def _rate(text: str) -> float:
    return _number(text, float, lambda value: 0.0 < value < math.inf, "a finite number greater than 0")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train",
        description="Train one network of the UR5e's inverse kinematics, or evaluate those there are.",
        epilog="Several processes: torchrun --nproc-per-node N -m ur5e_nik_ik.training ...",
    )
    parser.add_argument("--config", choices=CONFIGS, default="tool-down", help="which network")
    parser.add_argument("--evaluate", action="store_true", help="print the metrics of every network of the folder")
    parser.add_argument("--dh", default="ur5e", help="DH set: ur5e, ur5e_webots or a .yaml file")
    parser.add_argument(
        "--models",
        type=Path,
        help="folder of the networks (training: out/models; evaluation: those of the package)",
    )
    parser.add_argument("--out", type=Path, help="evaluation: also write the metrics as JSON here")
    parser.add_argument("--seed", type=_seed, help="of weights and targets")
    parser.add_argument("--samples", type=_count, help="targets a branch and set")
    parser.add_argument("--epochs", type=_count, help="sets that Adam sees; without Levenberg-Marquardt after it")
    parser.add_argument("--lr", type=_rate, help="learning rate of Adam at the start")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 ...")
    parser.add_argument("--resume", action="store_true", help="go on where the last run stopped")
    return parser


def _config(options: argparse.Namespace) -> TrainingConfig:
    changes = {"seed": options.seed, "samples": options.samples, "learning_rate": options.lr}
    if options.epochs is not None:
        changes |= {"adam_steps": options.epochs, "newton_steps": 0}
    changes = {key: value for key, value in changes.items() if value is not None}
    return dataclasses.replace(CONFIGS[options.config], **changes)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise TrainingError(f"--device {name}: {reason}") from None
    return device


def _command(options: argparse.Namespace, config: TrainingConfig, dh: DhParameters) -> str:
    """Return the call that repeats the run, for the model card."""
    words = ["./run train", "--config", config.name, "--dh", dh.name, "--seed", str(config.seed)]
    for name in ("samples", "epochs", "lr"):
        if getattr(options, name) is not None:
            words += [f"--{name}", f"{getattr(options, name):g}"]
    return " ".join(words)


def _train(options: argparse.Namespace, dh: DhParameters, console: Console) -> None:
    config = _config(options)
    folder = options.models or Path("out/models")
    start = time.monotonic()
    trainer = Trainer(config, dh, folder, _command(options, config, dh), _device(options.device), console)
    if options.resume:
        trainer.resume()
    card = trainer.run()
    if trainer.rank == 0:
        console.print(_table([card]))
        console.print(f"{time.monotonic() - start:.0f} s; network and card: {trainer.path}")


def _evaluate(options: argparse.Namespace, dh: DhParameters, console: Console) -> None:
    folder = options.models or MODELS
    cards = []
    for path in sorted(folder.glob("*.npz")):
        card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        arm = DhParameters(card["dh"]["name"], card["dh"]["d"], card["dh"]["a"])
        network = Network.load(path, arm)
        targets = held_out_targets(CONFIGS[network.card["name"]])
        cards.append({**network.card, "metrics": evaluate(network, targets, arm)})
    if not cards:
        raise NetworkError(f"there is no network (.npz) in {folder}; name another with --models")
    console.print(_table(cards))
    if options.out:
        text = json.dumps({card["name"]: card["metrics"] for card in cards}, indent=2)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n", encoding="utf-8")


def _table(cards: list[dict]) -> Table:
    table = Table(title="Raw errors on held-out targets, not polished")
    for heading in ("network", "DH set"):
        table.add_column(heading)
    for heading in ("parameters", "branches", "targets", "mean mm", "median mm", "p99 mm", "max mm"):
        table.add_column(heading, justify="right")
    table.add_column("mean deg", justify="right")
    for card in cards:
        metrics = card["metrics"]
        position = metrics["position_mm"]
        table.add_row(
            card["name"],
            card["dh"]["name"],
            f"{card['parameters']:,}",
            str(len(card["branches"])),
            f"{metrics['targets']:,}",
            *(f"{position[key]:.4f}" for key in ("mean", "median", "p99", "max")),
            f"{metrics['orientation_deg']['mean']:.5f}",
        )
    return table


def main() -> None:
    """Run the command line; 1 when the run did not work, with one line that says why."""
    options = _parser().parse_args()
    console = Console(stderr=False)
    distributed = "RANK" in os.environ and "WORLD_SIZE" in os.environ
    try:
        if distributed:
            dist.init_process_group("nccl" if options.device.startswith("cuda") else "gloo")
        work = _evaluate if options.evaluate else _train
        work(options, load_dh(options.dh), console)
    except (ValueError, OSError, TrainingError) as error:
        print(f"train: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("train: stopped; --resume goes on", file=sys.stderr)
        sys.exit(130)
    finally:
        if distributed and dist.is_initialized():
            dist.destroy_process_group()
