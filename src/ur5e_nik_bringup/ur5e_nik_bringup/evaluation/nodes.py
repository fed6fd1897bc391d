"""Nodes for the length of an evaluation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ur5e_nik_bringup.starter import Starter
from ur5e_nik_bringup.system import NodeSpec


@contextlib.contextmanager
def running(specs: Sequence[NodeSpec], folder: Path, console: Console) -> Iterator[Starter]:
    """Nodes for a while; what they warn of is printed."""

    def log(name: str, line: str) -> None:
        if "[INFO]" not in line:
            console.print(Text(f"[{name}] {line}", style="dim"), soft_wrap=True)

    with Starter(specs, folder / "log", log) as starter:
        yield starter
