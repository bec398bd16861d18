"""Raw files from mirrors and public sources: checked, resumed, retried, in place whole or not at all.

A download over HTTP ends where it is too large or too slow. Files of a Kaggle competition come through
kagglehub; what Kaggle refuses is explained in one line.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.errors import BadInput, plain
from fedpriv.progress import aside
from fedpriv.store.files import exclusive, move, writing

CREDENTIALS = (
    "make a token on https://www.kaggle.com/settings and put it into KAGGLE_API_TOKEN, or set "
    "KAGGLE_USERNAME and KAGGLE_KEY, or keep kaggle.json in ~/.kaggle"
)


def competition(name: str, competition: str) -> Path:
    """Return kagglehub's folder of the competition's files, downloading what is not there yet.

    Raises SourceError: without credentials, when they or the competition's rules are not accepted, when
    Kaggle cannot be reached. Credentials are read by kagglehub alone, and no word of its own is passed on:
    what it prints and raises may hold them.
    """
    aside(f"{name}: from the Kaggle competition {competition}")
    with redirect_stdout(io.StringIO()):
        import kagglehub
        from kagglehub.exceptions import KaggleApiHTTPError, UnauthenticatedError

        try:
            return Path(kagglehub.competition_download(competition))
        except UnauthenticatedError:
            reason = f"Kaggle wants to know who asks; {CREDENTIALS}"
        except KaggleApiHTTPError as error:
            status = error.response.status_code if error.response is not None else "an error"
            reason = f"Kaggle answered {status}"
            if status == 401:
                reason += f": it does not accept these credentials; {CREDENTIALS}"
            if status == 403:
                reason += (
                    ": the rules of the competition are not accepted yet (or the account is not verified by "
                    f"phone); accept them and rerun: https://www.kaggle.com/competitions/{competition}/rules"
                )
        except ValueError as error:  # a kaggle.json that is none, a token that is no header
            reason = f"the Kaggle credentials cannot be used ({type(error).__name__}); {CREDENTIALS}"
        except Exception as error:
            reason = f"Kaggle cannot be reached, or the download broke off ({system(error)})"
    # Outside of `except`, so that no traceback leads back to kagglehub's words.
    raise SourceError(
        f"{name}: {reason}. Or put train.csv and train_images/ into a folder {name}, and set FEDPRIV_MIRROR, "
        "or `mirrors:` in the config, to the folder that holds it"
    )


def system(error: Exception) -> str:
    """Return the kind of an error, and the system's words on its cause if there are some."""
    root: BaseException = error
    while root.__context__:
        root = root.__context__
    said = f": {root.strerror}" if isinstance(root, OSError) and root.strerror else ""
    return type(error).__name__ + said


# No raw file is as large, unpacked; a hostile one would fill the memory.
LARGEST = 2**30
BLOCK = 2**20  # bytes


class SourceError(RuntimeError):
    """No source gave the file; the message lists each source, why it failed and what to do."""


def mirrors(configured: Sequence[str] = ()) -> list[str]:
    """Return the folders and base URLs to try first: FEDPRIV_MIRROR (comma-separated), then `configured`."""
    named = os.environ.get("FEDPRIV_MIRROR", "").split(",")
    return [mirror.strip() for mirror in (*named, *configured) if mirror.strip()]


def is_url(place: str) -> bool:
    """Return whether a mirror is asked over the network; all others are folders."""
    return place.startswith(("http://", "https://"))


def shown(text: str) -> str:
    """Return a text as it may be printed: user and password are left out of every URL."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", text)


def folder_of(mirror: str) -> Path:
    """Return the folder that a mirror is; one that does not exist is BadInput."""
    try:
        folder = Path(mirror).expanduser()
    except RuntimeError:  # nobody has this name
        folder = Path(mirror)
    if not folder.is_dir():
        raise BadInput(f"mirrors: found {shown(mirror)}, allowed: a folder that exists or a http(s) URL")
    return folder


def places(dataset: Dataset, file: RawFile, mirrors: Sequence[str]) -> list[str]:
    """Return the paths and URLs where the file may be, in the order to try; a missing folder is BadInput.

    Of a mirror's folder these are the paths that are there, or the first of all that are looked at.
    """
    found = []
    for mirror in mirrors:
        if is_url(mirror):
            found.append(f"{mirror.rstrip('/')}/{dataset.name}/{file.name}")
        else:
            folder = folder_of(mirror)
            looked_at = [str(folder / name) for name in (f"{dataset.name}/{file.name}", *file.also)]
            found += [path for path in looked_at if os.path.isfile(path)] or looked_at[:1]
    return found + [base + file.name for base in dataset.public]


def blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a gzip file, or of a file that some server unpacked under way.

    A gzip that ends early, is damaged or has more than LARGEST bytes is a ValueError saying so.
    """
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    size = 0
    try:
        with (gzip.open if packed else open)(path, "rb") as file:
            while block := file.read(BLOCK):
                size += len(block)
                if packed and size > LARGEST:
                    raise ValueError(f"a gzip file of more than {LARGEST // 2**20:,} MiB")
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"a damaged gzip file ({error})") from error


