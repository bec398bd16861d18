"""What there is of a paper, and what can be read of a run: accuracies, ε and facts of rounds, by seed.

    >>> results = load_results(Path("results/laptop/bdp2019"))          # doctest: +SKIP
    >>> run = results.run("iid_n100_dp")                                # doctest: +SKIP
    >>> run.last()["value"].mean()                                      # doctest: +SKIP
    0.8693
    >>> run.within((EpsilonSelector(accountant="moments"), 8.0))        # doctest: +SKIP

A *reading* is a frame with a row a seed and the columns `READING`: a round, and the value of a metric there.
It is NaN where there is no such round. A seed whose weights are no longer finite has minus infinity: its
accuracy is below every other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.statement import status
from fedpriv.audit.finding import Finding
from fedpriv.audit.finished import load_findings
from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.report.collect import SCHEMAS
from fedpriv.store import parquet

READING = ["round", "value"]
DIVERGED = -math.inf
MEANING = ("unit", "relation", "sampling_law", "kind", "epsilon_status")  # of an ε, beside its selector


@dataclass(frozen=True)
class RunResults:
    """A run of a paper. One that was not run has empty tables."""

    name: str
    runs: pd.DataFrame  # a row a seed
    rounds: pd.DataFrame  # a row a round of a seed
    ledger: Callable[[EpsilonSelector], pd.DataFrame]
    """The rows that hold the ε which a selector means, in order of seed and round."""
    all_findings: Callable[[], Mapping[tuple[str, int], list[Finding]]]

    def fact(self, column: str) -> Any:
        """Value of a column of the runs' table at the first seed."""
        return self.runs[column].iloc[0]

    @property
    def config(self) -> dict[str, Any]:
        """What the run was set to."""
        return json.loads(self.fact("config"))

    @property
    def seeds(self) -> list[int]:
        return sorted(self.runs["seed"])

    def findings(self) -> dict[int, list[Finding]]:
        """Return by seed the findings of audits, in their order; a missing file is BadInput."""
        findings = self.all_findings()
        return {seed: findings.get((self.name, seed), []) for seed in self.seeds}

    # Accuracies and other metrics, and the round at which they are read.

    def evaluations(self, metric: str = "accuracy", drawn: bool = False) -> pd.DataFrame:
        """Return seed, round and value of a metric at every evaluated round, once each, in order.

        `drawn` asks for the accuracy of some clients, drawn with replacement. Where all clients hold the
        weights of the server, that is the accuracy of these.
        """
        values = self.rounds[f"test_{metric}"]
        if drawn:
            values = self.rounds["test_accuracy_drawn"].fillna(values)
        evaluated = self.rounds[["seed", "round"]].assign(value=values).dropna()
        return evaluated.sort_values(["seed", "round"], ignore_index=True)

    def last(self, metric: str = "accuracy") -> pd.DataFrame:
        """Return the reading at the last evaluated round."""
        return self._with_divergence(self.evaluations(metric).groupby("seed").last())

    def best_drawn(self) -> pd.DataFrame:
        """Return the reading at sampled clients' best round, which the test split itself decides."""
        evaluated = self.evaluations(drawn=True)
        best = evaluated.loc[evaluated.groupby("seed")["value"].idxmax()]
        return self._with_divergence(best.set_index("seed"))

    def within(self, *budgets: tuple[EpsilonSelector, float], metric: str = "accuracy") -> pd.DataFrame:
        """Return the reading at the last evaluated round before any ε first exceeds its budget.

        Without a budget that is the last one. A seed that can afford no round has NaN.
        """
        if not budgets:
            return self.last(metric)
        ends = [self._affordable_rounds(*budget).reindex(self.seeds) for budget in budgets]
        last = pd.concat(ends, axis=1).min(axis="columns", skipna=False)
        every = self.evaluations(metric)
        read = every.loc[every["round"] <= every["seed"].map(last)].groupby("seed").last()
        return self._with_divergence(read.astype(float).reindex(last.index), last)

    def _affordable_rounds(self, selector: EpsilonSelector, budget: float) -> pd.Series:
        """Return by seed the last round before ε first exceeds `budget`; a seed without any is left out."""
        rows = self.ledger(selector)
        fine = (rows["epsilon"] <= budget).groupby(rows["seed"]).cummin()
        return rows.loc[fine, ["seed", "round"]].groupby("seed").last().loc[:, "round"]

    def _with_divergence(self, read: pd.DataFrame, until: pd.Series | None = None) -> pd.DataFrame:
        """Return rounds read, by seed, as a reading in which a seed that has diverged has no number.

        Where a budget ended before that, by seed at round `until`, it is read as it was then.
        """
        read, ends = read.filter(READING), self.divergence_rounds()
        if until is not None:
            ends = ends.loc[ends <= until.reindex(ends.index)]
        read = read.reindex(read.index.union(ends.index))
        read.loc[ends.index, "round"], read.loc[ends.index, "value"] = ends, DIVERGED
        return read

    def divergence_rounds(self) -> pd.Series:
        """Return by seed the round after which the weights were no longer finite, for those that diverged."""
        ends = self.runs["diverged"].set_axis(self.runs["seed"]).sort_index()
        return ends.loc[ends > 0]

    # What the rounds cost, and what else is known of them.

    def epsilon(self, selector: EpsilonSelector, rounds: pd.Series | None = None) -> pd.Series:
        """Return by seed the ε of `selector` at the rounds given by seed, or at the last round."""
        rows = self.ledger(selector)
        if rounds is None:
            return rows[["seed", "epsilon"]].groupby("seed").last().loc[:, "epsilon"]
        at = rows.loc[rows["round"].to_numpy() == rounds.reindex(rows["seed"]).to_numpy()]
        return at.set_index("seed").loc[:, "epsilon"].reindex(rounds.index)

    def meaning(self, selector: EpsilonSelector, *columns: str) -> dict[str, Any]:
        """Return for whom and against whom an ε holds, and other `columns`; of an empty ledger, nothing."""
        return meaning_of(self.ledger(selector), *columns)

    def status(self, selector: EpsilonSelector) -> str:
        """Status of an ε; empty where the ledger has none."""
        return str(self.meaning(selector).get("epsilon_status", ""))

    def growth(self, selector: EpsilonSelector) -> pd.DataFrame:
        """Return by how much ε exceeds its value after the first round: a row a round, a column a seed."""
        seeds = self.ledger(selector).pivot(index="round", columns="seed", values="epsilon")
        return seeds - seeds.iloc[:1].to_numpy()

    def mean_of_rounds(self, column: str) -> pd.Series:
        """Return by seed the mean over rounds of a column of the trace."""
        return self.rounds.groupby("seed")[column].mean()


