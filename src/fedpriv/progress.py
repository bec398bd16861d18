"""Say how far a run is: a bar on a terminal, a plain line now and then otherwise."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol

from fedpriv.terminal import aside, put, visible

PLAIN_SECONDS = 30.0  # between two lines where there is no terminal
MARK = "»"  # before what `fedpriv.cli.follow` passes on


def announce(text: str) -> None:
    """Say on stdout what a job of the workflow begins; all else goes to stderr, which is its log."""
    put(visible(f"{MARK} {text}"), sys.stdout)


class Report(Protocol):
    """Called after each round with the row just written; for another unit, with `{unit: how many done}`."""

    def __call__(self, row: dict[str, Any]) -> None: ...


@contextmanager
def progress(title: str, done: int, total: int, unit: str = "round") -> Generator[Report]:
    """Yield the function to call after each round, or each image or whatever `unit` is counted."""
    if sys.stderr.isatty():
        with _bar(title, done, total, unit) as report:
            yield report
    else:
        yield _lines(title, total, unit)


@contextmanager
def _bar(title: str, done: int, total: int, unit: str) -> Generator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[accuracy]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(visible(title), completed=done, total=total, accuracy="")

        def report(row: dict[str, Any]) -> None:
            bar.update(task, completed=row[unit])
            accuracy = row.get("test_accuracy", math.nan)
            if accuracy == accuracy:  # not NaN: evaluated this round
                bar.update(task, accuracy=f"accuracy {accuracy:.3f}")

        yield report


def _lines(title: str, total: int, unit: str) -> Report:
    last = time.monotonic()

    def report(row: dict[str, Any]) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < PLAIN_SECONDS and row[unit] != total:
            return
        last = now
        accuracy = row.get("test_accuracy", math.nan)
        said = f", accuracy {accuracy:.3f}" if accuracy == accuracy else ""
        aside(f"{title}: {unit} {row[unit]} of {total}{said}")

    return report
