"""What an evaluation measured beside what is to be reached, as a table."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table


class Promise(NamedTuple):
    """One row: what, measured, to reach, and whether it is reached."""

    what: str
    measured: str
    reach: str
    kept: bool


def at_most(what: str, value: float | None, limit: float) -> Promise:
    """A figure that must not exceed a limit; None is not measured and not reached."""
    shown = "-" if value is None else f"{value:.3g}"
    return Promise(what, shown, f"<= {limit:g}" if limit else "0", value is not None and value <= limit)


def print_promises(console: Console, title: str, promises: list[Promise]) -> bool:
    """Print the rows; whether all are kept."""
    table = Table(title=title)
    table.add_column("what")
    for heading in ("measured", "to reach", ""):
        table.add_column(heading, justify="right")
    for promise in promises:
        kept = "yes" if promise.kept else "[bold]no[/bold]"
        table.add_row(escape(promise.what), promise.measured, promise.reach, kept)
    console.print(table)
    return all(promise.kept for promise in promises)