def by_round(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Lay out evaluated values with a row a round and a column a seed."""
    return evaluated.pivot(index="round", columns="seed", values="value")


def meaning_of(rows: pd.DataFrame, *columns: str) -> dict[str, Any]:
    """Return for whom and against whom the ε in rows of a ledger holds; of no rows, nothing."""
    if rows.empty:
        return {}
    first = rows.iloc[0]
    failing = rows.loc[rows["violation"] != "", "violation"]  # of any row: a few rounds are enough
    state = {"epsilon_status": status(first["kind"], *failing.iloc[:1])}
    return {name: first[name] for name in (*MEANING, *columns) if name != "epsilon_status"} | state


@dataclass(frozen=True)
class Results:
    """What there is of a paper, or of a part of its runs; rows of a run follow one another.

    The findings of audits are read when they are asked for: a missing file is BadInput then.
    """

    runs: pd.DataFrame
    rounds: pd.DataFrame
    epsilons: pd.DataFrame
    audited: Path
    _each: dict[str, RunResults] = field(default_factory=dict, init=False, repr=False, compare=False)

    def run(self, name: str) -> RunResults:
        """Return what there is of a run."""
        if name not in self._each:
            runs, rounds = rows_of(self.runs, name), rows_of(self.rounds, name)
            ledger = partial(self._ledger, name)
            self._each[name] = RunResults(name, runs, rounds, ledger, lambda: self._findings)
        return self._each[name]

    def has(self, run: str) -> bool:
        """Return True where `run` was run."""
        return not self.run(run).runs.empty

    def of(self, *names: str) -> Results:
        """Return the results of these runs; whoever reads one table of them asks `rows_of` that table."""
        runs, rounds, epsilons = (rows_of(table, *names) for table in (self.runs, self.rounds, self.epsilons))
        return Results(runs, rounds, epsilons, self.audited)

    def _ledger(self, run: str, selector: EpsilonSelector) -> pd.DataFrame:
        return self.epsilons.iloc[self._epsilon_rows.get((run, *selector.key), [])]

    @cached_property
    def _epsilon_rows(self) -> Mapping[tuple[str, ...], np.ndarray]:
        """Positions of the rows of an ε, in order of seed and round: by run, and by `SELECTOR_COLUMNS`."""
        keys = ["run", *SELECTOR_COLUMNS]
        order = np.lexsort((self.epsilons["round"], self.epsilons["seed"]))
        groups: Any = self.epsilons[keys].iloc[order].groupby(keys, observed=True, sort=False).indices
        return {key: order[positions] for key, positions in groups.items()}

    @cached_property
    def _findings(self) -> dict[tuple[str, int], list[Finding]]:
        """The findings of audits, by run and seed."""
        return load_findings(self.audited)


def rows_of(table: pd.DataFrame, *runs: str) -> pd.DataFrame:
    """Return the rows of `runs`: without a copy where they follow one another, as those of a run do."""
    there = np.zeros(len(table), dtype=bool)
    for run in runs:  # of categories this is far quicker than `isin`
        there |= (table["run"] == run).to_numpy()
    count = int(there.sum())
    first = int(there.argmax()) if count else 0
    together = there[first : first + count].all()
    return table.iloc[first : first + count] if together else table.loc[there]


def load_results(folder: Path) -> Results:
    """Read what `collect` wrote; anything else is BadInput naming the file."""
    return to_categories(
        {
            name: parquet.load_frame(folder / f"{name}.parquet", schema, "the collected runs of a paper")
            for name, schema in SCHEMAS.items()
        },
        folder / "findings.parquet",
    )


def to_categories(tables: Mapping[str, pd.DataFrame], audited: Path) -> Results:
    """Return tables as results, with words as categories: a few of them are repeated in millions of rows."""
    run = pd.CategoricalDtype(sorted(tables["runs"]["run"].unique()))
    dtypes = {
        name: {column: "category" if dtype == "str" else dtype for column, dtype in schema.items()}
        for name, schema in SCHEMAS.items()
    }
    frames = {name: tables[name].astype(dtypes[name] | {"run": run}) for name in SCHEMAS}
    return Results(audited=audited, **frames)


def flatten(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Return dotted path -> value, as text."""
    texts = {}
    for key, value in config.items():
        path = f"{above}{key}"
        texts |= (
            flatten(value, f"{path}.") if isinstance(value, dict) else {path: json.dumps(value).strip('"')}
        )
    return texts
