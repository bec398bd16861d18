"""What a person sees while something runs: lines that nothing in them can obey, bars, and how long still.

Whatever is said at a terminal goes through here: it is shown and never obeyed, and to say it never fails.
All of it is on stderr. A process that another one has started for a part of its work leaves it to that.
"""

from __future__ import annotations

import io
import math
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import parent_process
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress


LINE_BREAK = re.compile(r"[ \t]*[\r\n][ \t\r\n]*")
# Controls, formats (among them those that turn the direction of writing), halves of a letter, separators.
OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""Return `text` in one line, with what would be obeyed instead of shown spelt out, as in `\x1b`.

    Breaks of lines are spaces. What is visible already is returned as it is.
    """
    line = LINE_BREAK.sub(" ", text.strip("\r\n")).replace("\t", " ")
    obeyed = {letter for letter in line if unicodedata.category(letter) in OBEYED}
    return line.translate({ord(letter): letter.encode("unicode_escape").decode() for letter in obeyed})


def say(*lines: str) -> None:
    """Print texts of any origin to stdout, a visible line each."""
    put("\n".join(map(visible, lines)), sys.stdout)


def print_stderr(*lines: str) -> None:
    """Print them to stderr; that they are lost is no reason to stop."""
    with suppress(OSError):
        put("\n".join(map(visible, lines)), sys.stderr)


def put(text: str, stream: TextIO | None) -> None:
    """Print a finished text at once; who no longer reads, or never did, is no reason to stop working.

    Raises OSError where it is lost for another reason, such as a full disk.
    """
    if stream is None:
        return
    if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
        stream.reconfigure(errors="backslashreplace")  # what its encoding has no letter for is spelt out
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        # What waits in the stream would fail once more, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


T = TypeVar("T")
Report = Callable[[dict[str, Any]], None]  # of the row of a round, or of `{unit: how many are done}`
Far = Callable[[int, int | None], str]  # how much of it is done, in words
Update = Callable[[int, str], None]

FIRST, PLAIN_SECONDS = 5.0, 30.0  # until the first line where there is no terminal; between two of them
MARK = "»"  # before what `fedpriv.cli.follow` passes on
BARS: list[Progress] = []  # shown in this process, each within the one before
UNITS = (("s", 1), ("min", 60), ("h", 3600), ("days", 86400))  # each from two of it on


def announce(text: str) -> None:
    """Say on stdout what a job of the workflow begins; all else goes to stderr, which is its log."""
    with suppress(OSError):
        put(visible(f"{MARK} {text}"), sys.stdout)


def announce_each(title: str, items: Collection[T], unit: str, name: Callable[[T], str]) -> Iterator[T]:
    """Yield the items, and announce each: its name, which of how many, and how long the rest may take."""
    started = time.monotonic()
    for done, item in enumerate(items):
        left = remaining(time.monotonic() - started, done, len(items) - done)
        parts = f"{unit} {done + 1} of {len(items)}", name(item), left and f"about {left}"
        announce(f"{title}: {', '.join(filter(None, parts))}" if len(items) > 1 else f"{title} {name(item)}")
        yield item


def duration(seconds: float) -> str:
    """Return a time in two digits and the largest unit of which there are two or more."""
    unit, size = next((pair for pair in reversed(UNITS) if seconds >= 2 * pair[1]), UNITS[0])
    count = seconds / size
    return f"{count:.1f} {unit}" if unit != "s" and count < 10 else f"{count:,.0f} {unit}"


def count_each(title: str, items: Collection[T], unit: str) -> Iterator[T]:
    """Yield the items, and show how many of them are done."""
    with progress(title, 0, len(items), unit) as report:
        for done, item in enumerate(items, start=1):
            yield item
            report({unit: done})


@contextmanager
def progress(title: str, done: int, total: int, unit: str = "round") -> Generator[Report]:
    """Yield the function to call after each round, or each image or whatever `unit` is counted.

    Of a round every follower that a package brings is told, too.
    """
    others = followers(title) if unit == "round" else []

    def report(row: dict[str, Any]) -> None:
        accuracy = row.get("test_accuracy", math.nan)  # NaN: of a round that was not evaluated
        update(row[unit], f"accuracy {accuracy:.3f}" if accuracy == accuracy else "")
        for follow in others:
            follow(row)

    with _shown(title, done, total, lambda done, total: f"{unit} {done} of {total}") as update:
        yield report


def followers(title: str) -> list[Report]:
    """Return what packages call with every round of a run: their entry points make it of its title."""
    from importlib.metadata import entry_points

    return [point.load()(title) for point in entry_points(group="fedpriv.followers")]


@contextmanager
def transfer(title: str, total: int | None) -> Generator[Callable[[int], None]]:
    """Yield the function to call with how many more bytes have come; nobody may know how many there are."""
    done, whole = 0, f" of {total / 1e6:,.1f}" if total else ""
    with _shown(title, done, total, lambda done, _: f"{done / 1e6:,.1f} MB{whole}") as update:

        def advance(size: int) -> None:
            nonlocal done
            done += size
            update(done, "")

        yield advance


@contextmanager
def _shown(title: str, done: int, total: int | None, far: Far) -> Generator[Update]:
    """Yield what is told how much is done, and a result of it in words or nothing."""
    if parent_process():
        yield lambda done, result: None
    else:
        with (_bar if sys.stderr.isatty() else _lines)(title, done, total, far) as update:
            yield update


@contextmanager
def _bar(title: str, done: int, total: int | None, far: Far) -> Generator[Update]:
    """Show a bar; one within another is a line below it, as long as it lasts."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = (TextColumn("{task.description}", markup=False), BarColumn())
    columns = (TextColumn("{task.fields[far]}"), TextColumn("{task.fields[result]}"), TimeRemainingColumn())
    with nullcontext(BARS[-1]) if BARS else Progress(*words, *columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(visible(title), completed=done, total=total, far=far(done, total), result="")
        BARS.append(bar)

        def update(done: int, result: str) -> None:
            bar.update(task, completed=done, far=far(done, total))
            if result:  # the last one stays
                bar.update(task, result=result)

        try:
            yield update
        finally:
            BARS.pop()
            if BARS:
                bar.remove_task(task)


@contextmanager
def _lines(title: str, begun: int, total: int | None, far: Far) -> Generator[Update]:
    """Print how far it is after 5 seconds and then twice a minute, even if nothing was done meanwhile.

    The end has a line where it has a result to say, or took as long.
    """
    started, ended = time.monotonic(), Event()
    done, latest = begun, ""

    def tell() -> None:
        left = remaining(time.monotonic() - started, done - begun, total and total - done)
        print_stderr(f"{title}: {', '.join(filter(None, (far(done, total), latest, left)))}")

    def tick() -> None:
        pause = FIRST
        while not ended.wait(pause):
            tell()
            pause = PLAIN_SECONDS

    def update(new: int, result: str) -> None:
        nonlocal done, latest
        done, latest = new, result

    ticker = Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield update
    finally:
        ended.set()
        ticker.join()
    if done == total and (latest or time.monotonic() - started >= FIRST):
        tell()


def remaining(seconds: float, done: int, left: int | None) -> str:
    """Return the time that is left if all goes on as it went; empty where nobody knows that."""
    return f"{duration(seconds / done * left)} left" if done and left else ""
