"""The ledger of a run directory, ledger.parquet, made from a trace and distances that are there or stored."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedpriv.account.check import Trace, checked_trace, read_columns
from fedpriv.account.ledgers import ledger
from fedpriv.errors import BadInput
from fedpriv.frozen import Deltas
from fedpriv.store import parquet
from fedpriv.store.rundir import RunDir, stored_columns
from fedpriv.store.summary import SUMMARY

# Data some of whose examples are equal: older runs took those in different rows for different ones.
REPEATED = ("aptos",)


def account(directory: Path, deltas: Deltas) -> Path:
    """Read a run directory's trace and distances, write its ledger.parquet, return that path.

    Raises BadInput naming the file that is missing or corrupt; an existing ledger is then left alone.
    """
    return write_ledger(directory, count_run(directory, deltas), deltas)


def write_ledger(directory: Path, frame: pd.DataFrame, deltas: Deltas) -> Path:
    """Write what `count_run` has returned as the ledger of a run directory; return its path."""
    path = directory / "ledger.parquet"
    return parquet.save_frame(frame, path, RunDir(directory).sources, deltas.made_with)


def run_trace(run: RunDir) -> Trace:
    """Return the trace of a run, completed and checked; BadInput names the file that is missing or corrupt.

    What an older one does not say of the examples is what the config and the data of its summary say.
    """
    facts = run.summary if run.stored or (run.path / SUMMARY).exists() else None
    columns = stored_columns(run.stored) if run.stored else read_columns(run.trace())
    if facts is not None:
        data, config = facts.get("data", {}), facts.get("config", {})
        rounds = len(next(iter(columns.values()), ()))
        if "holders" not in columns:  # whether examples were dealt more than once
            columns["holders"] = np.full(rounds, int(config.get("partition", {}).get("repeat") is False))
        kept = config.get("photos", {}).get("dedup") != "drop"
        repeated = "distinct" not in data and data.get("name") in REPEATED and kept
        columns["repeated_rows"] = np.full(rounds, repeated)
    try:
        return checked_trace(columns)
    except BadInput as error:
        raise BadInput(f"{run.path}: {error}") from None


def count_run(directory: Path, deltas: Deltas) -> pd.DataFrame:
    """Return the ledger of a run directory; BadInput names the file that is missing or corrupt."""
    run = RunDir(directory)
    trace = run_trace(run)
    try:
        return ledger(trace, deltas, run.distances())
    except BadInput as error:
        raise BadInput(f"{directory}: {error}") from None
