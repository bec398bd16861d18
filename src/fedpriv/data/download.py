"""One file over HTTP: retried, resumed, progress plain, and an end to what is too large or too slow."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import IO, TypeVar

import requests
from urllib3 import HTTPResponse

from fedpriv.errors import plain
from fedpriv.progress import transfer

T = TypeVar("T")
CHUNK = 2**16  # bytes
SECONDS = 60  # in which the answer, and then every further CHUNK, has to come


class Failed(Exception):
    """A server did not give the file; `again`: it may do so if it is asked once more."""

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class Spoilt(Failed):
    """What has come so far is not the beginning of the file."""


def within(seconds: float, act: Callable[[], T]) -> T:
    """Return what `act` returns, or raise what it raises as Failed, whatever it is; late is too slow.

    Timeouts of sockets begin again with every byte. A thread that is late is left to itself: nobody listens
    to what it brings.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(act())
        except Exception as error:
            # Nothing changes in what cannot be understood: a Location, a length, an encoding.
            future.set_exception(Failed(describe(error), again=not isinstance(error, ValueError)))

    Thread(target=run, daemon=True).start()
    try:
        return future.result(max(seconds, 0))
    except TimeoutError:
        raise Failed(f"too slow: found less than {CHUNK:,} bytes in {SECONDS:g} s") from None


def describe(error: BaseException) -> str:
    """Return a failure in a few words: its kind, and the system's own words at the root of it."""
    root = error
    while root.__context__:
        root = root.__context__
    return f"{type(error).__name__}: {plain(str(root)[:300]) if not str(root).isprintable() else root}"


class Download:
    """The file at one URL on its way into `part`, which outlives what breaks off.

    What is in `part` is gone on from only if it can be told to be of the same file: where the hash of the
    whole is not `known`, by the server's name for what it sent before (its strong ETag).
    """

    def __init__(self, url: str, part: Path, known: bool, largest: int) -> None:
        self.url, self.part, self.known, self.largest = url, part, known, largest
        self.etag = ""

    def go_on(self) -> None:
        """Add to `part` what it lacks; a server that sends the whole file overwrites it.

        Raises Failed; what has arrived until then stays in `part`. An OSError is of the disk.
        """
        if not (self.known or self.etag):
            self.part.unlink(missing_ok=True)
        there = self.part.stat().st_size if self.part.exists() else 0
        # A server that compressed under way would make the byte positions of a resumed download meaningless.
        headers = {"Accept-Encoding": "identity"}
        if there:
            headers |= {"Range": f"bytes={there}-"} | ({"If-Range": self.etag} if self.etag else {})
        began = time.monotonic()
        answer = within(SECONDS, lambda: asked(self.url, headers))
        try:
            there, total = self.position(answer, there)
            with self.part.open("ab") as file:
                file.truncate(there)
                self.write(answer, file, there, total, began)
        finally:
            Thread(target=answer.close, daemon=True).start()  # it waits for who still reads
            if self.part.exists() and self.part.stat().st_size == 0:
                self.part.unlink()

    def position(self, answer: requests.Response, there: int) -> tuple[int, int | None]:
        """Return where the bytes of an answer belong and how large the file is; None: it does not say.

        An answer that is not the file, or not what it lacks, is Failed.
        """
        status, headers = answer.status_code, answer.headers
        if status == 416:  # nothing after this position: the part is not of this file, or all of it
            raise Spoilt(f"HTTP {status} {plain(answer.reason)}", again=True)
        if status not in (200, 206):
            raise Failed(f"HTTP {status} {plain(answer.reason)}", again=status >= 500 or status == 429)
        if status == 206:
            found = headers.get("Content-Range", "nothing")
            right = re.fullmatch(rf"bytes {there}-(\d{{1,18}})/(\d{{1,18}})", found) if there else None
            if not right or int(right[1]) + 1 != int(right[2]) or "Content-Encoding" in headers:
                allowed = f"all from byte {there}"
                raise Spoilt(f"found Content-Range {plain(found)}, allowed: {allowed}", again=True)
            if not self.known and headers.get("ETag") != self.etag:
                raise Spoilt(f"found a part without the ETag {plain(self.etag)}", again=True)
            return there, int(right[2])
        etag = headers.get("ETag", "")
        self.etag = etag if re.fullmatch(r'"[!#-~]*"', etag) else ""
        length = re.fullmatch(r"\d{1,18}", headers.get("Content-Length", ""))
        chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
        total = int(length[0]) if length and "Content-Encoding" not in headers else None
        if not (self.known or chunked or length) or (not self.known and "Content-Encoding" in headers):
            raise Failed("found an answer of which nobody could say whether it is whole")
        return 0, total

    def write(
        self, answer: requests.Response, file: IO[bytes], size: int, total: int | None, began: float
    ) -> None:
        """Append the body to `file`, which has `size` of `total` bytes.

        A body that is too large, too slow, cut or empty is Failed.
        """
        came, blocks = 0, iter(answer.iter_content(CHUNK))
        self.limit(total or 0)
        with transfer(self.part.name.split(".")[0], size, total) as advance:
            while block := within(began + SECONDS - time.monotonic(), lambda: following(blocks)):
                size, came = size + len(block), came + len(block)
                self.limit(size)
                file.write(block)
                advance(len(block))
                if came >= CHUNK:
                    began, came = time.monotonic(), 0
        if not size or size < (total or 0):
            raise Failed(f"found {size:,} of {total or 'at least one'} bytes", again=True)

    def limit(self, size: int) -> None:
        """Raise Spoilt if so many bytes are too many."""
        if size > self.largest:
            raise Spoilt(f"found more than {self.largest:,} bytes")


def asked(url: str, headers: Mapping[str, str]) -> requests.Response:
    """Return the answer of a server, or of the one that it leads to, its body not yet read."""
    hooks = {"response": without_body}
    return requests.get(url, headers=headers, hooks=hooks, stream=True, timeout=SECONDS / 2)


def without_body(answer: requests.Response, **_: object) -> None:
    """Take from an answer that leads elsewhere its body, which would be read and may have no end."""
    if answer.is_redirect:
        answer.raw.close()
        answer.raw = HTTPResponse(BytesIO(), preload_content=False)


def following(blocks: Iterator[bytes]) -> bytes:
    """Return the next block that is not empty; empty after the last one."""
    return next(filter(None, blocks), b"")


def download(
    url: str,
    part: Path,
    check: Callable[[Path], str],
    attempts: int,
    backoff: float,
    known: bool,
    largest: int,
) -> str:
    """Bring the file at `url` to `part`, or return why not; `check` returns what is wrong with a whole file.

    Tries up to `attempts` times where trying again can help, first `backoff` seconds apart, then twice that
    and so on. Afterwards `part` is right, absent, or the beginning of a file to be resumed. `known` says that
    `check` compares a hash; where it does not, nothing is taken of which the server does not say what it is.
    More than `largest` bytes are not taken either.
    """
    reason, going = "", Download(url, part, known, largest)
    for attempt in range(attempts):
        if attempt:
            time.sleep(backoff * 2 ** (attempt - 1))
        resumed = part.exists()
        try:
            going.go_on()
        except Failed as error:
            reason = str(error)
            if isinstance(error, Spoilt):
                part.unlink(missing_ok=True)
            if not error.again:
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
