"""Files that training writes, each of them whole or not at all."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside `path`, then put it in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            write(file)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def save_network(path: Path, card: dict, weights: np.ndarray) -> None:
    """Write the network (.npz, card inside) and the card beside it (.json)."""
    text = json.dumps(card, indent=2)
    write_atomically(path, lambda file: np.savez_compressed(file, card=text, weights=weights))
    write_atomically(path.with_suffix(".json"), lambda file: file.write((text + "\n").encode()))


def save_state(path: Path, state: dict) -> None:
    """Write what a training run needs to go on."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_atomically(path, lambda file: file.write(buffer.getvalue()))


def load_state(path: Path) -> dict:
    """Read what save_state wrote; weights only, no code in the file runs."""
    return torch.load(path, map_location="cpu", weights_only=True)
