"""The tables of the pages in docs/source: numbers of kept tables, as the comment above each asks for them.

Each kind of comment is a class, whose `lines` are those of its table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs.markdown import head, line
from fedpriv.docs.quotes import read
from fedpriv.frozen import Frozen
from fedpriv.report.claims.compare import published_and_reproduced
from fedpriv.report.claims.yardstick import ANOTHER_NETWORK, NOT_JUDGED, NOT_RUN, REACHED, outcome
from fedpriv.report.numbers import delta
from fedpriv.report.stability import UNSTABLE
from fedpriv.report.tables.long import STATISTIC, printed

READ = ["row", "column", "source", "quantity", *STATISTIC, "status"]
UNLIKE = "not comparable (substitute data)"
BASELINES = "baselines of another network"
ORDER = (*REACHED.values(), UNSTABLE, BASELINES, UNLIKE, NOT_RUN)


class Asked(Frozen):
    """What a comment asks for."""

    def lines(self, reference: Path) -> Iterator[str]:
        """Yield the lines of the table from the reference results."""
        raise NotImplementedError


class Published(Asked):
    """Cells of kept tables, published beside reproduced, and the (ε, δ) spent on them."""

    of: str  # preset/paper
    heads: tuple[str, str]  # of tables, and of their rows
    tables: dict[str, str]  # the label of each
    columns: dict[str, str]  # of accuracies: the head of each
    spends: dict[str, str]  # of what they have spent: the head of each

    def lines(self, reference: Path) -> Iterator[str]:
        tables = reference / self.of / "tables"
        yield head([*self.heads, "", *self.columns.values(), *self.spends.values()])
        for name, label in self.tables.items():
            cells = pd.read_csv(tables / f"{name}.csv", usecols=READ, dtype={"row": str})
            for row in cells["row"].unique().tolist():
                of_row = cells[cells["row"] == row]
                first = [label, f"{int(row):,}" if row.isdecimal() else row]
                for source in ("reproduced", "published"):
                    there = of_row[of_row["source"] == source]
                    found = [accuracy(there[there["column"] == one]) for one in self.columns]
                    found += [spent(there[there["column"] == one]) for one in self.spends]
                    yield line([*first, source, *found])
                    first = ["", ""]
                label = ""


def accuracy(cell: pd.DataFrame) -> str:
    """Return the accuracy of a cell in percent, or why there is none; nothing where none is published."""
    return "".join(number(one) for one in said(cell, "accuracy")[:1])


def spent(cell: pd.DataFrame) -> str:
    """Return every (ε, δ) of a cell, in its order."""
    pairs = zip(said(cell, "epsilon"), said(cell, "delta"), strict=True)
    return ", ".join(f"({number(one)}, {delta(at['value'])})" for one, at in pairs)


def said(cell: pd.DataFrame, quantity: str) -> list[dict[Hashable, Any]]:
    """Return the lines of a cell that are about a quantity."""
    return cell[cell["quantity"] == quantity].to_dict("records")


def number(one: dict[Hashable, Any]) -> str:
    """Return an accuracy in percent, or why there is none, or an ε; what is published as it is printed."""
    status = one.get("status", "ok")  # there is no such column where every number is
    return printed(one) if status in ("ok", "") or pd.isna(status) else str(status)


class Grid(Asked):
    """A line a family of runs: numbers of tables whose rows and columns call their runs alike."""

    of: str  # preset/paper
    heads: tuple[str, str]  # of tables, and of their rows
    tables: dict[str, str]  # the label of each
    rows: dict[str, str]  # the label of each
    columns: dict[str, str]  # the head of each
    runs: str  # how the one run of a {row} and a {column} is called in its table; * stands for anything
    show: str  # numbers by their columns in that table, in braces

    def lines(self, reference: Path) -> Iterator[str]:
        yield head([*self.heads, *self.columns.values()])
        for table, label in self.tables.items():
            numbers = pd.read_csv(reference / self.of / "tables" / f"{table}.csv")
            for row, called in self.rows.items():
                names = [self.runs.format(row=row, column=column) for column in self.columns]
                yield line([label, called, *(self.cell(numbers, name) for name in names)])
                label = ""

    def cell(self, numbers: pd.DataFrame, name: str) -> str:
        """Return what is shown of the run that is so called."""
        of_run = numbers[[fnmatchcase(run, name) for run in numbers["run"]]]
        if of_run.empty:
            return "not run"
        return self.show.format_map({one["column"]: number(one) for one in of_run.to_dict("records")})


class Paper(Frozen):
    """One line: the results that are counted, and what is said of them."""

    of: str  # preset/paper
    tables: tuple[str, ...]  # whose cells count; none: the paper prints no accuracy
    name: str
    here: str  # what of it is reproduced
    says: str


class Counts(Asked):
    """Papers, and how many of their published accuracies are reached."""

    papers: tuple[Paper, ...]

    def lines(self, reference: Path) -> Iterator[str]:
        yield head(["Paper", "Reproduced here", "Published accuracies", "In one sentence"])
        for paper in self.papers:
            yield line([paper.name, paper.here, counted(reference / paper.of, paper.tables), paper.says])


def counted(results: Path, tables: tuple[str, ...]) -> str:
    """Return how many cells of these tables are reached, and what the others are."""
    if not tables:
        return "none in a table"
    cells = published_and_reproduced(results)
    found = Counter(cells.loc[cells["table"].isin(tables), "verdict"].map(plain))
    several = ", ".join(f"{found[one]} {one}" for one in ORDER if found[one])
    return f"{sum(found.values())}: {several}"


def plain(verdict: str) -> str:
    """Return a verdict without its reason."""
    return {NOT_JUDGED: UNLIKE, ANOTHER_NETWORK: BASELINES}.get(verdict) or outcome(verdict)


class Statuses(Asked):
    """One row of a kept table: every column with its accuracy, its ε and what that ε is."""

    of: str  # preset/paper
    table: str
    row: str
    columns: dict[str, str]  # the label of each

    def lines(self, reference: Path) -> Iterator[str]:
        yield head(["", "Accuracy (%)", "Published (%)", "ε", "What this ε is"])
        cells = read(reference / self.of / "tables" / f"{self.table}.csv")
        cells = cells.loc[cells["row"] == self.row]
        for column, label in self.columns.items():
            of_column = cells.loc[cells["column"] == column]
            ours, theirs = (of_column.loc[of_column["source"] == one] for one in ("reproduced", "published"))
            epsilon = said(ours, "epsilon")
            word, colon, reason = epsilon[0]["epsilon_status"].partition(":") if epsilon else ("", "", "")
            status = f"**{word}**{colon}{reason}" if word else ""
            shown = (said(ours, "accuracy"), said(theirs, "accuracy"), epsilon)
            yield line([label, *(printed(some[0]) if some else "" for some in shown), status])


# What a comment begins with: what it asks for.
TABLES: dict[str, type[Asked]] = {
    "table": Published,
    "grid": Grid,
    "counts": Counts,
    "status": Statuses,
}
