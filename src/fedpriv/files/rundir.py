"""Where a run is: the one way to what training left, in a run directory or in the one file of a stored run.

A run directory holds four sealed files; its summary names the run, its config and the seals of the others.
That of a stored run says under `stored`, from there, in which file the run is. No name is believed: whoever
opens a run learns from its content which it is, and what does not belong together is refused.

    >>> RunDir(Path("results/laptop/nbafl/runs/k10/seed0")).summary["test_accuracy"]  # doctest: +SKIP
    0.8123
"""

import os
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, seal, stored, summary
from fedpriv.files.atomic import writing
from fedpriv.files.summary import DISTANCES, FILES, RUNS, STORED, SUMMARY, TRACE
from fedpriv.trace import is_read

RESUME = "resume"  # the folder that no workflow knows
ALLOWED = "the {} that a run wrote"


class RunDir:
    """A finished run, by its directory or by the file in which it is stored.

    What is missing, damaged, foreign, or of another run than the rest is BadInput that names the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def stored(self) -> Path | None:
        """The file of a stored run; None of a run whose files are in its directory."""
        if not self.path.is_dir():
            return self.path
        place = summary.load(self.path / SUMMARY).get("stored") if (self.path / SUMMARY).exists() else None
        return (self.path.resolve() / str(place)).resolve() if place else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the run says of itself, once its files were found to belong together."""
        if self.path == self.stored:
            told = stored.summary(self.path)
            self._check_name(told)
        else:
            told = summary.load(self.path / SUMMARY)
        if self.stored and self.path != self.stored:
            if (known := RunDir(self.stored).summary["identity"]) != told.get("identity"):
                raise BadInput(
                    f"{self.path / SUMMARY}: found run {told.get('identity')}, allowed: {known}, that of "
                    f"{self.stored}; delete it and take the run again"
                )
        elif self.stored or "identity" in told:  # and not of a trace that somebody brings to be accounted
            self._check(told)
        return told

    @property
    def sources(self) -> list[Path]:
        """The files in which the trace and the distances are: two of its own, or a stored run."""
        return [self.stored] if self.stored else [self.path / TRACE, self.path / DISTANCES]

    def trace(self, columns: Iterable[str] = ()) -> pd.DataFrame:
        """Return the trace, with these columns."""
        self._look()
        if self.stored:
            return stored.trace(self.stored)
        return parquet.load(self.path / TRACE, columns, ALLOWED.format("trace"))

    def distances(self) -> dict[str, np.ndarray]:
        """Return the sampled distances."""
        self._look()
        if self.stored:
            return stored.distances(self.stored)
        found = npz.everything(self.path / DISTANCES, ALLOWED.format("distances"))
        return {name: array for name, array in found.items() if is_read(name)}

    def ledger(self, columns: Iterable[str]) -> pd.DataFrame:
        """Return the ledger of the directory, with these columns; one of another trace is BadInput."""
        path = self.path / "ledger.parquet"
        frame = parquet.load(path, columns, "a finished and accounted run")
        if name := parquet.stale(path):
            raise BadInput(f"{path}: found the ledger of another {name}; delete ledger.parquet and rerun")
        return frame

    def holds(self, identity: str) -> bool:
        """Return whether the finished run of that identity is here, whole; otherwise it may be written here.

        BadInput where a run of another config is, be it whole or not, or a file that no training wrote, or
        that is not what it wrote: nobody knows whose it is, and nothing is written over it.
        """
        for path in (self.path / name for name in FILES):
            try:
                seal.check(path)
            except FileNotFoundError:
                continue
            except (OSError, seal.Broken) as error:
                raise BadInput(
                    f"{path}: found a file that is not what training writes ({error}), allowed: a run, "
                    "whole; move it away or delete it, and train again"
                ) from None
        if not (self.path / SUMMARY).exists():
            return False
        if (found := summary.load(self.path / SUMMARY).get("identity")) != identity:
            raise BadInput(
                f"{self.path}: found the finished run of another config, {found}, allowed: an empty folder, "
                f"or run {identity}"
            )
        wanted = [self.stored] if self.stored else [self.path / name for name in FILES]
        return all(path.exists() for path in wanted) and bool(self.summary)

    def _look(self) -> None:
        """Check the summary, if there is one."""
        if self.stored or (self.path / SUMMARY).exists():
            _ = self.summary

    def _check_name(self, told: Mapping[str, Any]) -> None:
        """Raise BadInput if a stored run is not the one that its file, as its folders, is named after."""
        if not (name := STORED.fullmatch(self.path.name)):
            return
        of_name = {"seed": int(name[1]), "identity": name[2]}
        if self.path.parts[-4:-3] == (RUNS,):
            of_name |= {"paper": self.path.parts[-3], "run": self.path.parts[-2]}
        for key, wanted in of_name.items():
            if told.get(key) != wanted:
                raise BadInput(
                    f"{self.path}: {key}: found {told.get(key)} in it, allowed: {wanted}, as its name says; "
                    f"{stored.remedy(self.path)}"
                )

    def _check(self, told: Mapping[str, Any]) -> None:
        """Raise BadInput unless identity, config, accuracy, rounds and other files are of one run."""
        where = self.stored or self.path / SUMMARY
        remedy = stored.remedy(where) if self.stored else "delete the run and train it again"

        def refused(found: str, allowed: str) -> BadInput:
            return BadInput(f"{where}: found {found}, allowed: {allowed}; {remedy}")

        try:
            wanted, known = summary.identity(told), told["identity"]
            end = told["test_accuracy"], told["rounds"]
            seals: dict[str, str] = dict(told.get("seals", {}))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise refused(f"no summary of a run ({error!r})", "what training writes") from None
        if known != wanted:
            raise refused(f"identity {known}", f"{wanted}, that of the run, seed and config in it")
        for name, of_run in seals.items():
            if (path := self.path / name).exists() and seal.of(path) != of_run:
                raise BadInput(
                    f"{path}: found a file of another run than {SUMMARY} beside it, allowed: what training "
                    f"wrote with that; {remedy}"
                )
        trace = self.sources[0]
        if trace.exists():
            reader = stored.column if self.stored else parquet.column
            accuracies = reader(trace, "test_accuracy")
            last = accuracies[-1] if accuracies and accuracies[-1] == accuracies[-1] else None
            last = None if told.get("diverged") else last
            if end != (last, len(accuracies)):
                raise refused(
                    f"accuracy {end[0]} after {end[1]} rounds",
                    f"{last} after {len(accuracies)}, as in {trace}",
                )


