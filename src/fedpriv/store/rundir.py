"""What a finished run has left: in a directory what training wrote there, or one file of the stored runs.

The summary is sealed JSON, written last: config, data, environment and end. The directory of a stored run
has a summary that says under `stored`, from there, where the file is.

A stored run is what a finished run leaves, but for its weights, in one sealed parquet file, to the last
bit, so that whatever is computed from the file, by an accountant of today or of later, is what would be
computed from the run. A row is a round: the columns of the trace, and sampled distances as lists,
`distances_<name>`. Of an array that has no row a round all is in the first. The metadata of the file are
JSON: `summary`; `trace`, with what a column says that is the same in all rounds, and null for those that
are columns of the file; `distances`, with their types and shapes.
"""

import errno
import json
import os
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.types import is_list

from fedpriv.errors import BadInput
from fedpriv.store import files, npz, parquet, summary
from fedpriv.store.files import writing
from fedpriv.store.summary import DISTANCES, FILES, RUNS, STORED, SUMMARY, TRACE, remedy_of
from fedpriv.trace import COLUMNS, MEASURED, is_read, own_columns

SAMPLED = "distances_"  # before the names of arrays
# What two summaries of the same run agree on; all else is measured, or of the preset.
SAME = (
    "run",
    "seed",
    "identity",
    "config",
    "rounds",
    "diverged",
    "parameters",
    "test_accuracy",
    "evaluated_on",
)


class Stored(NamedTuple):
    """What a finished run leaves, but for its weights."""

    summary: dict[str, Any]
    trace: pd.DataFrame
    distances: dict[str, np.ndarray]


def write_stored(path: Path, run: Stored) -> Path:
    """Write a run atomically and sealed; the same run gives the same bytes."""
    constants = {str(name): constant_of(values.tolist()) for name, values in run.trace.items()}
    changing = run.trace.loc[:, [value is None for value in constants.values()]]
    table = pa.Table.from_pandas(changing, preserve_index=False)
    for name, array in run.distances.items():
        table = table.append_column(SAMPLED + name, lists(array, len(run.trace)))
    shapes = {name: [array.dtype.name, array.shape] for name, array in run.distances.items()}
    metadata = {"summary": json.dumps(run.summary, allow_nan=False)}
    metadata |= {"trace": json.dumps(constants), "distances": json.dumps(shapes)}
    # As parquet calls them: a list by its elements.
    columns = {field.name + ".list.element" * is_list(field.type): field.type for field in table.schema}
    numbers = [name for name, kind in columns.items() if kind in (pa.float64(), pa.list_(pa.float64()))]
    return parquet.save_table(
        table,
        path,
        metadata,
        compression="zstd",
        compression_level=19,  # slow, for a twentieth less in git for good
        write_statistics=False,
        store_schema=False,  # of pyarrow's own, larger than the trace of a short run
        use_dictionary=[name for name in columns if name not in numbers],
        use_byte_stream_split=numbers,
    )


def constant_of(values: Sequence[Any]) -> Any:
    """Return the value that a column has in all of several rounds, as most have; None of any other."""
    return values[0] if len(values) > 1 and len(set(map(repr, values))) == 1 else None


