"""Raw files from mirrors and public sources: checked, retried, there whole or not at all.

Sources are asked one after another: the folders and URLs of FEDPRIV_MIRROR, those of the config, the public
sources. Hashes are of decompressed bytes, so that any gzip of the right contents serves. Files of a Kaggle
competition come through kagglehub; what Kaggle refuses is explained in one line.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import time
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, BinaryIO

from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.errors import BadInput, is_full
from fedpriv.progress import print_stderr, transfer
from fedpriv.store.files import hold_lock, remove_torn, writing

CREDENTIALS = (
    "make a token on https://www.kaggle.com/settings and put it into KAGGLE_API_TOKEN, or set "
    "KAGGLE_USERNAME and KAGGLE_KEY, or keep kaggle.json in ~/.kaggle"
)


def competition(name: str, competition: str) -> Path:
    """Return kagglehub's folder of the competition's files, downloading what is not there yet.

    Raises SourceError that says what Kaggle wants. Credentials are read by kagglehub alone, and no word of
    its own is passed on: what it prints and raises may hold them.
    """
    print_stderr(f"{name}: from the Kaggle competition {competition}")
    with redirect_stdout(io.StringIO()):
        import kagglehub

        try:
            return Path(kagglehub.competition_download(competition))
        except Exception as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            reason = f"HTTP {status}" if status else cause(error)
            full = f"[Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}" if is_full(error) else ""
    # Outside of `except`, so that no traceback leads back to kagglehub's words.
    if full:
        raise OSError(f"{name}: the folder of kagglehub: {full}")
    raise SourceError(
        f"{name}: Kaggle gave nothing ({reason}). It wants to know who asks (401): {CREDENTIALS}; and its "
        f"rules accepted (403): https://www.kaggle.com/competitions/{competition}/rules. Or put train.csv "
        f"and train_images/ into a folder {name}, and set FEDPRIV_MIRROR, or `mirrors:` in the config, to "
        "the folder that holds it"
    )


def cause(error: BaseException) -> str:
    """Return the kind of an error, and the system's words on its cause if there are any."""
    root = error
    while root.__context__:
        root = root.__context__
    words = f": {root.strerror}" if isinstance(root, OSError) and root.strerror else ""
    return type(error).__name__ + words


CHUNK = 2**20  # bytes of a download that are kept at once
SECONDS = 60  # after which a server that sends nothing, or less than `SLOWEST`, is given up
SLOWEST = 10_000  # bytes a second, on average
LARGEST = 2 * 2**30  # bytes, many times the largest file of any dataset


class SourceError(RuntimeError):
    """No source gave the file; the message lists each source, why it failed and what to do."""


class Rejected(Exception):
    """What a source gave is not the file, or it gave nothing."""


def mirrors(configured: Sequence[str] = ()) -> list[str]:
    """Return the folders and base URLs to try first: FEDPRIV_MIRROR (comma-separated), then `configured`."""
    named = os.environ.get("FEDPRIV_MIRROR", "").split(",")
    return [mirror.strip() for mirror in (*named, *configured) if mirror.strip()]


def is_url(source: str) -> bool:
    """Say if a source is asked over the network; all others are on this machine."""
    return source.startswith(("http://", "https://"))


