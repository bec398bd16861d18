"""What stands under a table of accuracies: what its signs mean, when cells were read, what to doubt."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.tables import BASELINE, AccuracyColumn, AccuracyTable
from fedpriv.report import numbers
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import LEVELS, SEARCHED, meaning_text, preset_notes
from fedpriv.report.results import Results
from fedpriv.report.stability import MEANT
from fedpriv.report.tables.cells import NO_ROUND, ReadCell, deltas_by_level
from fedpriv.report.verdicts import UNSTABLE

WHOSE = {"": "ε", "client": "client ε", "instance": "example ε"}
BRACKETS = "in brackets: published"


def reading_notes(declared: AccuracyTable, cells: Sequence[ReadCell]) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    noun = METRICS[declared.metric].noun
    within = {name: column for name, column in declared.columns.items() if column.by_unit()}
    if not within:
        return [f"{noun[0].upper()}{noun[1:]} at the last round."]
    labels: dict[str, list[str]] = {}
    for name, column in within.items():
        labels.setdefault(until_when(declared, cells, name), []).append(column.label)
    notes = [*rounds_notes(cells, within)]
    notes += [
        f"{'; '.join(each)}: read at the last evaluated round {until}" for until, each in labels.items()
    ]
    if BASELINE in declared.labels:
        notes.append(f"Baseline: {noun} at the last round.")
    notes += uncounted_notes(cells)
    return notes + ([SEARCHED.format(declared.searched)] if declared.searched else [])


def uncounted_notes(cells: Iterable[ReadCell]) -> Iterator[str]:
    """Yield which ε of cells their ledgers have not."""
    for read in cells:
        for budget, spent in zip(read.cell.within, read.spent, strict=False):
            if not spent.status:
                yield f"The ledger of {read.cell.run} holds no ε ({budget.selector})."


def rounds_notes(cells: Sequence[ReadCell], within: Mapping[str, AccuracyColumn]) -> Iterator[str]:
    """Yield the note that says at which round the cells of columns with a budget were read."""
    rounds: dict[str, list[str]] = {}
    for read in cells:
        if read.ran and read.column in within:
            at = f"{within[read.column].label} {numbers.round_range(read.round)}"
            rounds.setdefault(read.row.cited, []).append(at)
    if rounds:
        texts = "; ".join(f"{row}: {', '.join(at)}" for row, at in rounds.items())
        yield f"Read at round: {texts}."


def until_when(declared: AccuracyTable, cells: Sequence[ReadCell], name: str) -> str:
    """Text of what ends before a column is read."""
    column = declared.columns[name]
    means = {
        level: counting_text(cells, name, level, selector) for level, selector in column.by_unit().items()
    }
    if "" in means:
        other = declared.labels.get(column.within)
        budget = f"the ε published for {other}" if other else "the published budget"
        return f"before ε ({means['']}) exceeds {budget}, and the ε spent by then."
    both = ", ".join(f"{LEVELS[level]} ε ({words})" for level, words in means.items())
    return f"before any ε exceeds its budget, and the ε spent by then: {both}."


def counting_text(cells: Sequence[ReadCell], column: str, level: str, selector: EpsilonSelector) -> str:
    """Way of counting an ε, with its meaning in the ledgers of a column's runs."""
    every = [spent for read in cells if read.column == column for spent in read.spent]
    means = [spent.epsilon.meaning for spent in every if spent.level == level]
    texts = {meaning_text(meaning) for meaning in means if "relation" in meaning}
    return f"{selector}; {' or '.join(sorted(texts)) or selector.kind}"


def caveats(declared: AccuracyTable, cells: Sequence[ReadCell], used: Results) -> str:
    """Return the note that no reader can do without: signs, and differences from the paper."""
    sentences = [f"{'; '.join(signs(declared, cells))}.", *unstable_notes(declared, cells)]
    if any(read.status == NO_ROUND for read in cells):
        sentences.append(f"{numbers.NONE}: some seed has no evaluated round within the budget.")
    if rows := [row.cited for row in declared.rows if row.own_baseline]:
        which = f" at {', '.join(rows)}" if len(rows) < len(declared.rows) else ""
        sentences.append(f"Another network than the paper's{which}: it is held against its own baseline.")
    return " ".join([*sentences, *preset_notes(used.runs, missing_cells(declared, cells))])


def unstable_notes(declared: AccuracyTable, cells: Sequence[ReadCell]) -> Iterator[str]:
    """Yield why cells are unstable."""
    labels: dict[str, list[str]] = {}
    for read in cells:
        if read.unstable:
            label = f"{read.row.label or f'{read.row.clients:,}'} ({declared.labels[read.column]})"
            labels.setdefault(read.unstable.removeprefix(f"{UNSTABLE}: "), []).append(label)
    for why, each in labels.items():
        yield f"Unstable: {MEANT[why]} at {', '.join(each)}."


def missing_cells(declared: AccuracyTable, cells: Sequence[ReadCell]) -> Iterator[str]:
    """Yield what was not run: a row, or a column of a row that was."""
    ran = {read.row.key for read in cells if read.ran}
    for read in cells:
        if not read.ran:
            column = f" ({declared.labels[read.column]})" if read.row.key in ran else ""
            yield read.row.cited + column


def signs(declared: AccuracyTable, cells: Sequence[ReadCell]) -> Iterator[str]:
    """Yield what the signs of a table mean."""
    metric = METRICS[declared.metric]
    yield f"{metric.noun[0].upper()}{metric.noun[1:]}{' in %' * metric.percent}"
    yield from interval_signs(cells)
    if published := [read for read in cells if read.cell.published is not None]:
        data = sorted({read.facts.get("substitute_for", "") for read in published} - {""})
        yield f"{BRACKETS}, on {', '.join(data)}, and not comparable" if data else BRACKETS
    if any(read.cell.published_std for read in cells):
        yield "a published ± is a standard deviation, and widens the interval"
    for level, deltas in deltas_by_level(declared, declared.rows).items():
        if len(deltas) == 1:
            yield f"{WHOSE[level]} at δ = {numbers.delta(*deltas)}"


def interval_signs(cells: Iterable[ReadCell]) -> Iterator[str]:
    """Yield what ± means, over how many seeds, and which number has none."""
    seeds = {len(read.value.seeds) for read in cells if read.ran}
    if max(seeds, default=0) > 1:
        many = " to ".join(map(str, sorted({min(seeds), max(seeds)})))
        yield f"x ± y: mean and half-width of the 95 % Student-t interval over {many} seeds"
    if 1 in seeds:
        yield "one seed has no interval"
