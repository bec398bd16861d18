"""Put the runs of a paper into its tables: what each was, what its rounds did, what they cost."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from fedpriv.account.complete import complete
from fedpriv.account.ledgers import LEDGER
from fedpriv.errors import BadInput
from fedpriv.files import parquet
from fedpriv.files.rundir import RunDir
from fedpriv.progress import counted
from fedpriv.trace import COLUMNS, MISSING, TRACE, Column

OF_RUN = {"run": Column("str", "name in its paper"), "seed": Column("int64", "of all that is random in it")}
# Column -> dtype and meaning of runs.parquet, in order: a row a run and seed.
RUNS = OF_RUN | {
    "preset": Column("str", "that it was planned by"),
    "paper": Column("str", "folder of its declaration"),
    "data": Column("str", "that it was trained on"),
    "data_note": Column("str", "how these were made, where there is something to say"),
    "stand_in_for": Column("str", "the paper's data that they replace; empty: these are the paper's"),
    "cut": Column("str", "what a preset leaves out of the paper's run; empty: nothing"),
    "train_examples": Column("int64", "of all clients"),
    "test_examples": Column("int64", "that accuracies are measured on"),
    "repetition": Column("float64", "clients that hold an example, on average"),
    "evaluated_on": Column("str", "which split that is"),
    "majority": Column("float64", "share of the largest class there: what is no better has learned nothing"),
    "rounds_wanted": Column("int64", "rounds that were asked for"),
    "diverged": Column("int64", "the round after which weights were no longer finite; 0: never"),
    "parameters": Column("int64", "numbers of the model that are trained"),
    "hardware": Column("str", "that trained it"),
    "engine": Column("str", "what the last bits depend on"),
    "results_version": Column("int64", "see CHANGELOG.md"),
    "code": Column("str", "version and revision"),
    "libraries": Column("str", "JSON: version by name"),
    "identity": Column("str", "hash of all that training depends on"),
    "config": Column("str", "JSON of everything that training depends on"),
}
# Of rounds.parquet, a row a round, and of epsilons.parquet, a row for every ε of a round.
ROUNDS = {name: column.dtype for name, column in (OF_RUN | COLUMNS).items()}
EPSILONS = {name: column.dtype for name, column in OF_RUN.items()} | LEDGER
SCHEMAS: dict[str, dict[str, str]] = {
    "runs": {name: column.dtype for name, column in RUNS.items()},
    "rounds": ROUNDS,
    "epsilons": EPSILONS,
}
WIDTH = 4  # bytes of a float32
# What older notes say of features, and what is true of them: how they are made was looked at on private data.
NOTED = "no private data were used", "no other image of these data takes part"
# As in the summary.
TOLD = ("run", "seed", "preset", "paper", "evaluated_on", "parameters", "results_version", "identity")


def collect(
    directories: Sequence[Path], folder: Path, cuts: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Write the runs in `directories` to the tables of `SCHEMAS` in `folder`; return it.

    `cuts` says by run what a preset leaves out of the paper's. Each file is written whole or not at all; a
    missing or bad run is BadInput.
    """
    runs, rounds, epsilons = [], [], []
    deltas: dict[tuple[str, str], float] = {}  # of every run and unit: a mean over seeds is at one
    for directory in counted("collecting", directories, "run"):
        run = RunDir(directory)
        told = facts(directory / "summary.json", run.summary)
        trace, ledger = accounted(run)
        # Before anything else was sent, every upload was of numbers of four bytes.
        trace["upload_bytes"] = trace["upload_bytes"].fillna(WIDTH * told["parameters"])
        for unit, delta in dict(zip(ledger["unit"], ledger["delta"], strict=True)).items():
            if (first := deltas.setdefault((told["run"], unit), delta)) != delta:
                raise BadInput(
                    f"{directory}: found a ledger at δ {delta:g}, allowed: {first:g}, as of other seeds of "
                    f"{told['run']}; account it again"
                )
        of_run = {name: told[name] for name in ("run", "seed")}
        runs.append(told | {"cut": cuts.get(told["run"], "")})
        rounds.append(trace.assign(**of_run))
        epsilons.append(ledger.assign(**of_run))
    found = {"runs": pd.DataFrame(runs), "rounds": pd.concat(rounds), "epsilons": pd.concat(epsilons)}
    for name, schema in SCHEMAS.items():
        parquet.save(found[name].astype(schema)[list(schema)], folder / f"{name}.parquet")
    return folder


def accounted(run: RunDir) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the trace and the ledger of one run; a ledger of another trace is BadInput."""
    trace = complete(run.trace([name for name in TRACE if name not in MISSING]))
    ledger = run.ledger(LEDGER)
    if stray := sorted(set(ledger["round"]) - set(trace["round"])):
        raise BadInput(
            f"{run.path}: found ε of round {stray[0]}, allowed: rounds of the trace; account it again"
        )
    return trace, ledger


def facts(path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the summary in a file says about the run as a whole, by column of `RUNS`."""
    try:
        data, environment = told["data"], told["environment"]
        return {
            **{name: told[name] for name in TOLD},
            "data": data["name"],
            "data_note": (data.get("note") or "").replace(*NOTED),
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
