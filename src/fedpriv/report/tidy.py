"""A table of budgets for machines: one line a number, with all that gives it meaning."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.spend import attacker_accuracy
from fedpriv.paper.spends import WORDS
from fedpriv.report.interval import interval
from fedpriv.report.reading import epsilon_at, present, reading, spent
from fedpriv.report.rows import Cap, Cell, Row, Rows

MEANING = ("unit", "relation", "sampling_law", "kind", "assumptions_met")
COLUMNS = [
    *("table", "row", "column", "source", "quantity", "value", "low", "high", "seeds", "status"),
    *("run", "clients", *WORDS, *MEANING),
]


def tidy(frame: pd.DataFrame, declared: Rows, table: str) -> pd.DataFrame:
    """Return every number of `declared`: published and reproduced, with the interval over seeds.

    `status` of a reproduced number: ok, not run, diverged, no round within the budget, or no such ε in the
    ledger.
    """
    lines = []
    for row in declared.rows:
        for name in declared.labels:
            cell = declared.cell(row, name)
            key = {"table": table, "row": row.key, "column": name}
            lines += [key | line for line in published(row, cell)]
            lines += [key | line for line in reproduced(frame, cell)]
    return pd.DataFrame(lines, columns=COLUMNS)


def words(cap: Cap) -> dict[str, str]:
    """Return which ε a cap means, by column."""
    unit = {"unit": cap.unit} if cap.unit else {}
    return dict(zip(WORDS, cap.spend.key, strict=True)) | unit


def shared(caps: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return what an accuracy is read within, where that is one ε; several have lines of their own."""
    found = list(caps)
    return found[0] if len(found) == 1 else {}


def published(row: Row, cell: Cell) -> Iterator[dict[str, Any]]:
    """Yield what the paper prints in one cell."""
    if cell.published is None:
        return
    key = {"source": "published", "clients": row.clients}
    yield key | shared(map(words, cell.caps)) | {"quantity": "accuracy", "value": cell.published}
    for cap in cell.caps:
        for quantity, value in (("epsilon", cap.epsilon), ("delta", cap.delta)):
            yield key | words(cap) | {"quantity": quantity, "value": value}


def reproduced(frame: pd.DataFrame, cell: Cell) -> Iterator[dict[str, Any]]:
    """Yield what was measured for one cell: accuracy, round, and what had been spent by then."""
    key = {"source": "reproduced", "run": cell.run}
    if not present(frame, cell.run):
        yield key | shared(map(words, cell.caps)) | {"quantity": "accuracy", "status": "not run"}
        return
    read = reading(frame, cell)
    rows = {cap: spent(frame, cell.run, cap.spend) for cap in cell.caps}
    key["clients"] = frame.loc[frame["run"] == cell.run, "population"].iloc[0]
    key["status"] = "no round within the budget" if any(read["accuracy"].isna()) else "ok"
    if any(found.empty for found in rows.values()):
        key["status"] = "no such ε in the ledger"
    meanings = {
        cap: words(cap) | {one: found.iloc[0][one] for one in MEANING if len(found)}
        for cap, found in rows.items()
    }
    for quantity in READ:
        yield key | shared(meanings.values()) | number(quantity, read[quantity])
    for cap, found in rows.items():
        epsilons = epsilon_at(frame, cell.run, cap.spend, read["round"])
        delta = found["delta"].iloc[0] if len(found) else cap.delta
        numbers = {
            "epsilon": epsilons,
            "delta": epsilons * 0 + delta,
            "attacker_accuracy": [float(attacker_accuracy(one)) for one in epsilons],
        }
        for quantity, values in numbers.items():
            yield key | meanings[cap] | number(quantity, values)


READ = ("accuracy", "round")


def number(quantity: str, values: Iterable[float]) -> dict[str, Any]:
    """Return a number over seeds, with its interval; where a seed has diverged there is no number."""
    sample = np.asarray(list(values), dtype=float)
    gone = {"status": "diverged"} if np.isneginf(sample).any() else {}
    found = interval(np.where(np.isneginf(sample), np.nan, sample))
    return {"quantity": quantity} | dict(zip(("value", "low", "high", "seeds"), found, strict=True)) | gone
