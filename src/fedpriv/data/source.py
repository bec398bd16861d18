"""Raw files from mirrors and public sources: checked, resumed, retried, in place whole or not at all."""

import gzip
import hashlib
import os
import shutil
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from fedpriv.data.dataset import Dataset, RawFile
from fedpriv.errors import BadInput


class SourceError(RuntimeError):
    """No source gave the file; the message lists each source, why it failed and what to do."""


def mirrors(configured: Sequence[str] = ()) -> list[str]:
    """Return the folders and base URLs to try first: FEDPRIV_MIRROR (comma-separated), then `configured`."""
    named = os.environ.get("FEDPRIV_MIRROR", "").split(",")
    return [mirror.strip() for mirror in (*named, *configured) if mirror.strip()]


def is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def places(dataset: Dataset, file: RawFile, mirrors: Sequence[str]) -> list[str]:
    """Return the paths and URLs where the file may be, in the order to try; a missing folder is BadInput."""
    found = []
    for mirror in mirrors:
        if is_url(mirror):
            found.append(f"{mirror.rstrip('/')}/{dataset.name}/{file.name}")
        elif (folder := Path(mirror).expanduser()).is_dir():
            found.append(str(folder / dataset.name / file.name))
        else:
            raise BadInput(f"mirrors: found {mirror}, allowed: a folder that exists or a http(s) URL")
    return found + [base + file.name for base in dataset.public]


def decompressed(path: Path) -> bytes:
    """Return the bytes of a gzip file, or of a file that some server unpacked under way.

    A gzip that ends early or is damaged is a ValueError saying so.
    """
    data = path.read_bytes()
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"a damaged gzip file ({error})") from error


def mismatch(path: Path, sha256: str) -> str:
    """Return why the contents of `path` are not those with that hash, or the empty string."""
    try:
        found = hashlib.sha256(decompressed(path)).hexdigest()
    except ValueError as error:
        return f"found {error}, allowed: contents with sha256 {sha256}"
    return "" if found == sha256 else f"found sha256 {found}, allowed: {sha256} (of the decompressed bytes)"


def copy(path: Path, part: Path, sha256: str) -> str:
    """Copy a mirror's file to `part`, or return why not; then no `part` is left."""
    try:
        shutil.copyfile(path, part)
    except OSError as error:
        reason = error.strerror or str(error)
    else:
        reason = mismatch(part, sha256)
    if reason:
        part.unlink(missing_ok=True)
    return reason


def fetch(
    dataset: Dataset,
    file: RawFile,
    folder: Path,
    mirrors: Sequence[str] = (),
    *,
    attempts: int = 3,
    backoff: float = 1.0,  # seconds before the first repetition; doubled for each further one
) -> Path:
    """Return `folder`/`file.name` with the right contents, from the first place that has them.

    A file that is there already is checked and left alone. What a cut download has brought stays beside it
    as a `.part` for the next call; nothing incomplete or wrong ever has the final name. Raises SourceError.
    """
    target = folder / file.name
    if target.exists() and not mismatch(target, file.sha256):
        return target
    label = f"{dataset.name}/{file.name}"
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for place in places(dataset, file, mirrors):
        print(f"{label}: from {place}", file=sys.stderr)
        # Another place may have gzipped otherwise, so only the same place's part can be resumed.
        part = folder / f"{file.name}.{hashlib.sha256(place.encode()).hexdigest()[:8]}.part"
        if is_url(place):
            from fedpriv.data.download import download

            reason = download(place, part, lambda part: mismatch(part, file.sha256), attempts, backoff)
        else:
            reason = copy(Path(place), part, file.sha256)
        if not reason:
            os.replace(part, target)
            for stale in folder.glob(f"{file.name}.*.part"):
                stale.unlink()
            return target
        print(f"{label}: {reason}", file=sys.stderr)
        failures.append(f"{place}: {reason}")
    raise SourceError(
        f"{label}: no source gave it ({'; '.join(failures)}). Put the right file into a folder as {label} "
        "and set FEDPRIV_MIRROR, or `mirrors:` in the config, to that folder, or to another base URL"
    )
