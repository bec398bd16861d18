"""Put every run of a paper into one frame: what each round did, beside what it cost."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.account.ledger import LEDGER
from fedpriv.account.traced import SINCE, completed
from fedpriv.atomic import writing
from fedpriv.errors import BadInput
from fedpriv.trace import TRACE

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
    "rounds_wanted": "int64",
    "parameters": "int64",
    "hardware": "category",
    "dtype": "category",
    "config": "category",  # JSON of everything that training depends on
}
WORDS = [name for name, dtype in SCHEMA.items() if dtype == "category"]


def collect(directories: Sequence[Path], out: Path) -> Path:
    """Write the runs in `directories` to one parquet file, atomically; a missing or bad one is BadInput."""
    frame = pd.concat([one_run(directory) for directory in directories], ignore_index=True)
    frame[WORDS] = frame[WORDS].fillna("")
    frame["assumptions_met"] = frame["assumptions_met"].fillna(True)
    frame = frame.astype(SCHEMA)[list(SCHEMA)]
    with writing(out) as path:
        frame.to_parquet(path, index=False)
    return out


def load(path: Path) -> pd.DataFrame:
    """Read what `collect` wrote; anything else is BadInput naming the file."""
    frame = table(path, list(SCHEMA))
    return frame.astype(SCHEMA)


def one_run(directory: Path) -> pd.DataFrame:
    """Return the trace of one run directory, its ledger beside it, the facts of its summary in every row."""
    trace = completed(table(directory / "trace.parquet", [name for name in TRACE if name not in SINCE]))
    trace["cohort_law"] = trace["sampling_law"]
    ledger = table(directory / "ledger.parquet", list(LEDGER))
    if stray := sorted(set(ledger["round"]) - set(trace["round"])):
        raise BadInput(
            f"{directory}: found ε of round {stray[0]}, allowed: rounds of the trace; account it again"
        )
    if not ledger.empty:
        trace = trace.drop(columns=list(KEYS))
        frame = trace.merge(ledger, on="round", how="left", validate="one_to_many")
    else:
        frame = trace.assign(**{name: None for name in ledger.columns if name not in trace})
    frame = frame.assign(**facts(directory / "summary.json"))
    # Before anything else was sent, every upload was of numbers of four bytes.
    return frame.fillna({"upload_bytes": 4 * frame["parameters"]})


def facts(path: Path) -> dict[str, Any]:
    """Return what a summary says about the run as a whole, by column of `SCHEMA`."""
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        data, environment = summary["data"], summary["environment"]
        return {
            **{
                name: summary[name]
                for name in ("run", "seed", "preset", "paper", "evaluated_on", "parameters")
            },
            "data": data["name"],
            "data_note": data.get("note") or "",
            "stand_in_for": data.get("stand_in_for") or "",
            "train_examples": data["train"],
            "test_examples": data["test"],
            "repetition": data["repetition"],
            "rounds_wanted": summary["rounds_wanted"],
            "hardware": environment["hardware"],
            "dtype": environment["dtype"],
            "config": json.dumps(summary["config"], sort_keys=True),
        }
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a finished run") from None
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}: found no summary of a run ({error!r}), allowed: what training writes"
        ) from None


def table(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a parquet file that must have `columns`; a missing or corrupt one is BadInput naming it."""
    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a finished and accounted run") from None
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(
            f"{path}: found no parquet file ({reason}), allowed: one; delete it and rerun"
        ) from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: the columns in docs/architecture.md")
    return frame
