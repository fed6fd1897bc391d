"""The command line: train one network, or evaluate those there are."""

import argparse
import dataclasses
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from rich import box
from rich.console import Console
from rich.table import Table

from ur5e_nik_ik.dh import DhParameters, load_dh
from ur5e_nik_ik.models import models_folder
from ur5e_nik_ik.network import Network, NetworkError
from ur5e_nik_ik.training.configs import CONFIGS, TrainingConfig
from ur5e_nik_ik.training.data import held_out_targets
from ur5e_nik_ik.training.evaluate import metrics
from ur5e_nik_ik.training.trainer import Trainer, TrainingError


def _number(convert: Callable, good: Callable[[float], bool], wanted: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not good(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
        return value

    return parse


_count = _number(int, lambda value: 1 <= value <= 10**9, "a whole number of 1 or more")
_seed = _number(int, lambda value: 0 <= value < 2**32, "a whole number from 0 to 2^32 - 1")
_rate = _number(float, lambda value: 0.0 < value < math.inf, "a finite number greater than 0")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train",
        description="Train one network of the UR5e's inverse kinematics, or evaluate those there are.",
        epilog="Several processes: torchrun --nproc-per-node N -m ur5e_nik_ik.training ...",
    )
    parser.add_argument("--config", choices=CONFIGS, default="tool-down", help="which network (default: tool-down)")
    parser.add_argument("--dh", default="ur5e", help="DH set: ur5e, ur5e_webots or a .yaml file (default: ur5e)")
    parser.add_argument("--seed", type=_seed, help="of weights and targets (default: the config's)")
    parser.add_argument("--samples", type=_count, help="targets of one set (default: the config's)")
    parser.add_argument("--epochs", type=_count, help="that many sets for Adam and no Levenberg-Marquardt after it")
    parser.add_argument("--lr", type=_rate, help="learning rate of Adam at the start (default: the config's)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 ... (default: cpu)")
    parser.add_argument("--threads", type=_count, default=1, help="CPU threads of torch (default: 1)")
    parser.add_argument("--resume", action="store_true", help="go on where the last run in the folder stopped")
    parser.add_argument(
        "--evaluate", action="store_true", help="measure every network of the folder on held-out targets"
    )
    parser.add_argument(
        "--models", type=Path, help="folder of the networks (default: out/models; to evaluate: the package's own)"
    )
    parser.add_argument("--out", type=Path, help="with --evaluate: also write the metrics to this JSON file")
    return parser


def _config(options: argparse.Namespace) -> TrainingConfig:
    changes = {"seed": options.seed, "samples": options.samples, "learning_rate": options.lr}
    if options.epochs is not None:
        changes |= {"adam_steps": options.epochs, "newton_steps": 0}
    return dataclasses.replace(
        CONFIGS[options.config], **{name: value for name, value in changes.items() if value is not None}
    )


def _command(options: argparse.Namespace, config: TrainingConfig) -> str:
    """Return the call that repeats the run, for the model card."""
    words = ["./run train", "--config", config.name, "--dh", Path(options.dh).name, "--seed", str(config.seed)]
    for name in ("samples", "epochs", "lr"):
        if getattr(options, name) is not None:
            words += [f"--{name}", f"{getattr(options, name):g}"]
    return " ".join(words)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise TrainingError(f"--device {name}: {str(error).splitlines()[0]}") from None
    return device


def _train(options: argparse.Namespace, console: Console) -> None:
    config = _config(options)
    folder = options.models or Path("out/models")
    start = time.monotonic()
    trainer = Trainer(config, load_dh(options.dh), folder, _command(options, config), _device(options.device), console)
    if options.resume:
        trainer.resume()
    card = trainer.run()
    if trainer.rank == 0:
        console.print(_table([card]))
        console.print(f"{time.monotonic() - start:.0f} s; the best network and its card: {trainer.path}")


def _evaluate(options: argparse.Namespace, console: Console) -> None:
    folder = options.models or models_folder()
    cards = []
    for path in sorted(folder.glob("*.npz")):
        try:
            arm = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["dh"]
            dh = DhParameters(arm["name"], tuple(arm["d"]), tuple(arm["a"]))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise NetworkError(f"{path.with_suffix('.json')} is not the card of a network: {error!r}") from None
        network = Network.load(path, dh)
        targets = held_out_targets(CONFIGS[network.card["name"]], dh)
        cards.append({**network.card, "metrics": metrics(network, targets, dh)})
    if not cards:
        raise NetworkError(f"there is no network (.npz) in {folder}: train one, or name another folder with --models")
    console.print(_table(cards))
    if options.out:
        content = {
            f"{card['name']}-{card['dh']['name']}": {"parameters": card["parameters"], **card["metrics"]}
            for card in cards
        }
        text = json.dumps(content, indent=2)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n", encoding="utf-8")


def _table(cards: list[dict]) -> Table:
    table = Table(
        title="Raw errors on held-out targets; answers and branches of 8 that 3 Newton steps solve to 1e-6 m and rad",
        box=box.SIMPLE,
    )
    headings = ("network", "weights", "targets", "mean mm", "median", "p99", "max", "mean deg", "solved", "of 8")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "network" else "right")
    for card in cards:
        found = card["metrics"]
        position = found["position_mm"]
        table.add_row(
            f"{card['name']} ({card['dh']['name']})",
            f"{card['parameters']:,}",
            f"{found['targets']:,}",
            *(f"{position[key]:.4f}" for key in ("mean", "median", "p99", "max")),
            f"{found['orientation_deg']['mean']:.4f}",
            f"{100.0 * found['solved']:.2f} %",
            "-" if found["branches_of_8"] is None else f"{found['branches_of_8']:.3f}",
        )
    return table


def main() -> None:
    """Run the command line; exit 1 when it did not work, with one line that says why."""
    options = _parser().parse_args()
    torch.set_num_threads(options.threads)
    distributed = "RANK" in os.environ and "WORLD_SIZE" in os.environ
    try:
        if distributed:
            dist.init_process_group("nccl" if options.device.startswith("cuda") else "gloo")
        (_evaluate if options.evaluate else _train)(options, Console(width=None if sys.stdout.isatty() else 120))
    except (ValueError, OSError, TrainingError) as error:
        print(f"train: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("train: stopped; --resume goes on from the last check", file=sys.stderr)
        sys.exit(130)
    finally:
        if distributed and dist.is_initialized():
            dist.destroy_process_group()