def lists(array: np.ndarray, rounds: int) -> Any:
    """Return an array as a column of lists; a float64 holds any float32, whose zero bytes need no room."""
    first, each = (0, array.size // rounds) if len(array) == rounds else (array.size, 0)
    ends = np.r_[0, first + each * np.arange(1, rounds + 1)]
    return pa.ListArray.from_arrays(ends.astype(np.int32), array.ravel().astype(np.float64))


def read_stored(path: Path) -> Stored:
    """Return a stored run; a missing, damaged or foreign file is BadInput naming it."""
    return Stored(stored_summary(path), stored_trace(path), stored_distances(path))


def metadata_mapping(path: Path, key: str) -> dict[str, Any]:
    """Return the mapping under a key of a stored run's metadata."""
    return json.loads(parquet.metadata_text(path, key, "a stored run"))


def stored_summary(path: Path) -> dict[str, Any]:
    """Return the summary of a stored run, in a millisecond."""
    return metadata_mapping(path, "summary")


def stored_columns(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of the trace of a stored run, each of its type."""
    constants = metadata_mapping(path, "trace")
    only = [name for name, value in constants.items() if value is None]
    frame = parquet.load_frame(path, only=only)
    known, rounds = COLUMNS | own_columns(constants.get("mechanism", "")), parquet.length(path)

    def typed(name: str, value: Any) -> np.ndarray:
        dtype: Any = known[name].dtype if name in known else None
        if dtype == "str" or (dtype is None and isinstance(value, str)):
            dtype = object
        if value is None:
            return frame[name].to_numpy(dtype)
        return np.full(rounds, value, dtype)

    return {name: typed(name, value) for name, value in constants.items()}


def stored_trace(path: Path) -> pd.DataFrame:
    """Return the trace of a stored run."""
    return pd.DataFrame(stored_columns(path))


def stored_distances(path: Path) -> dict[str, np.ndarray]:
    """Return the sampled distances of a stored run; those of pairs that older ones have are passed over."""
    shapes = {name: shape for name, shape in metadata_mapping(path, "distances").items() if is_read(name)}
    only = [SAMPLED + name for name in shapes]
    frame = parquet.load_frame(path, only=only)
    return {
        name: np.concatenate(list(frame[SAMPLED + name])).astype(dtype).reshape(shape)
        for name, (dtype, shape) in shapes.items()
    }


def same_run(first: Stored, second: Stored) -> bool:
    """Return True for two runs that are the same to the last bit, but for what was measured and where."""
    left, right = (run.trace.drop(columns=list(MEASURED), errors="ignore") for run in (first, second))
    arrays = [
        {name: (array.dtype, array.shape, array.tobytes()) for name, array in run.distances.items()}
        for run in (first, second)
    ]
    who = [[run.summary.get(key) for key in SAME] for run in (first, second)]
    return who[0] == who[1] and left.equals(right) and arrays[0] == arrays[1]


RESUME = "resume"  # the folder that no workflow knows


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
        file = self._unchecked.get("stored") if (self.path / SUMMARY).exists() else None
        return (self.path.resolve() / str(file)).resolve() if file else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary of the run, once it is checked that its files belong together."""
        if self.path == self.stored:
            facts = stored_summary(self.path)
            self._check_name(facts)
        else:
            facts = self._unchecked
        if self.stored and self.path != self.stored:
            if (known := RunDir(self.stored).summary["identity"]) != facts.get("identity"):
                raise BadInput(
                    f"{self.path / SUMMARY}: found run {facts.get('identity')}, allowed: {known}, that of "
                    f"{self.stored}; delete it and take the run again"
                )
        elif self.stored or "identity" in facts:  # and not of a trace that somebody brings to be accounted
            self._check(facts)
        return facts

    @property
    def sources(self) -> list[Path]:
        """The files in which the trace and the distances are: two of its own, or a stored run."""
        return [self.stored] if self.stored else [self.path / TRACE, self.path / DISTANCES]

    def trace(self) -> pd.DataFrame:
        """Return the trace, as it was written."""
        self._check_summary()
        if self.stored:
            return stored_trace(self.stored)
        return parquet.load_frame(self.path / TRACE, allowed="the trace that a run wrote")

    def distances(self) -> dict[str, np.ndarray]:
        """Return the sampled distances."""
        self._check_summary()
        if self.stored:
            return stored_distances(self.stored)
        arrays = npz.load_all(self.path / DISTANCES, "the distances that a run wrote")
        return {name: array for name, array in arrays.items() if is_read(name)}

    def ledger(self, columns: Iterable[str]) -> pd.DataFrame:
        """Return the ledger of the directory, with these columns; one of another trace is BadInput."""
        path = self.path / "ledger.parquet"
        frame = parquet.load_frame(path, columns, "a finished and accounted run")
        if name := parquet.changed_source(path):
            raise BadInput(f"{path}: found the ledger of another {name}; delete ledger.parquet and rerun")
        return frame

    def holds(self, identity: str) -> bool:
        """Return True if the finished run of that identity is here, whole; else it may be written here.

        BadInput where a run of another config is, be it whole or not, or a file that no training wrote, or
        that is not what it wrote: nobody knows whose it is, and nothing is written over it.
        """
        for name in FILES:
            _check_whole(self.path / name)
        if not (self.path / SUMMARY).exists():
            return False
        if (known := self._unchecked.get("identity")) != identity:
            raise BadInput(
                f"{self.path}: found the finished run of another config, {known}, allowed: an empty folder, "
                f"or run {identity}"
            )
        paths = [self.stored] if self.stored else [self.path / name for name in FILES]
        return all(path.exists() for path in paths) and bool(self.summary)

    @cached_property
    def _unchecked(self) -> dict[str, Any]:
        """The summary of the directory, unchecked."""
        return summary.load_summary(self.path / SUMMARY)

    def _check_summary(self) -> None:
        """Check the summary, if there is one."""
        if self.stored or (self.path / SUMMARY).exists():
            _ = self.summary

    def _check_name(self, facts: Mapping[str, Any]) -> None:
        """Raise BadInput if a stored run is not the one that its file, as its folders, is named after."""
        if not (name := STORED.fullmatch(self.path.name)):
            return
        named = {"seed": int(name[1]), "identity": name[2]}
        if self.path.parts[-4:-3] == (RUNS,):
            named |= {"paper": self.path.parts[-3], "run": self.path.parts[-2]}
        for key, allowed in named.items():
            if facts.get(key) != allowed:
                raise BadInput(
                    f"{self.path}: {key}: found {facts.get(key)} in it, allowed: {allowed}, as its name "
                    f"says; {remedy_of(self.path)}"
                )

    def _check(self, facts: Mapping[str, Any]) -> None:
        """Raise BadInput unless identity, config and the other files are of one run."""
        where = self.stored or self.path / SUMMARY
        if (hashed := summary.identity(facts)) != (known := facts["identity"]):
            raise BadInput(
                f"{where}: found identity {known}, allowed: {hashed}, that of the run, seed and config in "
                f"it; {remedy_of(where)}"
            )
        for name, seal in facts.get("seals", {}).items():
            path = self.path / name
            try:
                fault = "" if files.check_seal(path) == seal else f"of another run than {SUMMARY} beside it"
            except FileNotFoundError:  # it may be elsewhere; who needs it says that it is missing
                continue
            except files.Broken as error:
                fault = f"that is damaged ({error})"
            if fault:
                raise BadInput(
                    f"{path}: found a file {fault}, allowed: what training wrote with that; delete the run "
                    "and train it again"
                )


def _check_whole(path: Path) -> None:
    """Raise BadInput for a file that is there and is not as training wrote it."""
    try:
        files.check_seal(path)
    except FileNotFoundError:
        pass
    except (OSError, files.Broken) as error:
        if getattr(error, "errno", None) == errno.ENAMETOOLONG:
            raise  # there is no such file, nor can there be
        raise BadInput(
            f"{path}: found a file that is not what training writes ({error}), allowed: a run, "
            "whole; move it away or delete it, and train again"
        ) from None


def take_stored(path: Path, out: Path, labels: Mapping[str, Any]) -> Path:
    """Make `out` the directory of the run that is stored in `path`; return it.

    Its summary says the `labels` of the preset that asks. A run that was trained there stays as it is.
    """
    facts, there = RunDir(path).summary, RunDir(out)
    if there.holds(facts["identity"]) and not there.stored:
        return out
    for name in (TRACE, DISTANCES):  # of a training that did not end
        (out / name).unlink(missing_ok=True)
    file = os.path.relpath(path.resolve(), out.resolve())
    summary.save_summary(out / SUMMARY, summary.with_labels(facts, labels) | {"stored": file})
    return out


def forget_stored(out: Path) -> None:
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
        yield take_stored(path, Path(folder, path.parent.name), {})


def keep_outputs(out: Path, kept: Path) -> None:
    """Keep the files of a finished run: a workflow removes its outputs before it runs a job again."""
    kept.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (kept / name).unlink(missing_ok=True)
        with suppress(OSError):  # where there is no room nothing is kept
            _link(out / name, kept / name)


def restore_outputs(out: Path, kept: Path, identity: str, labels: Mapping[str, Any]) -> bool:
    """Put back the finished run of that identity, if all its files are in `kept` and belong together.

    Its summary says the `labels` of the preset that asks.
    """
    try:
        if not RunDir(kept).holds(identity):
            return False
    except BadInput:
        return False
    for name in FILES:
        with writing(out / name) as partial:
            partial.unlink()
            _link(kept / name, partial)
    facts = summary.load_summary(out / SUMMARY)
    if (labelled := summary.with_labels(facts, labels)) != facts:
        summary.save_summary(out / SUMMARY, labelled)
    return True


def _link(path: Path, to: Path) -> None:
    """Link a file, which takes no room; from one file system to another it is copied."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)
