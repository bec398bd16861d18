"""Put every run of a paper into one frame: what each round did, beside what it cost."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.complete import complete
from fedpriv.account.ledgers import LEDGER
from fedpriv.audit.finished import findings_in
from fedpriv.errors import BadInput
from fedpriv.files import left, parquet, summary
from fedpriv.report.audits import written
from fedpriv.trace import MISSING, TRACE

KEYS = ("unit", "relation", "sampling_law")  # in the trace and in the ledger, which knows better


def stored(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns with words as categories: a few of them are repeated in millions of rows."""
    return {name: "category" if dtype == "str" else dtype for name, dtype in columns.items()}


# Column -> dtype of runs.parquet, in order: one row for every (run, seed, round) and ε of its ledger. A run
# without privacy has no ledger: one row a round, with empty words and NaN in the ledger's columns.
SCHEMA = {
    "run": "category",
    "seed": "int64",
    **stored(TRACE),  # what training did
    "cohort_law": "category",  # how clients were drawn; `sampling_law` is that of the unit of an ε
    **stored(LEDGER),  # what it cost
    # what it was computed from and on
    "preset": "category",
    "paper": "category",
    "data": "category",
    "data_note": "category",  # how the data were made, where there is something to say
    "stand_in_for": "category",
    "train_examples": "int64",
    "test_examples": "int64",
    "repetition": "float64",
    "evaluated_on": "category",
    "majority": "float64",  # the share of the largest class there: what is no better has learned nothing
    "rounds_wanted": "int64",
    "diverged": "int64",  # the round after which weights were no longer finite; 0: never
    "parameters": "int64",
    "hardware": "category",
    "engine": "category",  # what the last bits depend on
    "results_version": "int64",  # see CHANGELOG.md
    "code": "category",  # version and revision
    "libraries": "category",  # JSON: version by name
    "audits": "category",  # JSON of what audits found
    "identity": "category",  # hash of all that training depends on
    "config": "category",  # JSON of everything that training depends on
}
# As in the summary.
TOLD = ("run", "seed", "preset", "paper", "evaluated_on", "parameters", "results_version", "identity")
WORDS = [name for name, dtype in SCHEMA.items() if dtype == "category"]


def collect(directories: Sequence[Path], out: Path, audits: Path | None = None) -> Path:
    """Write the runs in `directories` to one parquet file, atomically; a missing or bad one is BadInput.

    `audits` is the file of what audits found about them; without one nothing was attacked.
    """
    runs = [one_run(directory) for directory in directories]
    frame = pd.concat(runs, ignore_index=True)
    told = pd.DataFrame([facts(directory / "summary.json") for directory in directories])
    found = findings_in(audits) if audits else {}
    told["audits"] = [written(found.get(one, [])) for one in zip(told["run"], told["seed"], strict=True)]
    told = told.astype({name: dtype for name, dtype in SCHEMA.items() if name in told})
    # Repeated as categories: as words they would be gigabytes.
    of_run = np.repeat(np.arange(len(runs)), [len(one) for one in runs])
    frame = frame.join(told.iloc[of_run].reset_index(drop=True))
    # Before anything else was sent, every upload was of numbers of four bytes.
    frame = frame.fillna({"upload_bytes": 4 * frame["parameters"]})
    frame[WORDS] = frame[WORDS].fillna("")
    frame["assumptions_met"] = frame["assumptions_met"].fillna(True)
    frame = frame.astype(SCHEMA)[list(SCHEMA)]
    return parquet.save(frame, out)


def load(path: Path) -> pd.DataFrame:
    """Read what `collect` wrote; anything else is BadInput naming the file."""
    return parquet.load(path, SCHEMA, "the collected runs of a paper").astype(SCHEMA)


def one_run(directory: Path) -> pd.DataFrame:
    """Return the trace of one run beside its ledger."""
    trace = complete(left.trace(directory, [name for name in TRACE if name not in MISSING]))
    trace["cohort_law"] = trace["sampling_law"]
    ledger = parquet.load(directory / "ledger.parquet", LEDGER, "a finished and accounted run")
    if name := parquet.stale(directory / "ledger.parquet"):
        raise BadInput(f"{directory}: found the ledger of another {name}; delete ledger.parquet and rerun")
    if stray := sorted(set(ledger["round"]) - set(trace["round"])):
        raise BadInput(
            f"{directory}: found ε of round {stray[0]}, allowed: rounds of the trace; account it again"
        )
    if ledger.empty:
        return trace.assign(**{name: None for name in ledger.columns if name not in trace})
    trace = trace.drop(columns=list(KEYS))
    return trace.merge(ledger, on="round", how="left", validate="one_to_many")


def facts(path: Path) -> dict[str, Any]:
    """Return what a summary says about the run as a whole, by column of `SCHEMA`."""
    told = summary.load(path)
    try:
        data, environment = told["data"], told["environment"]
        return {
            **{name: told[name] for name in TOLD},
            "data": data["name"],
            "data_note": data.get("note") or "",
            "stand_in_for": data.get("stand_in_for") or "",
            "train_examples": data["train"],
            "test_examples": data["test"],
            "repetition": data["repetition"],
            "majority": data.get("majority", math.nan),
            "rounds_wanted": told["rounds_wanted"],
            "diverged": told.get("diverged") or 0,
            "hardware": environment["hardware"],
            "engine": environment["engine"],
            "code": environment.get("code", ""),
            "libraries": json.dumps(environment.get("libraries", {}), sort_keys=True),
            "config": json.dumps(told["config"], sort_keys=True),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}: found no summary of a run ({error!r}), allowed: what training writes"
        ) from None
