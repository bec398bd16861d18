"""The companion of a budget table: every way of counting the same runs, at the rounds it was read at."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from fedpriv.account.spend import attacker_accuracy
from fedpriv.report import cells
from fedpriv.report.budget import how_read, under, used
from fedpriv.report.declared import Row, SpendsTable
from fedpriv.report.footnotes import stand_ins
from fedpriv.report.interval import interval
from fedpriv.report.reading import column, epsilon_at, present, spent
from fedpriv.report.render import Table
from fedpriv.report.spends import WORDS, Choice
from fedpriv.report.tidy import MEANING

MATCHING = (
    "A fair comparison keeps the sensitivity: remove_sum goes with C, remove_mean and pairwise with 2C."
)


def spends_table(frame: pd.DataFrame, declared: SpendsTable, name: str) -> Table:
    """Return a line for every spend and a column for every place where the budget table was read."""
    places = list(read_at(frame, declared))
    lines = [
        {
            ("", "ε counted by"): str(spend),
            ("", "Kind"): spend.kind,
            ("", "Neighbours"): neighbours(frame, spend),
        }
        | {heading: cell(epsilon_at(frame, row.run, spend, rounds)) for heading, row, _, rounds in places}
        for spend in declared.spends
    ]
    display = pd.DataFrame(lines)
    display.columns = pd.MultiIndex.from_tuples(list(lines[0]))
    numbers = [
        line for _, row, label, rounds in places for line in tidy(frame, declared, name, row, label, rounds)
    ]
    columns = [*("table", "row", "column", "quantity", "value", "low", "high", "seeds", "run", "delta")]
    notes = [
        "Cells: ε, and in brackets the accuracy (%) that it leaves to a membership guess from a flat prior.",
        MATCHING,
        *how_read(frame, declared),
        *under(frame, declared),
    ]
    long = pd.DataFrame(numbers, columns=[*columns, *WORDS, *MEANING])
    return Table(name, declared.title + stand_ins(used(frame, declared)), long, display, notes)


def read_at(
    frame: pd.DataFrame, declared: SpendsTable
) -> Iterator[tuple[tuple[str, str], Row, str, pd.Series]]:
    """Yield heading, row, column and rounds by seed of every column of the budget table that was run."""
    for row in declared.rows:
        if not present(frame, row.run):
            continue
        first = frame.loc[(frame["run"] == row.run) & (frame["accountant"] != "")].iloc[0]
        group = f"N = {first['population']:,}, δ = {cells.delta(first['delta'])}"
        for name, one in declared.columns.items():
            rounds = column(frame, declared, row, name).loc[:, "round"]
            yield (group, f"{one.label}, round {cells.rounds(rounds)}"), row, name, rounds


def neighbours(frame: pd.DataFrame, spend: Choice) -> str:
    """Return the relation that the ledgers state for a spend."""
    chosen = (frame["unit"] != "none").copy()
    for name, value in zip(WORDS, spend.key, strict=True):
        chosen &= frame[name] == value
    return ", ".join(sorted(set(frame.loc[chosen, "relation"]))) or cells.NONE


def cell(epsilons: pd.Series) -> str:
    """Return ε and what it leaves to an attacker."""
    text = cells.epsilon(epsilons)
    if text == cells.NONE:
        return text
    return f"{text} ({cells.attacker(float(attacker_accuracy(epsilons.mean())))})"


def tidy(
    frame: pd.DataFrame, declared: SpendsTable, table: str, row: Row, name: str, rounds: pd.Series
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of one column, one line each."""
    for spend in declared.spends:
        rows = spent(frame, row.run, spend)
        if rows.empty:
            continue
        found = epsilon_at(frame, row.run, spend, rounds)
        key = {
            "table": table,
            "row": row.clients,
            "column": name,
            "run": row.run,
            "delta": rows["delta"].iloc[0],
        }
        key |= dict(zip(WORDS, spend.key, strict=True)) | {one: rows.iloc[0][one] for one in MEANING}
        for quantity, values in (
            ("epsilon", found),
            ("attacker_accuracy", [float(attacker_accuracy(one)) for one in found]),
        ):
            numbers = dict(zip(("value", "low", "high", "seeds"), interval(values), strict=True))
            yield key | {"quantity": quantity} | numbers