def decompressed(path: Path) -> bytes:
    """Return all `blocks` of a file."""
    return b"".join(blocks(path))


def digest(path: Path) -> str:
    """Return the sha256 of a file's decompressed bytes; a damaged gzip is a ValueError saying so."""
    sha256 = hashlib.sha256()
    for block in blocks(path):
        sha256.update(block)
    return sha256.hexdigest()


def record_of(target: Path) -> Path:
    """Return the file beside `target` that keeps the hash with which it first came."""
    return target.with_name(f"{target.name}.sha256")


def recorded(record: Path) -> str | None:
    """Return the hash that `keep` wrote, or None without one; a damaged record is BadInput naming it."""
    if not record.exists():
        return None
    found = re.match(rb"([0-9a-f]{64})\b", record.read_bytes())
    if not found:
        raise BadInput(f"{record}: found no hash, allowed: 64 hexadecimal digits; delete it and fetch again")
    return found[1].decode()


def keep(target: Path) -> str:
    """Record the hash of `target` as sha256sum would write it, atomically, and return it."""
    sha256 = digest(target)
    with writing(record_of(target)) as partial:
        partial.write_text(f"{sha256}  {target.name}\n")
    return sha256


def wrong(path: Path, file: RawFile) -> str:
    """Return why `path`, in the folder of the raw files, is not `file`, or the empty string."""
    record = record_of(path.with_name(file.name))
    sha256 = file.sha256 or recorded(record)
    try:
        found = digest(path)
    except ValueError as error:
        return f"found {error}, allowed: " + (f"contents with sha256 {sha256}" if sha256 else "a whole file")
    if sha256 in (None, found):
        return file.problem(path)
    basis = "of the decompressed bytes"
    if not file.sha256:
        basis = f"as it was first fetched; if it was changed on purpose, delete {record}"
    return f"found sha256 {found}, allowed: {sha256} ({basis})"


def copy(path: Path, part: Path, file: RawFile) -> str:
    """Copy a mirror's file to `part`, or return why not; then no `part` is left."""
    try:
        if path.exists() and not path.is_file():  # a device may have no end, a pipe no beginning
            raise OSError("found no plain file")
        if path.stat().st_size > file.largest:
            raise OSError(f"found more than {file.largest:,} bytes")
        shutil.copyfile(path, part)
    except OSError as error:
        reason = error.strerror or str(error)
    else:
        reason = wrong(part, file)
    if reason:
        part.unlink(missing_ok=True)
    return reason


def brought(place: str, part: Path, file: RawFile, attempts: int, backoff: float) -> str:
    """Bring the file at a path or URL to `part`, or return why not."""
    if not is_url(place):
        return copy(Path(place), part, file)
    from fedpriv.data.download import download

    known = bool(file.sha256 or recorded(record_of(part.with_name(file.name))))
    check = partial(wrong, file=file)
    return download(place, part, check, attempts, backoff, known, file.largest)


def bring(
    dataset: Dataset, file: RawFile, folder: Path, mirrors: Sequence[str], attempts: int, backoff: float
) -> None:
    """Put the right file into `folder`, from the first place that has it; raises SourceError without one."""
    label = f"{dataset.name}/{file.name}"
    failures = []
    for place in places(dataset, file, mirrors):
        aside(f"{label}: from {shown(place)}")
        # Another place may have gzipped otherwise, so only the same place's part can be resumed.
        name = hashlib.sha256(place.encode(errors="backslashreplace")).hexdigest()[:8]
        part = folder / f"{file.name}.{name}.part"
        try:
            reason = brought(place, part, file, attempts, backoff)
        except BadInput:
            raise
        except Exception as error:  # whatever is wrong with a place, the next one may have the file
            reason = f"{type(error).__name__}: {plain(str(error))}"
        if not reason:
            move(part, folder / file.name)
            for stale in folder.glob(f"{file.name}.*.part"):
                stale.unlink()
            return
        aside(f"{label}: {shown(reason)}")
        failures.append(shown(f"{place}: {reason}"))
    names = " or ".join((label, *file.also))
    raise SourceError(
        f"{label}: no source gave it ({'; '.join(failures)}). Put the right file into a folder as {names} "
        "and set FEDPRIV_MIRROR, or `mirrors:` in the config, to that folder, or to another base URL"
    )


def there(target: Path, file: RawFile) -> bool:
    """Whether nothing is left to do: the file is right, and its hash is published or recorded."""
    known = file.sha256 or recorded(record_of(target))
    return bool(known) and target.exists() and not wrong(target, file)


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
    as a `.part` for the next call; nothing incomplete or wrong ever has the final name. Where no hash is
    published, that of the first file is recorded beside it, and every later one must have it, even after
    the first is deleted. Of several processes one fetches and the others wait. Raises SourceError.
    """
    target = folder / file.name
    if there(target, file):
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(target):
        if not target.exists() or wrong(target, file):
            bring(dataset, file, folder, mirrors, attempts, backoff)
        if file.sha256 is None and recorded(record_of(target)) is None:
            sha256 = keep(target)
            said = f"sha256 {sha256} recorded, could not be compared with a published one"
            aside(f"{dataset.name}/{file.name}: {said}")
    return target
