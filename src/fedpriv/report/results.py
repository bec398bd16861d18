"""The results of a paper: its runs, their rounds and their ε, three tables joined by run, seed and round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.audit.finding import Finding
from fedpriv.audit.finished import findings_in
from fedpriv.files import parquet
from fedpriv.paper.spends import SPEND_COLUMNS
from fedpriv.report.collect import SCHEMAS


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
        """Return the results of some runs; whoever reads one table of them asks `rows_of` that table."""
        found, rounds, epsilons = (rows_of(one, *runs) for one in (self.runs, self.rounds, self.epsilons))
        return Results(found, rounds, epsilons, self.audited)

    def has(self, run: str) -> bool:
        """Return whether `run` was run."""
        return bool((self.runs["run"] == run).any())

    def fact(self, run: str, name: str) -> Any:
        """Return what the first seed of a run says in a column of its table."""
        return rows_of(self.runs, run)[name].iloc[0]

    @cached_property
    def found(self) -> dict[tuple[str, int], list[Finding]]:
        """Return what audits found, by run and seed."""
        return findings_in(self.audited)

    @cached_property
    def spends(self) -> Mapping[tuple[str, ...], np.ndarray]:
        """Return where the rows of an ε are, in order of seed and round: by run, and by `SPEND_COLUMNS`."""
        keys = ["run", *SPEND_COLUMNS]
        order = np.lexsort((self.epsilons["round"], self.epsilons["seed"]))
        groups: Any = self.epsilons[keys].iloc[order].groupby(keys, observed=True, sort=False).indices
        return {key: order[found] for key, found in groups.items()}

    def findings(self, run: str) -> dict[int, list[Finding]]:
        """Return by seed what audits found about `run`, in their order."""
        seeds = sorted(rows_of(self.runs, run)["seed"])
        return {seed: self.found.get((run, seed), []) for seed in seeds}


def rows_of(table: pd.DataFrame, *runs: str) -> pd.DataFrame:
    """Return the rows of `runs`: without a copy where they follow one another, as those of a run do."""
    there = np.zeros(len(table), dtype=bool)
    for run in runs:  # of categories this is far quicker than `isin`
        there |= (table["run"] == run).to_numpy()
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
