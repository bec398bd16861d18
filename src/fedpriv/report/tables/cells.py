"""The cells of a table of accuracies, as they are read of runs: a metric, its round, and what was spent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.statement import status
from fedpriv.paper.tables import AccuracyTable, Cell, Row
from fedpriv.report.lines import Line, counted_by
from fedpriv.report.metrics import ACCURACY, METRICS
from fedpriv.report.results import Results
from fedpriv.report.sample import Sample
from fedpriv.report.stability import instability
from fedpriv.report.verdicts import NOT_RUN

OK, NO_ROUND = "ok", "no round within the budget"
NOTHING_SPENT = {"kind": "guarantee", "epsilon_status": status("guarantee")}
NOTHING = Sample(pd.Series(dtype=float))


@dataclass(frozen=True)
class Spent:
    """An ε of a cell at the rounds where it is read, by seed, with its meaning."""

    level: str  # client, instance, or nothing where a table has one ε only
    epsilon: Sample
    delta: float = 0.0

    @property
    def status(self) -> str:
        """Guarantee, or what it is instead; empty where the ledger has no such ε."""
        return str(self.epsilon.meaning.get("epsilon_status", ""))


@dataclass(frozen=True)
class ReadCell:
    """A cell of a table: what the paper prints there, and what was read of its run."""

    row: Row
    column: str
    cell: Cell
    status: str = NOT_RUN  # ok; not run, no round within the budget, no such ε in the ledger, not measured
    unstable: str = ""  # the reason, where an accuracy says nothing of its run
    value: Sample = NOTHING  # of the table's metric
    round: Sample = NOTHING  # at which it was read
    spent: Sequence[Spent] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # clients, substitute_for and cut of what was run

    @property
    def ran(self) -> bool:
        """Whether there is anything to read."""
        return self.status != NOT_RUN

    @property
    def why(self) -> str:
        """Why the number says nothing of what is published; empty: it says something."""
        if np.isneginf(self.value.seeds.to_numpy(dtype=float)).any():
            return "diverged"
        return self.unstable or self.status.removeprefix(OK)

    def line(self, quantity: str, value: Sample | float | None, about: Mapping[str, Any]) -> Line:
        """Return a number of the cell for machines."""
        return Line(self.row.key, self.column, quantity, value, about)


def read_cells(results: Results, declared: AccuracyTable) -> list[ReadCell]:
    """Return the cells of a table, row by row."""
    return [read_cell(results, declared, row, name) for row in declared.rows for name in declared.labels]


def read_cell(results: Results, declared: AccuracyTable, row: Row, column: str) -> ReadCell:
    """Read the metric of a cell, the round, and what had been spent by then."""
    cell, metric = declared.cell(row, column), declared.metric
    if not results.has(cell.run):
        return ReadCell(row, column, cell)
    run = results.run(cell.run)
    value, rounds = METRICS[metric].sample(results, cell), METRICS["round"].sample(results, cell, metric)
    spent = read_spent(results, cell, rounds)
    state = NO_ROUND if value.seeds.isna().any() else OK
    if not all(spending.status for spending in spent):
        state = "no such ε in the ledger"
    if value.seeds.empty:
        state = "not measured"
    judged = cell.within and state == OK and metric == ACCURACY
    read = pd.DataFrame({"round": rounds.seeds, "value": value.seeds})
    why = instability(run, read) if judged else ""
    facts = {"clients": run.rounds["population"].iloc[0]}
    facts |= {name: run.fact(name) for name in ("substitute_for", "cut")}
    return ReadCell(row, column, cell, state, why, value, rounds, spent, facts)


def read_spent(results: Results, cell: Cell, rounds: Sample) -> list[Spent]:
    """Read what had been spent at the rounds at which a cell is read: nothing at a level that is free."""
    spent = [Spent(level, Sample(rounds.seeds * 0.0, meaning=NOTHING_SPENT)) for level in cell.free]
    for budget, counted in zip(cell.within, ways_of_counting(cell), strict=True):
        epsilon = METRICS["epsilon"].sample(results, cell, budget.selector, rounds.seeds)
        meaning = counted | epsilon.meaning
        delta = meaning.pop("delta", budget.delta)
        spent.append(Spent(budget.unit, Sample(epsilon.values, meaning=meaning), delta))
    return spent


def ways_of_counting(cell: Cell) -> list[dict[str, Any]]:
    """Return how the ε of each budget is counted, by column."""
    return [
        counted_by(budget.selector) | ({"unit": budget.unit} if budget.unit else {}) for budget in cell.within
    ]


def deltas_by_level(declared: AccuracyTable, rows: Iterable[Row]) -> dict[str, list[float]]:
    """Return by level the δ at which the ε of rows are counted."""
    deltas: dict[str, set[float]] = {}
    for cell in (declared.cell(row, name) for row in rows for name in declared.columns):
        for level in cell.free:
            deltas.setdefault(level, set())
        for budget in cell.within:
            deltas.setdefault(budget.unit, set()).add(budget.delta)
    return {level: sorted(distinct) for level, distinct in deltas.items()}
