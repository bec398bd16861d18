"""A table of one row of a paper's: every column with its accuracy, its ε and what that ε is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from fedpriv.docs.cells import head, line
from fedpriv.docs.quotes import printed, read
from fedpriv.frozen import Frozen

HEADS = ["", "Accuracy (%)", "Published (%)", "ε", "What this ε is"]


class Statuses(Frozen):
    """What a comment asks for."""

    of: str  # preset/paper
    table: str
    row: str
    columns: dict[str, str]  # the label of each


def lines(asked: Statuses, reference: Path) -> Iterator[str]:
    """Yield the lines of one table."""
    yield head(HEADS)
    cells = read(reference / asked.of / "tables" / f"{asked.table}.csv")
    cells = cells.loc[cells["row"] == asked.row]
    for column, label in asked.columns.items():
        of_column = cells.loc[cells["column"] == column]
        ours, theirs = (of_column.loc[of_column["source"] == one] for one in ("reproduced", "published"))
        epsilon = ours.loc[ours["quantity"] == "epsilon"]
        word, colon, reason = (
            epsilon["epsilon_status"].iloc[0].partition(":") if len(epsilon) else ("", "", "")
        )
        status = f"**{word}**{colon}{reason}" if word else ""
        yield line(
            [label, number(ours, "accuracy"), number(theirs, "accuracy"), number(ours, "epsilon"), status]
        )


def number(cells: pd.DataFrame, quantity: str) -> str:
    """Return a number of a column, or nothing where there is none."""
    found = cells.loc[cells["quantity"] == quantity]
    return printed(found.iloc[0].to_dict(), mean=False) if len(found) else ""
