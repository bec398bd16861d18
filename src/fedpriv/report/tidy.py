"""A budget table for machines: one line a number, with all that gives it meaning."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from fedpriv.account.spend import attacker_accuracy
from fedpriv.report.declared import Row, Rows
from fedpriv.report.interval import interval
from fedpriv.report.reading import BASELINE, column, present, spent
from fedpriv.report.spends import WORDS, Choice

MEANING = ("unit", "relation", "sampling_law", "kind", "assumptions_met")
COLUMNS = [
    *("table", "row", "column", "source", "quantity", "value", "low", "high", "seeds", "status"),
    *("run", "clients", *WORDS, *MEANING),
]


def tidy(frame: pd.DataFrame, declared: Rows, table: str) -> pd.DataFrame:
    """Return every number of `declared`: published and reproduced, with the interval over seeds.

    `status` of a reproduced number: ok, not run, or no round within the budget.
    """
    lines = []
    for row in declared.rows:
        for name in (BASELINE, *declared.columns):
            spend = declared.columns[name].spend if name != BASELINE else None
            words = dict(zip(WORDS, spend.key, strict=True)) if spend else {}
            key = {"table": table, "row": row.clients, "column": name} | words
            lines += [key | line for line in published(row, name)]
            lines += [key | line for line in reproduced(frame, declared, row, name, spend)]
    return pd.DataFrame(lines, columns=COLUMNS)


def published(row: Row, name: str) -> Iterator[dict[str, Any]]:
    """Yield what the paper prints in one cell."""
    baseline = {"accuracy": row.baseline.accuracy}
    numbers = baseline if name == BASELINE else row.published[name].model_dump()
    for quantity, value in numbers.items():
        yield {"source": "published", "clients": row.clients, "quantity": quantity, "value": value}


def reproduced(
    frame: pd.DataFrame, declared: Rows, row: Row, name: str, spend: Choice | None
) -> Iterator[dict[str, Any]]:
    """Yield what was measured for one cell: accuracy, round, and what had been spent by then."""
    run = row.baseline.run if name == BASELINE else row.run
    key = {"source": "reproduced", "run": run}
    if not present(frame, run):
        yield key | {"quantity": "accuracy", "status": "not run"}
        return
    read = column(frame, declared, row, name)
    numbers = {"accuracy": read["accuracy"], "round": read["round"]}
    key["clients"] = frame.loc[frame["run"] == run, "population"].iloc[0]
    key["status"] = "no round within the budget" if any(read["accuracy"].isna()) else "ok"
    if spend is not None:
        rows = spent(frame, run, spend)
        key |= {one: rows.iloc[0][one] for one in MEANING}
        numbers |= {
            "epsilon": read["epsilon"],
            "delta": read["epsilon"] * 0 + rows["delta"].iloc[0],
            "attacker_accuracy": [float(attacker_accuracy(one)) for one in read["epsilon"]],
        }
    for quantity, values in numbers.items():
        yield (
            key
            | {"quantity": quantity}
            | dict(zip(("value", "low", "high", "seeds"), interval(values), strict=True))
        )
