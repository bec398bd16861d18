"""The companion of a table of budgets: every way of counting the same runs, at the rounds it was read at."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from fedpriv.account.spend import attacker_accuracy
from fedpriv.paper.spends import WORDS, Choice
from fedpriv.report import cells
from fedpriv.report.budget import how_read, under, used
from fedpriv.report.declared_tables import JointSpendsTable, SpendsTable
from fedpriv.report.footnotes import accountings, stand_ins
from fedpriv.report.reading import counted, epsilon_at, present, reading, spent
from fedpriv.report.render import Table
from fedpriv.report.rows import Row
from fedpriv.report.tidy import MEANING, number

MATCHING = (
    "A fair comparison keeps the sensitivity: remove_sum goes with C, remove_mean and pairwise with 2C."
)


class Read(NamedTuple):
    """A column of a table of budgets that was run, and the rounds by seed at which it was read."""

    heading: tuple[str, str]
    row: Row
    name: str
    run: str
    rounds: pd.Series


def spends_table(frame: pd.DataFrame, declared: SpendsTable | JointSpendsTable, name: str) -> Table:
    """Return a line for every spend and a column for every place where the table of budgets was read."""
    places = list(read_at(frame, declared))
    runs = used(frame, declared)
    lines = [
        lead(runs, declared, spend)
        | {place.heading: cell(epsilon_at(frame, place.run, spend, place.rounds)) for place in places}
        for spend in declared.spends
    ]
    display = pd.DataFrame(lines)
    display.columns = pd.MultiIndex.from_tuples(list(lines[0]))
    numbers = [line for place in places for line in tidy(frame, declared, name, place)]
    columns = [*("table", "row", "column", "quantity", "value", "low", "high", "seeds", "run", "delta")]
    notes = [
        "Cells: ε, and in brackets the accuracy (%) that it leaves to a membership guess from a flat prior.",
        MATCHING,
        *accountings(declared.spends),
        *how_read(frame, declared),
        *under(frame, declared),
    ]
    long = pd.DataFrame(numbers, columns=[*columns, *WORDS, *MEANING])
    notes = list(dict.fromkeys(notes))
    return Table(name, declared.title + stand_ins(runs), long, display, notes)


def lead(
    runs: pd.DataFrame, declared: SpendsTable | JointSpendsTable, spend: Choice
) -> dict[tuple[str, str], str]:
    """Return what is said of a spend before its numbers; at both levels, whose ε it is at which δ as well."""
    rows = counted(runs.loc[runs["unit"] != "none"], spend)
    relation = ", ".join(sorted(set(rows["relation"]))) or cells.NONE
    line = {("", "ε counted by"): str(spend), ("", "Kind"): spend.kind, ("", "Neighbours"): relation}
    if isinstance(declared, SpendsTable):
        return line
    met = set(rows["assumptions_met"])
    return line | {
        ("", "Unit"): ", ".join(sorted(set(rows["unit"]))) or cells.NONE,
        ("", "δ"): ", ".join(map(cells.delta, sorted(set(rows["delta"]), reverse=True))) or cells.NONE,
        ("", "Assumptions"): " and ".join("met" if one else "not met" for one in sorted(met)) or cells.NONE,
    }


def read_at(frame: pd.DataFrame, declared: SpendsTable | JointSpendsTable) -> Iterator[Read]:
    """Yield every column of the table of budgets that was run."""
    for row in declared.rows:
        for name, one in declared.columns.items():
            there = declared.cell(row, name)
            if present(frame, there.run):
                rounds = reading(frame, there).loc[:, "round"]
                heading = group(frame, row, there.run), f"{one.label}, round {cells.rounds(rounds)}"
                yield Read(heading, row, name, there.run, rounds)


def group(frame: pd.DataFrame, row: Row, run: str) -> str:
    """Return what stands above the columns of a row: its name, or the clients and the δ of its one run."""
    if isinstance(row.key, str):
        return row.key
    first = frame.loc[(frame["run"] == run) & (frame["accountant"] != "")].iloc[0]
    return f"N = {first['population']:,}, δ = {cells.delta(first['delta'])}"


def cell(epsilons: pd.Series) -> str:
    """Return ε and what it leaves to an attacker."""
    text = cells.epsilon(epsilons)
    if text == cells.NONE:
        return text
    return f"{text} ({cells.attacker(float(attacker_accuracy(epsilons.mean())))})"


def tidy(
    frame: pd.DataFrame, declared: SpendsTable | JointSpendsTable, table: str, place: Read
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of one column, one line each."""
    for spend in declared.spends:
        rows = spent(frame, place.run, spend)
        if rows.empty:
            continue
        found = epsilon_at(frame, place.run, spend, place.rounds)
        key = {
            "table": table,
            "row": place.row.key,
            "column": place.name,
            "run": place.run,
            "delta": rows["delta"].iloc[0],
        }
        key |= dict(zip(WORDS, spend.key, strict=True)) | {one: rows.iloc[0][one] for one in MEANING}
        yield key | number("epsilon", found)
        yield key | number("attacker_accuracy", [float(attacker_accuracy(one)) for one in found])
