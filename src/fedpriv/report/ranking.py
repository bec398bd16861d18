"""The table of a search: the runs that match a glob, the best first."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from fedpriv.report import cells
from fedpriv.report.declared_tables import RankingTable
from fedpriv.report.footnotes import footnotes, stand_ins
from fedpriv.report.interval import interval
from fedpriv.report.reading import at_end, within
from fedpriv.report.render import Table

END = "last round"


def ranking_table(frame: pd.DataFrame, declared: RankingTable, name: str) -> Table:
    """Return a line a run, by the accuracy within the first budget (without budgets: at the last round).

    A run that has no round within that budget comes last.
    """
    runs = [run for run in frame["run"].unique() if fnmatchcase(run, declared.match)]
    ranked = sorted(((run, readings(frame, declared, run)) for run in runs), key=first_accuracy, reverse=True)
    config = {run: frame.loc[frame["run"] == run, "config"].iloc[0] for run in runs}
    keys = {run: {key: config_value(config[run], key) for key in declared.keys} for run in runs}
    lines = [
        {("", "Run"): run}
        | {("", key): str(value) for key, value in keys[run].items()}
        | {("Accuracy (%)", label): cells.percent(read["accuracy"]) for label, read in found.items()}
        | {("Read at round", label): cells.rounds(read["round"]) for label, read in found.items()}
        for run, found in ranked
    ] or [{("", "Run"): f"not run: {declared.match}"}]
    display = pd.DataFrame(lines)
    display.columns = pd.MultiIndex.from_tuples(list(lines[0]))
    tidy = [
        {"table": name, "run": run} | keys[run] | line for run, found in ranked for line in numbers(found)
    ]
    notes = [
        f"{budget.label}: at the last evaluated round before ε ({budget.spend}) exceeds {budget.epsilon:g}."
        for budget in declared.budgets
    ]
    used = frame.loc[frame["run"].isin(runs)]
    title = ". ".join(filter(None, (declared.place, declared.title))) + stand_ins(used)
    return Table(name, title, pd.DataFrame(tidy), display, notes + footnotes(used))


def readings(frame: pd.DataFrame, declared: RankingTable, run: str) -> dict[str, pd.DataFrame]:
    """Return the readings of `run` within every budget, in their order, and then at its end."""
    limits = {limit.label: within(frame, run, (limit.spend, limit.epsilon)) for limit in declared.budgets}
    return limits | {END: at_end(frame, run)}


def first_accuracy(ranked: tuple[str, dict[str, pd.DataFrame]]) -> float:
    """Return the mean accuracy that decides the place of a run."""
    _, found = ranked
    return interval(next(iter(found.values()))["accuracy"].fillna(0.0)).mean


def numbers(found: dict[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of one run, one line each."""
    for label, read in found.items():
        mean, low, high, seeds = interval(read["accuracy"])
        yield {"column": label, "value": mean, "low": low, "high": high, "seeds": seeds}


def config_value(config: str, path: str) -> Any:
    """Return what a dotted path finds in a run's config; nothing there is the empty string."""
    value = json.loads(config)
    for key in path.split("."):
        value = value.get(key, "") if isinstance(value, dict) else ""
    return value
