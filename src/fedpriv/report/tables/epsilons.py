"""The table of every ε of the cells of a table of accuracies: a line for each accountant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fedpriv.account.statement import attacker_accuracy, mark_epsilon
from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.paper.tables import EpsilonsTable
from fedpriv.report import numbers
from fedpriv.report.lines import STATISTIC, Line
from fedpriv.report.metrics import METRICS, epsilon_text
from fedpriv.report.notes import LEVELS, RELATIONS, accountings, printed_table
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import MEANING, Results, rows_of
from fedpriv.report.sample import Sample
from fedpriv.report.tables.accuracy_notes import reading_notes
from fedpriv.report.tables.cells import ReadCell, read_cells

OF_EPSILON = ("run", "delta", *SELECTOR_COLUMNS, *MEANING)
EPSILONS_TABLE_COLUMNS = ["table", "row", "column", "quantity", *STATISTIC, *OF_EPSILON]
CELLS = "Cells: ε, and in brackets the accuracy (%) of a membership attack that it leaves, uniform prior."
MATCHING = "A fair comparison has equal sensitivity: remove_sum goes with C, remove_mean with 2C."


Counts = dict[EpsilonSelector, list[Sample | None]]  # the ε of each cell; None where the ledger has none


def epsilons_table(results: Results, declared: EpsilonsTable, name: str) -> PrintedTable:
    """Return a line for every way of counting, a column for every cell of the table of accuracies."""
    accuracies = declared.of
    every = read_cells(results, accuracies)
    cells = [read for read in every if read.ran and read.column in accuracies.columns]
    counted = counted_epsilons(results, cells, declared.accountants)
    heads = [heading(results, declared, read) for read in cells]
    by_level = any(row.budgets for row in accuracies.rows)
    display = [
        header(selector, each, by_level) | dict(zip(heads, map(cell_text, each), strict=True))
        for selector, each in counted.items()
    ]
    return printed_table(
        results,
        declared,
        name,
        columns=EPSILONS_TABLE_COLUMNS,
        lines=tidy_lines(cells, counted),
        display=display,
        notes=[CELLS, MATCHING],
        details=[*accountings(counted), *reading_notes(accuracies, every)],
    )


def counted_epsilons(
    results: Results, cells: Sequence[ReadCell], selectors: Iterable[EpsilonSelector]
) -> Counts:
    """Return every ε of the cells; what no run here has is left out, unless there is no other."""
    counted = {
        selector: [counted_epsilon(results, read, selector) for read in cells] for selector in selectors
    }
    return {selector: each for selector, each in counted.items() if any(each)} or counted


def counted_epsilon(results: Results, read: ReadCell, selector: EpsilonSelector) -> Sample | None:
    """Return an ε at the rounds at which a cell was read; nothing, if it is not counted so."""
    if results.run(read.cell.run).ledger(selector).empty:
        return None
    return METRICS["epsilon"].sample(results, read.cell, selector, read.round.seeds)


def heading(results: Results, declared: EpsilonsTable, read: ReadCell) -> str:
    """Heading of a cell: its row, or the N and δ of that, its column, and the round."""
    row = read.row.label
    if not row:
        delta = rows_of(results.epsilons, read.cell.run)["delta"].iloc[0]
        row = f"N = {read.facts['clients']:,}, δ = {numbers.delta(delta)}"
    label = declared.of.columns[read.column].label
    return f"{row} {label}, round {numbers.round_range(read.round)}"


def header(selector: EpsilonSelector, each: Sequence[Sample | None], by_level: bool) -> dict[str, str]:
    """Return what stands before the ε of a line: how they are counted, whether they hold, against whom.

    A table `by_level` says whose ε it is, too, and at which δ.
    """
    meanings = [epsilon.meaning for epsilon in each if epsilon and epsilon.meaning["unit"] != "none"]
    statuses = different(meanings, "epsilon_status") or [selector.kind]
    if len(statuses) > 1:  # the marks say which ε has which
        statuses = [mark_epsilon(status, status) for status in statuses]
    texts = {
        "ε counted by": str(selector),
        "Status": "; ".join(statuses),
        "Neighbours": ", ".join(RELATIONS[relation] for relation in different(meanings, "relation")),
    }
    if by_level:
        deltas = different(meanings, "delta")[::-1]
        texts["Level"] = ", ".join(LEVELS[unit] for unit in different(meanings, "unit"))
        texts["δ"] = ", ".join(map(numbers.delta, deltas))
    return {name: text or numbers.NONE for name, text in texts.items()}


def different(meanings: Iterable[Mapping[str, Any]], column: str) -> list[Any]:
    """Return what a column says in any meaning, in order."""
    return sorted({meaning[column] for meaning in meanings})


def cell_text(epsilon: Sample | None) -> str:
    """Text of an ε, and of what it leaves to an attacker."""
    if epsilon is None or (text := epsilon_text(epsilon)) == numbers.NONE:
        return numbers.NONE
    left = float(attacker_accuracy(epsilon.seeds.mean()))
    return f"{text} ({numbers.attacker(left)})"


def tidy_lines(cells: Sequence[ReadCell], counted: Counts) -> Iterator[Line]:
    """Yield every ε, and what it leaves to an attacker, for machines: cell by cell."""
    for at, read in enumerate(cells):
        for epsilon in (each[at] for each in counted.values()):
            if epsilon is not None:
                about = {"run": read.cell.run, **epsilon.meaning}
                right = Sample(epsilon.seeds.map(attacker_accuracy))
                yield read.line("epsilon", epsilon, about)
                yield read.line("attacker_accuracy", right, about)