def take(path: Path, out: Path, labels: Mapping[str, Any]) -> Path:
    """Make `out` the directory of the run that is stored in `path`; return it.

    Its summary says the `labels` of the preset that asks. A run that was trained there stays as it is.
    """
    told, there = RunDir(path).summary, RunDir(out)
    if there.holds(told["identity"]) and not there.stored:
        return out
    for name in (TRACE, DISTANCES):  # of a training that did not end
        (out / name).unlink(missing_ok=True)
    labels = {**labels, "data": told["data"] | labels.get("data", {})}
    place = os.path.relpath(path.resolve(), out.resolve())
    summary.save(out / SUMMARY, told | labels | {"stored": place})
    return out


def forget(out: Path) -> None:
    """Remove what `take` has written to `out`, if it has, so that the run can be trained."""
    if out.is_dir() and RunDir(out).stored:
        (out / SUMMARY).unlink()


@contextmanager
def run_directory(path: Path) -> Generator[Path]:
    """Yield a run directory, or of a stored run one that is removed when the block ends."""
    if not path.is_file():
        yield path
        return
    with TemporaryDirectory() as folder:
        yield take(path, Path(folder, path.parent.name), {})


def keep_outputs(out: Path, kept: Path) -> None:
    """Keep the files of a finished run: a workflow removes its outputs before it runs a job again."""
    if any((kept / name).exists() and not seal.of(kept / name) for name in FILES):
        return  # somebody's own
    kept.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (kept / name).unlink(missing_ok=True)
        with suppress(OSError):  # where there is no room nothing is kept
            _link(out / name, kept / name)


def restore_outputs(out: Path, kept: Path, identity: str) -> bool:
    """Put back the finished run of that identity, if all its files are in `kept` and belong together."""
    try:
        if not RunDir(kept).holds(identity):
            return False
    except BadInput:
        return False
    for name in FILES:
        with writing(out / name) as partial:
            partial.unlink()
            _link(kept / name, partial)
    return True


def _link(path: Path, to: Path) -> None:
    """Link a file, which takes no room; from one file system to another it is copied."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)
