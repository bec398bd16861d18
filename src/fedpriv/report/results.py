"""The results of a paper: its runs, their rounds and their ε, three tables joined by run, seed and round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv import trace
from fedpriv.account.ledgers import LEDGER
from fedpriv.audit.finding import Finding
from fedpriv.audit.finished import findings_in
from fedpriv.files import parquet
from fedpriv.trace import Column

OF_RUN = {"run": Column("str", "name in its paper"), "seed": Column("int64", "of all that is random in it")}
# Column -> dtype and meaning of runs.parquet, in order: a row a run and seed.
RUNS = OF_RUN | {
    "preset": Column("str", "that it was planned by"),
    "paper": Column("str", "folder of its declaration"),
    "data": Column("str", "that it was trained on"),
    "data_note": Column("str", "how these were made, where there is something to say"),
    "stand_in_for": Column("str", "the paper's data that they stand in for; empty: these are the paper's"),
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
# Of rounds.parquet, a row a round, and of epsilons.parquet, a row for every ε of a round. A run without
# privacy has none.
ROUNDS = {name: column.dtype for name, column in (OF_RUN | trace.COLUMNS).items()}
EPSILONS = {name: column.dtype for name, column in OF_RUN.items()} | LEDGER
SCHEMAS: dict[str, dict[str, str]] = {
    "runs": {name: column.dtype for name, column in RUNS.items()},
    "rounds": ROUNDS,
    "epsilons": EPSILONS,
}


@dataclass(frozen=True)
class Results:
    """What there is of a paper, or of some of its runs; rows of a run follow one another.

    What audits found is read when it is asked for: a missing file is BadInput then.
    """

    runs: pd.DataFrame
    rounds: pd.DataFrame
    epsilons: pd.DataFrame
    audited: Path

    def of(self, *runs: str) -> Results:
        """Return the results of some runs."""

        def rows(table: pd.DataFrame) -> pd.DataFrame:
            return rows_of(table, runs[0]) if len(runs) == 1 else table.loc[table["run"].isin(runs)]

        return Results(rows(self.runs), rows(self.rounds), rows(self.epsilons), self.audited)

    def has(self, run: str) -> bool:
        """Return whether `run` was run."""
        return bool((self.runs["run"] == run).any())

    def fact(self, run: str, name: str) -> Any:
        """Return what the first seed of a run says in a column of its table."""
        return rows_of(self.runs, run)[name].iloc[0]

    @property
    def trained(self) -> pd.DataFrame:
        """Return every round beside the facts of its run."""
        return self.rounds.merge(self.runs, on=list(OF_RUN))

    @cached_property
    def found(self) -> dict[tuple[str, int], list[Finding]]:
        """Return what audits found, by run and seed."""
        return findings_in(self.audited)

    def findings(self, run: str) -> dict[int, list[Finding]]:
        """Return by seed what audits found about `run`, in their order."""
        seeds = sorted(rows_of(self.runs, run)["seed"])
        return {seed: self.found.get((run, seed), []) for seed in seeds}


def rows_of(table: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return the rows of `run`: without a copy where they follow one another, as `collect` writes them."""
    there = (table["run"] == run).to_numpy()
    count = int(there.sum())
    first = int(there.argmax()) if count else 0
    together = there[first : first + count].all()
    return table.iloc[first : first + count] if together else table.loc[there]


def load(folder: Path) -> Results:
    """Read what `collect` wrote; anything else is BadInput naming the file."""
    return categorical(
        {
            name: parquet.load(folder / f"{name}.parquet", schema, "the collected runs of a paper")
            for name, schema in SCHEMAS.items()
        },
        folder / "findings.parquet",
    )


def categorical(tables: Mapping[str, pd.DataFrame], audited: Path) -> Results:
    """Return tables as results, with words as categories: a few of them are repeated in millions of rows."""
    run = pd.CategoricalDtype(sorted(tables["runs"]["run"].unique()))
    dtypes = {
        name: {column: "category" if dtype == "str" else dtype for column, dtype in schema.items()}
        for name, schema in SCHEMAS.items()
    }
    found = {name: tables[name].astype(dtypes[name] | {"run": run}) for name in SCHEMAS}
    return Results(audited=audited, **found)
