"""The files of a finished run: whether it is one, and how it comes back; free of torch."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from fedpriv.errors import BadInput
from fedpriv.files import left, summary
from fedpriv.files.atomic import writing
from fedpriv.files.seal import Broken, check

RESUME = "resume"  # the folder that no workflow knows
WEIGHTS = "model.safetensors"
FILES = ("trace.parquet", "distances.npz", WEIGHTS, "summary.json")


def finished(out: Path) -> str | None:
    """Return the identity of the finished run in `out`, or None if there is none or a file of it is gone.

    One that is stored elsewhere, as its summary says, has nothing else there. Raises BadInput if a file has
    the name of one of its files and was not written by training, or is no longer what was written: nobody
    knows whose it is, and nothing is written over it.
    """
    there = [name for name in FILES if (out / name).exists()]
    for name in there:
        try:
            check(out / name)
        except (OSError, Broken) as error:
            raise BadInput(
                f"{out / name}: found a file that is not what training writes ({error}), allowed: a run, "
                "whole; move it away or delete it, and train again"
            ) from None
    if "summary.json" not in there:
        return None
    told = summary.load(out / "summary.json")
    files = left.sources(out) if "stored" in told else [out / name for name in FILES]
    return told.get("identity") if all(path.exists() for path in files) else None


def keep_outputs(out: Path, kept: Path) -> None:
    """Keep the files of a finished run: a workflow removes its outputs before it runs a job again."""
    kept.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (kept / name).unlink(missing_ok=True)
        with suppress(OSError):  # where there is no room nothing is kept
            link_or_copy(out / name, kept / name)


def restore_outputs(out: Path, kept: Path, identity: str) -> bool:
    """Put back the finished run of that identity, if all its files are in `kept` and none is damaged."""
    files = [kept / name for name in FILES]
    try:
        for path in files:
            check(path)
        if summary.load(kept / "summary.json").get("identity") != identity:
            return False
    except (OSError, ValueError):
        return False
    for path in files:
        with writing(out / path.name) as partial:
            partial.unlink()
            link_or_copy(path, partial)
    return True


def link_or_copy(path: Path, to: Path) -> None:
    """Link a file, which takes no room; from one file system to another it is copied."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)
