"""A table of the README with cells of kept tables, published beside reproduced.

The comment above it says which: a preset and paper, tables with their labels, columns of accuracies and
columns of the (ε, δ) spent on them with their heads.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs.cells import head, line
from fedpriv.frozen import Frozen
from fedpriv.report.numbers import delta, epsilon_text, fraction_text
from fedpriv.report.tables.long import STATISTIC, statistic

READ = ["row", "column", "source", "quantity", *STATISTIC, "status"]


class Published(Frozen):
    """What a comment asks for."""

    of: str  # preset/paper
    heads: tuple[str, str]  # of tables, and of their rows
    tables: dict[str, str]  # the label of each
    columns: dict[str, str]  # of accuracies: the head of each
    spends: dict[str, str]  # of what they have spent: the head of each


def lines(asked: Published, reference: Path) -> Iterator[str]:
    """Yield the lines of one table."""
    tables = reference / asked.of / "tables"
    yield head([*asked.heads, "", *asked.columns.values(), *asked.spends.values()])
    for name, label in asked.tables.items():
        cells = pd.read_csv(tables / f"{name}.csv", usecols=READ, dtype={"row": str})
        for row in cells["row"].unique().tolist():
            of_row = cells[cells["row"] == row]
            first = [label, f"{int(row):,}" if row.isdecimal() else row]
            for source in ("reproduced", "published"):
                there = of_row[of_row["source"] == source]
                found = [accuracy(there[there["column"] == one]) for one in asked.columns]
                found += [spent(there[there["column"] == one]) for one in asked.spends]
                yield line([*first, source, *found])
                first = ["", ""]
            label = ""


def accuracy(cell: pd.DataFrame) -> str:
    """Return the accuracy of a cell in percent, or why there is none; nothing where none is published."""
    for one in said(cell, "accuracy"):
        if one["source"] == "published":
            return f"{100 * one['value']:g}"
        return fraction_text(statistic(one)) if one["status"] == "ok" else str(one["status"])
    return ""


def spent(cell: pd.DataFrame) -> str:
    """Return every (ε, δ) of a cell, in its order."""
    pairs = zip(said(cell, "epsilon"), said(cell, "delta"), strict=True)
    return ", ".join(f"({epsilon(one)}, {delta(at['value'])})" for one, at in pairs)


def epsilon(one: dict[Hashable, Any]) -> str:
    """Return an ε: one that is published has no seeds."""
    return f"{one['value']:g}" if pd.isna(one["seeds"]) else epsilon_text(statistic(one))


def said(cell: pd.DataFrame, quantity: str) -> list[dict[Hashable, Any]]:
    """Return the lines of a cell that are about a quantity."""
    return cell[cell["quantity"] == quantity].to_dict("records")
