"""The results of a paper: its runs, their rounds and their ε, three tables joined by run, seed and round."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.ledgers import LEDGER
from fedpriv.account.runs import run_trace
from fedpriv.audit.finding import Finding
from fedpriv.audit.finished import load_findings
from fedpriv.errors import BadInput
from fedpriv.paper.epsilons import SELECTOR_COLUMNS
from fedpriv.progress import count_each
from fedpriv.store import parquet
from fedpriv.store.rundir import RunDir
from fedpriv.trace import COLUMNS, TRACE, TraceColumn


def config_of(results: Results, run: str) -> dict[str, Any]:
    """Return the config of a run."""
    return json.loads(results.fact(run, "config"))


def flatten(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Return dotted path -> value, as text."""
    texts = {}
    for key, value in config.items():
        path = f"{above}{key}"
        texts |= (
            flatten(value, f"{path}.") if isinstance(value, dict) else {path: json.dumps(value).strip('"')}
        )
    return texts


OF_RUN = {
    "run": TraceColumn("str", "name in its paper"),
    "seed": TraceColumn("int64", "of all that is random in it"),
}
# Column -> dtype and meaning of runs.parquet, in order: a row a run and seed.
RUNS = OF_RUN | {
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
        of_run = {name: facts[name] for name in OF_RUN}
        trace, ledger = run_trace(run), run.ledger(LEDGER)
        if missing := [name for name in TRACE if name not in trace]:
            raise BadInput(
                f"{directory}: found no column {missing[0]}, allowed: the columns that a run writes"
            )
        # Before anything else was sent, every upload was of numbers of four bytes.
        missing_bytes, sent = np.isnan(trace["upload_bytes"]), WIDTH * facts["parameters"]
        trace = trace.assign(upload_bytes=np.where(missing_bytes, sent, trace["upload_bytes"]), **of_run)
        runs.append(facts | {"cut": cuts.get(facts["run"], "")})
        rounds.append(trace)
        epsilons.append(ledger.assign(**of_run))
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


@dataclass(frozen=True)
class Results:
    """What there is of a paper, or of some of its runs; rows of a run follow one another.

    What audits found is read when it is asked for: a missing file is BadInput then.
    """

    runs: pd.DataFrame
    rounds: pd.DataFrame
    epsilons: pd.DataFrame
    audited: Path

    def of(self, *names: str) -> Results:
        """Return the results of some runs; whoever reads one table of them asks `rows_of` that table."""
        runs, rounds, epsilons = (rows_of(table, *names) for table in (self.runs, self.rounds, self.epsilons))
        return Results(runs, rounds, epsilons, self.audited)

    def has(self, run: str) -> bool:
        """Return True where `run` was run."""
        return bool((self.runs["run"] == run).any())

    def fact(self, run: str, name: str) -> Any:
        """Value of a column of the runs' table at the first seed of a run."""
        return rows_of(self.runs, run)[name].iloc[0]

    @cached_property
    def all_findings(self) -> dict[tuple[str, int], list[Finding]]:
        """Findings of audits, by run and seed."""
        return load_findings(self.audited)

    @cached_property
    def epsilon_rows(self) -> Mapping[tuple[str, ...], np.ndarray]:
        """Places of the rows of an ε, in order of seed and round: by run, and by `SELECTOR_COLUMNS`."""
        keys = ["run", *SELECTOR_COLUMNS]
        order = np.lexsort((self.epsilons["round"], self.epsilons["seed"]))
        groups: Any = self.epsilons[keys].iloc[order].groupby(keys, observed=True, sort=False).indices
        return {key: order[places] for key, places in groups.items()}

    def findings(self, run: str) -> dict[int, list[Finding]]:
        """Return by seed what audits found about `run`, in their order."""
        seeds = sorted(rows_of(self.runs, run)["seed"])
        return {seed: self.all_findings.get((run, seed), []) for seed in seeds}


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