def without_credentials(text: str) -> str:
    """Return a text as it may be printed: user and password are left out of every URL."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", text)


def folder_of(mirror: str) -> Path:
    """Return the folder that a mirror is; one that does not exist is BadInput."""
    folder = Path(os.path.expanduser(mirror))
    if not folder.is_dir():
        name = without_credentials(mirror)
        raise BadInput(f"mirrors: found {name}, allowed: a folder that exists or a http(s) URL")
    return folder


def sources(dataset: Dataset, file: RawFile, mirrors: Sequence[str]) -> list[str]:
    """Return the paths and URLs where the file may be, in the order to try; a missing folder is BadInput.

    Of a mirror's folder these are the paths that are there, or the first of all that are looked at.
    """
    candidates = []
    for mirror in mirrors:
        if is_url(mirror):
            candidates.append(f"{mirror.rstrip('/')}/{dataset.name}/{file.name}")
        else:
            folder = folder_of(mirror)
            looked_at = [str(folder / name) for name in (f"{dataset.name}/{file.name}", *file.also)]
            candidates += [path for path in looked_at if os.path.isfile(path)] or looked_at[:1]
    return candidates + [base + file.name for base in dataset.public]


@contextmanager
def decompressed(path: Path) -> Generator[io.BufferedIOBase]:
    """Yield an open file, of a gzip what is in it; a damaged one that is read is a ValueError saying so."""
    with path.open("rb") as file:
        try:
            yield gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"a damaged gzip file ({error})") from error


def decompress(path: Path) -> bytes:
    """Return the decompressed bytes of a file."""
    with decompressed(path) as file:
        return file.read()


def digest(path: Path) -> str:
    """Return the sha256 of a file's decompressed bytes, of which memory never holds all."""
    with decompressed(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record_of(target: Path) -> Path:
    """Return the file beside `target` that keeps the hash with which it first came."""
    return target.with_name(f"{target.name}.sha256")


def recorded_hash(record: Path) -> str | None:
    """Return the recorded hash, or None without one; a damaged record is BadInput naming it."""
    if not record.exists():
        return None
    digits = re.match(rb"([0-9a-f]{64})\b", record.read_bytes())
    if not digits:
        raise BadInput(f"{record}: found no hash, allowed: 64 hexadecimal digits; delete it and fetch again")
    return digits[1].decode()


def file_fault(path: Path, file: RawFile, record: Path) -> str:
    """Name the difference of `path` from `file`, whose hash is published or in `record`; empty: none."""
    known = file.sha256 or recorded_hash(record)
    try:
        sha256 = digest(path)
    except ValueError as error:
        return f"found {error}, allowed: " + (f"contents with sha256 {known}" if known else "a whole file")
    if known in (None, sha256):
        return file.problem(path)
    basis = "of the decompressed bytes"
    if not file.sha256:
        basis = f"as it was first fetched; if it was changed on purpose, delete {record}"
    return f"found sha256 {sha256}, allowed: {known} ({basis})"


def download(url: str, path: Path, title: str, attempts: int, backoff: float) -> str:
    """Write the file at `url` to `path`, or return why not.

    A server that fails, or breaks off, is asked up to `attempts` times: first `backoff` seconds apart, then
    twice that and so on. One that is too slow, or sends without end, is given up.
    """
    import requests  # what needs no network does not wait for it
    from urllib3.exceptions import HTTPError

    reason = ""
    for attempt in range(attempts):
        time.sleep(backoff * 2 ** (attempt - 1) if attempt else 0)
        try:
            # Compressed as it is sent, a file would have another length than the server says.
            headers = {"Accept-Encoding": "identity"}
            with (
                requests.get(url, headers=headers, stream=True, timeout=SECONDS) as answer,
                path.open("wb") as file,
            ):
                answer.raise_for_status()
                return receive(answer, file, title)
        except (requests.RequestException, HTTPError) as error:
            reason = cause(error)
            answer = getattr(error, "response", None)
            if answer is not None:
                reason = f"HTTP {answer.status_code} {answer.reason}"
                if answer.status_code < 500 and answer.status_code != 429:
                    return reason
    return reason


def receive(answer: Any, file: BinaryIO, title: str) -> str:
    """Write what a server sends to an open file; return why it was given up, or nothing."""
    total, size, started = int(answer.headers.get("Content-Length", 0)), 0, time.monotonic()
    with transfer(title, total or None) as advance:
        # As it comes: who waits for a whole chunk hears nothing of a server that sends a byte a minute.
        while block := answer.raw.read1(CHUNK, decode_content=True):
            file.write(block)
            advance(len(block))
            size, seconds = size + len(block), time.monotonic() - started
            if max(total, size) > LARGEST:
                return f"more than {LARGEST / 2**30:g} GiB"
            if seconds > SECONDS and size < SLOWEST * seconds:
                return f"slower than {SLOWEST / 1000:g} kB a second"
    return ""


def bring(
    dataset: Dataset, file: RawFile, folder: Path, mirrors: Sequence[str], attempts: int, backoff: float
) -> None:
    """Put the right file into `folder`, from the first source that has it; raises SourceError without one."""
    label, target, failures = f"{dataset.name}/{file.name}", folder / file.name, list[str]()
    remove_torn(target)
    for source in sources(dataset, file, mirrors):
        print_stderr(f"{label}: from {without_credentials(source)}")
        try:
            with writing(target) as partial:
                reason = ""
                if is_url(source):
                    reason = download(source, partial, file.name, attempts, backoff)
                elif os.path.isfile(source):  # a device may have no end, a pipe no beginning
                    shutil.copyfile(source, partial)
                else:
                    reason = "No such file"
                if reason := reason or file_fault(partial, file, record_of(target)):
                    raise Rejected(reason)
            return
        except BadInput:
            raise
        except Rejected as error:
            reason = without_credentials(str(error))
        except Exception as error:  # whatever is wrong with a source, the next one may have the file
            if is_full(error):  # and no room for it
                raise
            reason = cause(error)
        print_stderr(f"{label}: {reason}")
        failures.append(f"{without_credentials(source)}: {reason}")
    names = " or ".join((label, *file.also))
    raise SourceError(
        f"{label}: no source gave it ({'; '.join(failures)}). Put the right file into a folder as {names} "
        "and set FEDPRIV_MIRROR, or `mirrors:` in the config, to that folder, or to another base URL"
    )


def fetch_file(
    dataset: Dataset,
    file: RawFile,
    folder: Path,
    mirrors: Sequence[str] = (),
    *,
    attempts: int = 3,
    backoff: float = 1.0,
) -> Path:
    """Return `folder`/`file.name` with the right contents, from the first source that has them.

    A file that is there already is checked and left alone; nothing incomplete or wrong ever has the final
    name. Where no hash is published, that of the first file is recorded beside it, and every later one must
    have it, even after the first is deleted. Of several processes one fetches and the others wait. Raises
    SourceError.
    """
    target = folder / file.name
    record = record_of(target)
    known = file.sha256 or recorded_hash(record)
    if known and target.exists() and not file_fault(target, file, record):
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(target):
        if not target.exists() or file_fault(target, file, record):
            bring(dataset, file, folder, mirrors, attempts, backoff)
        if file.sha256 is None and recorded_hash(record) is None:
            sha256 = digest(target)
            with writing(record) as partial:
                partial.write_text(f"{sha256}  {target.name}\n")  # as sha256sum would write it
            how = "could not be compared with a published one"
            print_stderr(f"{dataset.name}/{file.name}: sha256 {sha256} recorded, {how}")
    return target
