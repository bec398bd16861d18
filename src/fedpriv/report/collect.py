"""Finished runs, gathered for all that is rendered: `runs`, `rounds` and `epsilons`, three files in Parquet.

They are joined by run, seed and round. `fedpriv.report.results` reads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.ledgers import LEDGER
from fedpriv.account.runs import run_trace
from fedpriv.errors import BadInput
from fedpriv.progress import count_each
from fedpriv.store import parquet
from fedpriv.store.rundir import RunDir
from fedpriv.trace import COLUMNS, TRACE, TraceColumn

RUN_KEY = {
    "run": TraceColumn("str", "name in its paper"),
    "seed": TraceColumn("int64", "of all that is random in it"),
}
# Column -> dtype and meaning of runs.parquet, in order: a row a run and seed.
RUNS = RUN_KEY | {
    "preset": TraceColumn("str", "that it was planned by"),
    "paper": TraceColumn("str", "folder of its declaration"),
    "data": TraceColumn("str", "that it was trained on"),
    "data_note": TraceColumn("str", "how these were made, where there is something to say"),
    "substitute_for": TraceColumn("str", "the paper's data that they replace; empty: these are the paper's"),
    "cut": TraceColumn("str", "what a preset leaves out of the paper's run; empty: nothing"),
    "train_examples": TraceColumn("int64", "of all clients"),
    "test_examples": TraceColumn("int64", "that accuracies are measured on"),
    "repetition": TraceColumn("float64", "clients that hold an example, on average"),
    "evaluated_on": TraceColumn("str", "which split that is"),
    "majority": TraceColumn(
        "float64", "share of the largest class there: what is no better has learned nothing"
    ),
    "rounds_wanted": TraceColumn("int64", "rounds that were asked for"),
    "diverged": TraceColumn("int64", "the round after which weights were no longer finite; 0: never"),
    "parameters": TraceColumn("int64", "numbers of the model that are trained"),
    "hardware": TraceColumn("str", "that trained it"),
    "engine": TraceColumn("str", "what the last bits depend on"),
    "results_version": TraceColumn("int64", "see CHANGELOG.md"),
    "code": TraceColumn("str", "version and revision"),
    "libraries": TraceColumn("str", "JSON: version by name"),
    "identity": TraceColumn("str", "hash of all that training depends on"),
    "config": TraceColumn("str", "JSON of everything that training depends on"),
}
# Of rounds.parquet, a row a round, and of epsilons.parquet, a row for every ε of a round.
ROUNDS = {name: column.dtype for name, column in (RUN_KEY | COLUMNS).items()}
EPSILONS = {name: column.dtype for name, column in RUN_KEY.items()} | LEDGER
SCHEMAS: dict[str, dict[str, str]] = {
    "runs": {name: column.dtype for name, column in RUNS.items()},
    "rounds": ROUNDS,
    "epsilons": EPSILONS,
}
WIDTH = 4  # bytes of a float32
# What older notes say of features, and what is true of them: how they are made was looked at on private data.
NOTED = "no private data were used", "no other image of these data takes part"
# As in the summary.
OF_SUMMARY = ("run", "seed", "preset", "paper", "evaluated_on", "parameters", "results_version", "identity")


def collect(
    directories: Sequence[Path],
    folder: Path,
    cuts: Mapping[str, str] = MappingProxyType({}),
    made_with: str = "",
) -> Path:
    """Write the runs in `directories` to the tables of `SCHEMAS` in `folder`; return it.

    `cuts` says by run what a preset leaves out of the paper's; `made_with` marks the plan that the tables are
    made for. Each file is written whole or not at all; a missing or bad run is BadInput.
    """
    runs, rounds, epsilons = [], [], []
    for directory in count_each("collecting", directories, "run"):
        run = RunDir(directory)
        facts = summary_facts(directory / "summary.json", run.summary)
        key = {name: facts[name] for name in RUN_KEY}
        trace, ledger = run_trace(run), run.ledger(LEDGER)
        if missing := [name for name in TRACE if name not in trace]:
            raise BadInput(
                f"{directory}: found no column {missing[0]}, allowed: the columns that a run writes"
            )
        # Before anything else was sent, every upload was of numbers of four bytes.
        missing_bytes, sent = np.isnan(trace["upload_bytes"]), WIDTH * facts["parameters"]
        trace = trace.assign(upload_bytes=np.where(missing_bytes, sent, trace["upload_bytes"]), **key)
        runs.append(facts | {"cut": cuts.get(facts["run"], "")})
        rounds.append(trace)
        epsilons.append(ledger.assign(**key))
    columns = {name: np.concatenate([trace[name] for trace in rounds]) for name in ROUNDS}
    tables = {"runs": pd.DataFrame(runs), "rounds": pd.DataFrame(columns), "epsilons": pd.concat(epsilons)}
    for name, schema in SCHEMAS.items():
        frame = tables[name].astype(schema)[list(schema)]
        parquet.save_frame(frame, folder / f"{name}.parquet", made_with=made_with)
    return folder


def summary_facts(path: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a run as a whole in its summary, by column of `RUNS`."""
    try:
        data, environment = summary["data"], summary["environment"]
        return {
            **{name: summary[name] for name in OF_SUMMARY},
            "data": data["name"],
            "data_note": (data.get("note") or "").replace(*NOTED),
            "substitute_for": data.get("substitute_for") or "",
            "train_examples": data["train"],
            "test_examples": data["test"],
            "repetition": data["repetition"],
            "majority": data.get("majority", math.nan),
            "rounds_wanted": summary["rounds_wanted"],
            "diverged": summary.get("diverged") or 0,
            "hardware": environment["hardware"],
            "engine": environment["engine"],
            "code": environment.get("code", ""),
            "libraries": json.dumps(environment.get("libraries", {}), sort_keys=True),
            "config": json.dumps(summary["config"], sort_keys=True),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}: found no summary of a run ({error!r}), allowed: what training writes"
        ) from None
