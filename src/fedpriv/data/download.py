"""One file over HTTP: retried, resumed, progress shown.

Pooch downloads; what it lacks, going on from a half-finished file, is added here.
"""

import time
from collections.abc import Callable
from pathlib import Path

import requests
from pooch import HTTPDownloader
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

SECONDS_TO_ANSWER = 30
CHUNK = 2**16  # bytes


class Bar:
    """A bar of rich that speaks pooch's protocol: `total`, `update`, `reset`, `close`."""

    def __init__(self, progress: Progress, title: str) -> None:
        self.progress = progress
        self.task = progress.add_task(title, total=None)

    @property
    def total(self) -> float | None:
        return self.progress.tasks[self.task].total

    @total.setter
    def total(self, size: int) -> None:
        self.progress.update(self.task, total=size)

    def update(self, size: int) -> None:
        self.progress.advance(self.task, size)

    def reset(self) -> None:
        self.progress.reset(self.task)

    def close(self) -> None:
        """Leave the closing to the `with` statement around the progress display."""


def append(url: str, part: Path) -> None:
    """Add to `part` what it lacks of the file at `url`; a server that sends the whole file overwrites it.

    Raises requests.RequestException; what has arrived until then stays in `part`.
    """
    there = part.stat().st_size if part.exists() else 0
    # A server that compressed under way would make the byte positions of a resumed download meaningless.
    headers = {"Accept-Encoding": "identity"}
    if there:
        headers["Range"] = f"bytes={there}-"
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    try:
        with (
            part.open("ab") as file,
            Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        ):

            def start_over(response: requests.Response, **_: object) -> None:
                if response.status_code == 200:  # and not 206, partial content
                    file.truncate(0)

            fetch = HTTPDownloader(
                progressbar=Bar(progress, part.name.split(".")[0]),  # pyright: ignore[reportArgumentType]
                chunk_size=CHUNK,
                headers=headers,
                hooks={"response": start_over},
                timeout=SECONDS_TO_ANSWER,
            )
            fetch(url, file, None)
    finally:
        if part.exists() and part.stat().st_size == 0:
            part.unlink()


def describe(error: requests.RequestException) -> str:
    """Return the failure in a few words: the HTTP status, or the system's own words at the root of it."""
    if error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    root: BaseException = error
    while root.__context__:
        root = root.__context__
    return f"{type(error).__name__}: {root}"


def download(url: str, part: Path, check: Callable[[Path], str], attempts: int, backoff: float) -> str:
    """Bring the file at `url` to `part`, or return why not; `check` returns what is wrong with a whole file.

    Tries up to `attempts` times where trying again can help, first `backoff` seconds apart, then twice that
    and so on. Afterwards `part` is right, absent, or the beginning of a file to be resumed.
    """
    reason = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(backoff * 2 ** (attempt - 1))
        resumed = part.exists()
        try:
            append(url, part)
        except requests.RequestException as error:
            reason = describe(error)
            status = None if error.response is None else error.response.status_code
            if status == 416:  # nothing after this position: the part is not of this file, or all of it
                part.unlink(missing_ok=True)
            elif status is not None and status < 500 and status != 429:
                return reason
        except OSError as error:  # of the disk: trying again does not help
            return f"{part}: {error.strerror or error}"
        else:
            reason = check(part)
            if not reason:
                return ""
            part.unlink()
            if not resumed:
                return reason
    return reason
