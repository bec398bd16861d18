"""A table of the README with a line a family of runs: numbers of their kept tables, side by side.

The comment above it says which: a preset and paper, tables that have the runs, rows and columns whose runs
are called alike, and which of their numbers a cell shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs.cells import head, line
from fedpriv.frozen import Frozen
from fedpriv.report.numbers import epsilon_text, fraction_text
from fedpriv.report.tables.long import statistic


class Grid(Frozen):
    """What a comment asks for."""

    of: str  # preset/paper
    heads: tuple[str, str]  # of tables, and of their rows
    tables: dict[str, str]  # the label of each
    rows: dict[str, str]  # the label of each
    columns: dict[str, str]  # the head of each
    runs: str  # how the one run of a {row} and a {column} is called in its table; * stands for anything
    show: str  # numbers by their columns in that table, in braces


def lines(asked: Grid, reference: Path) -> Iterator[str]:
    """Yield the lines of one table."""
    yield head([*asked.heads, *asked.columns.values()])
    for table, label in asked.tables.items():
        numbers = pd.read_csv(reference / asked.of / "tables" / f"{table}.csv")
        for row, called in asked.rows.items():
            names = [asked.runs.format(row=row, column=column) for column in asked.columns]
            yield line([label, called, *(cell(numbers, name, asked.show) for name in names)])
            label = ""


def cell(numbers: pd.DataFrame, name: str, show: str) -> str:
    """Return what is shown of the run that is so called."""
    of_run = numbers[[fnmatchcase(run, name) for run in numbers["run"]]]
    if of_run.empty:
        return "not run"
    return show.format_map({one["column"]: number(one) for one in of_run.to_dict("records")})


def number(one: dict[Hashable, Any]) -> str:
    """Return an accuracy in percent, or why there is none, or an ε."""
    if one["quantity"] == "epsilon":
        return epsilon_text(statistic(one))
    status = one.get("status", "ok")  # there is no such column where every number is
    return fraction_text(statistic(one)) if status in ("ok", "") or pd.isna(status) else str(status)
