"""Two results side by side; where they share seeds, their accuracies are paired by seed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.errors import BadInput
from fedpriv.files.rundir import RunDir
from fedpriv.files.summary import STORED, SUMMARY
from fedpriv.report.claims.compare import read
from fedpriv.report.numbers import LEVEL, Interval, interval
from fedpriv.report.settings import flattened

CELL = ["table", "row", "column"]
KINDS = "a run directory, a stored run, a folder of the seeds of either, RESULTS/PAPER, or a TABLE_seeds.csv"


class Result(NamedTuple):
    """Accuracies, a row a cell and seed, and what the runs were set to; of tables nothing is said of that."""

    accuracies: pd.DataFrame
    settings: dict[str, str]


class Pair(NamedTuple):
    """One cell of two results: the mean of each, and how much higher the second is."""

    cell: tuple[str, ...]
    first: Interval
    second: Interval
    difference: Interval  # over the seeds that both have; of none, between the means (Welch)
    paired: bool


def result(path: Path) -> Result:
    """Return the accuracies of a result: of runs at the last round, of tables at the round of each cell.

    What is none of `KINDS`, or has two results of a seed, is BadInput.
    """
    tables = [path] if path.name.endswith("_seeds.csv") else sorted(path.glob("tables/*_seeds.csv"))
    if tables:
        numbers = {"seed": "int64", "accuracy": "float64"}
        return Result(pd.concat([read(table, [*CELL, *numbers], numbers) for table in tables]), {})
    told = [*summaries(path)]
    if not told:
        raise BadInput(f"{path}: found no result, allowed: {KINDS}")
    lines = [(one["run"], "", "", one["seed"], one["test_accuracy"]) for one in told]
    found = pd.DataFrame(lines, columns=[*CELL, "seed", "accuracy"]).astype({"accuracy": "float64"})
    if found["seed"].duplicated().any():
        raise BadInput(
            f"{path}: found two results of a seed, allowed: one; name a file instead of the folder"
        )
    return Result(found, {key: str(value) for key, value in flattened(told[0]["config"]).items()})


def summaries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the summaries of the finished runs at a path."""
    if path.is_file():
        yield RunDir(path).summary
    for one in (*path.glob(SUMMARY), *sorted(path.glob(f"seed*/{SUMMARY}"))):
        yield RunDir(one.parent).summary
    yield from (RunDir(one).summary for one in sorted(path.glob("seed*")) if STORED.fullmatch(one.name))


def pairs(one: Result, other: Result) -> list[Pair]:
    """Return every cell that two results share; two runs are one cell, whatever they are called."""
    first, second = (
        {
            cell: rows.set_index("seed")["accuracy"]
            for cell, rows in found.accuracies.groupby(CELL, sort=False)
        }
        for found in (one, other)
    )
    if one.settings and other.settings:
        return [pair(("",), *first.values(), *second.values())]
    if not (cells := [cell for cell in first if cell in second]):
        raise BadInput(
            "compare: found no cell that both results have, allowed: two of the same tables, or runs"
        )
    return [pair(cell, first[cell], second[cell]) for cell in cells]


def pair(cell: tuple[Any, ...], first: pd.Series, second: pd.Series) -> Pair:
    """Return one cell of two results."""
    both = first.index.intersection(second.index)
    difference = interval(second[both] - first[both]) if len(both) else apart(first, second)
    return Pair(cell, interval(first), interval(second), difference, bool(len(both)))


def apart(first: pd.Series, second: pd.Series) -> Interval:
    """Return the difference of the means of two samples with Welch's interval."""
    from scipy.stats import ttest_ind

    mean, n = float(second.mean() - first.mean()), min(len(first), len(second))
    if n == 1:
        return Interval(mean, np.nan, np.nan, 1)
    found = ttest_ind(second, first, equal_var=False).confidence_interval(LEVEL)
    return Interval(mean, float(found.low), float(found.high), n)
