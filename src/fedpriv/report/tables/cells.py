"""The numbers of a table of accuracies: what is published and what was measured, of every cell."""

from collections.abc import Iterator, Sequence

from fedpriv.account.spend import attacker_accuracy, status
from fedpriv.paper.cells import AccuracyTable, Cell, EpsilonBudget, Row
from fedpriv.report.reading import epsilon_at, meaning, reading, spent
from fedpriv.report.results import Results, rows_of
from fedpriv.report.stability import unstable
from fedpriv.report.tables.long import Number, spend_words


def cell_numbers(results: Results, declared: AccuracyTable) -> list[Number]:
    """Return every number of `declared`, published and reproduced.

    An ε has its `spend`, its `delta` and its `level` beside it: client, instance, or nothing if a table has
    one ε only. `status` of a reproduced number: ok, not run, no round within the budget, no such ε in the
    ledger, or of an accuracy "unstable" with the reason.
    """
    return [
        {"row": row.key, "column": name, **line}
        for row in declared.rows
        for name in declared.labels
        for cell in [declared.cell(row, name)]
        for line in (*published(row, cell), *reproduced(results, cell))
    ]


def words(budget: EpsilonBudget) -> Number:
    """Return which ε a budget means, by column."""
    return spend_words(budget.spend) | ({"unit": budget.unit} if budget.unit else {})


def shared(found: Sequence[Number]) -> Number:
    """Return what an accuracy is read within, where that is one ε; several have lines of their own."""
    return found[0] if len(found) == 1 else {}


def published(row: Row, cell: Cell) -> Iterator[Number]:
    """Yield what the paper prints in one cell."""
    if cell.published is None:
        return
    key = {"source": "published", "clients": row.clients}
    within = [words(budget) for budget in cell.within]
    yield key | shared(within) | {"quantity": "accuracy", "value": cell.published}
    if cell.published_round:
        yield key | shared(within) | {"quantity": "round", "value": cell.published_round}
    for budget, meant in zip(cell.within, within, strict=True):
        known = key | meant | {"level": budget.unit, "spend": budget.spend, "delta": budget.delta}
        yield known | {"quantity": "epsilon", "value": budget.epsilon}
        yield known | {"quantity": "delta", "value": budget.delta}


def reproduced(results: Results, cell: Cell) -> Iterator[Number]:
    """Yield what was measured for one cell: accuracy, round, and what had been spent by then."""
    key: Number = {"source": "reproduced", "run": cell.run}
    ledgers = [spent(results, cell.run, budget.spend) for budget in cell.within]
    within = [words(budget) | meaning(rows) for budget, rows in zip(cell.within, ledgers, strict=True)]
    if not results.has(cell.run):
        yield key | shared(within) | {"quantity": "accuracy", "status": "not run"}
        return
    read = reading(results, cell)
    clients = rows_of(results.rounds, cell.run)["population"].iloc[0]
    key |= {"clients": clients} | {name: results.fact(cell.run, name) for name in ("stand_in_for", "cut")}
    key["status"] = "no round within the budget" if any(read["accuracy"].isna()) else "ok"
    if any(rows.empty for rows in ledgers):
        key["status"] = "no such ε in the ledger"
    why = unstable(results, cell.run, read) if cell.within and key["status"] == "ok" else ""
    said = {"status": why} if why else {}
    yield key | shared(within) | {"quantity": "accuracy", "sample": read["accuracy"]} | said
    yield key | shared(within) | {"quantity": "round", "sample": read["round"]}
    for level in cell.free:
        nothing = {"kind": "guarantee", "epsilon_status": status("guarantee")}
        yield key | nothing | {"level": level, "quantity": "epsilon", "sample": read["round"] * 0.0}
    for budget, rows, meant in zip(cell.within, ledgers, within, strict=True):
        epsilons = epsilon_at(results, cell.run, budget.spend, read["round"])
        delta = rows["delta"].iloc[0] if len(rows) else budget.delta
        known = key | meant | {"level": budget.unit, "spend": budget.spend, "delta": delta}
        yield known | {"quantity": "epsilon", "sample": epsilons}
        yield known | {"quantity": "delta", "sample": epsilons * 0 + delta}
        yield known | {"quantity": "attacker_accuracy", "sample": epsilons.map(attacker_accuracy)}
