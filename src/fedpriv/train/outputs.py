"""The files of a finished run: whether it is one, and how it comes back; free of torch."""

import os
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


def link_outputs(out: Path) -> None:
    """Link the files of a finished run: a workflow removes its outputs before it runs a job again."""
    kept = out / RESUME
    kept.mkdir(exist_ok=True)
    for name in FILES:
        (kept / name).unlink(missing_ok=True)
        with suppress(OSError):  # a file system without links keeps nothing
            os.link(out / name, kept / name)


def restore_outputs(out: Path, identity: str) -> bool:
    """Put back the finished run of that identity, if all its files were kept and none is damaged."""
    kept = [out / RESUME / name for name in FILES]
    try:
        for path in kept:
            check(path)
        if summary.load(out / RESUME / "summary.json").get("identity") != identity:
            return False
    except (OSError, ValueError):
        return False
    for path in kept:
        with writing(out / path.name) as partial:
            partial.unlink()
            os.link(path, partial)
    return True
