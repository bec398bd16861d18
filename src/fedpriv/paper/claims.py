"""A sentence of a paper made checkable: a comparison of two numbers in every case that it is about."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic import model_validator

from fedpriv.errors import BadInput, require_known
from fedpriv.frozen import Count, Frozen, Label, Positive, Real, choice_error
from fedpriv.paper.cells import AccuracyTable, Cell, Row
from fedpriv.paper.quantities import COLUMN, COUNTED, PRINTED, PRIVATE, Compared, Number, Quantity


class Case(NamedTuple):
    """One thing that is judged: how it is cited, and what names stand for in either of the two numbers."""

    name: str
    that: Mapping[str, Cell]
    other: Mapping[str, Cell]
    numbers: Mapping[str, float]

    def number(self, given: float | str) -> float:
        """Return a number, or the one of the case that has this name."""
        return self.numbers[given] if isinstance(given, str) else given


class Check(Frozen):
    """That one number is at least, or at most, another, or equals it within a margin, in every case.

    A case is a row of `tables`, where names are those of columns; or one of `cases`, with a label, a run for
    every name of a run and a number for every name of a number.
    """

    that: Compared  # the number that is judged
    at_least: Compared | None = None  # the other number: `that` is no smaller
    at_most: Compared | None = None  # instead of at_least
    equals: Compared | None = None  # instead of at_least, within the margin
    margin: Positive | None = None  # of an equality: what is less apart counts as equal
    times: Positive | None = None  # so many times the other number; judged by the ratio
    plus: Real | str = 0.0  # so much more than the other number
    needs: Literal["every", "some"] = "every"  # of the cases
    tables: tuple[str, ...] = ()  # tables of accuracies, of which every row is a case
    clients: tuple[Count, ...] = ()  # the rows with so many published clients; all by default
    labels: tuple[Label, ...] = ()  # the rows so labelled; all by default
    elsewhere: tuple[str, ...] = ()  # the tables in whose other rows the other number is read
    # each with a label and what names stand for, instead of `tables`
    cases: tuple[dict[str, Real | str], ...] = ()

    @property
    def other(self) -> Quantity:
        """Return the number that `that` is compared with."""
        found = self.at_least or self.at_most or self.equals
        assert found is not None
        return found

    @property
    def of_accuracies(self) -> bool:
        """Return whether anything but accounts is compared."""
        return self.that.of_accuracies or self.other.of_accuracies

    @property
    def conjunction(self) -> bool:
        """Return whether the cases are one statement: what is the largest is larger than every other."""
        return bool(self.elsewhere)

    def names(self, *kinds: str) -> list[str]:
        """Return the names that must be of one of `kinds`."""
        return self.that.names(*kinds) + self.other.names(*kinds)

    def numbers(self) -> list[str]:
        """Return the names of numbers."""
        given = [self.plus, *(one.number for one in (self.that, self.other) if isinstance(one, Number))]
        return [one for one in given if isinstance(one, str)]

    @model_validator(mode="after")
    def _complete(self) -> "Check":
        for keys in (("at_least", "at_most", "equals"), ("tables", "cases")):
            given = [key for key in keys if getattr(self, key)]
            if len(given) != 1:
                raise choice_error("check", given, f"one of {', '.join(keys)}")
        if bool(self.equals) != bool(self.margin):
            raise choice_error("check", ["equals" if self.equals else "margin"], "equals with a margin")
        if self.equals and self.times is not None:
            raise choice_error("check", ["equals", "times"], "times with at_least or at_most")
        if self.tables and self.numbers():
            raise choice_error("check", self.numbers(), "a number; only `cases` have names for them")
        only = [key for key in ("clients", "labels", "elsewhere") if getattr(self, key)]
        only += self.names(PRINTED, COUNTED)
        if self.cases and only:
            raise choice_error("check", only, "these of `tables` only")
        wanted = [*dict.fromkeys(["label", *self.names(COLUMN, PRIVATE)]), *self.numbers()]
        for case in self.cases:
            plain = [key for key, value in case.items() if not isinstance(value, str)]
            if set(case) != set(wanted) or set(plain) != set(self.numbers()):
                allowed = f"{', '.join(wanted)}; a number for {', '.join(self.numbers()) or 'none'}"
                raise choice_error(f"cases: {case.get('label', '')}", case, f"exactly {allowed}")
        return self

    def judged(self, tables: Mapping[str, AccuracyTable]) -> Iterator[Case]:
        """Yield the cases, in the order in which they are declared."""
        for case in self.cases:
            runs = {key: run for key, run in case.items() if isinstance(run, str)}
            cells = {name: Cell(run) for name, run in runs.items() if name != "label"}
            numbers = {key: value for key, value in case.items() if not isinstance(value, str)}
            yield Case(runs["label"], cells, cells, numbers)
        chosen = self.rows(tables)
        for there in every_row(self.elsewhere, tables) if self.elsewhere else chosen:
            here = chosen[0] if self.elsewhere else there
            if not self.elsewhere or here != there:
                yield Case(cited(*there), cells_of(*here), cells_of(*there), {})

    def rows(self, tables: Mapping[str, AccuracyTable]) -> list[tuple[AccuracyTable, Row]]:
        """Return the rows that are chosen, in the order of the tables."""
        found = every_row(self.tables, tables)
        found = [one for one in found if not self.clients or one[1].clients in self.clients]
        return [one for one in found if not self.labels or one[1].key in self.labels]

    def validate_names(self, where: str, tables: Mapping[str, AccuracyTable], runs: Iterable[str]) -> None:
        """Raise BadInput if something is named that is not declared: a run, table, column or row."""
        require_known(f"{where}: tables", self.tables, tables)
        require_known(f"{where}: elsewhere", self.elsewhere, tables)
        rows = every_row(self.tables, tables)
        require_known(f"{where}: clients", self.clients, (row.clients for _, row in rows))
        require_known(f"{where}: labels", self.labels, (row.key for _, row in rows))
        found = len(self.rows(tables))
        if (self.tables and not found) or (self.elsewhere and found != 1):
            allowed = "one, against those elsewhere" if self.elsewhere else "at least one"
            raise BadInput(
                f"{where}: found {found or 'no'} rows with these clients and labels, allowed: {allowed}"
            )
        for name in (*self.tables, *self.elsewhere):
            require_known(f"{where}: column of {name}", self.names(COLUMN), tables[name].labels)
        for table, row in [*self.rows(tables), *every_row(self.elsewhere, tables)]:
            cells = {name: table.cell(row, name) for name in table.labels}
            printed = [name for name, cell in cells.items() if cell.published is not None]
            counted = [name for name, cell in cells.items() if len(cell.within) == 1]
            for kind, allowed in ((PRIVATE, row.private_runs()), (PRINTED, printed), (COUNTED, counted)):
                require_known(f"{where}: {cited(table, row)}: {kind}", self.names(kind), allowed)
        for case in self.judged(tables):
            require_known(f"{where}: runs", self.that.runs(case.that) + self.other.runs(case.other), runs)


def every_row(names: Iterable[str], tables: Mapping[str, AccuracyTable]) -> list[tuple[AccuracyTable, Row]]:
    """Return all rows of the tables so called."""
    return [(tables[name], row) for name in names for row in tables[name].rows]


def cells_of(table: AccuracyTable, row: Row) -> dict[str, Cell]:
    """Return what names stand for in a row: cells of its columns, and its private run if it has one only."""
    runs = {name: Cell(run) for name, run in row.private_runs().items()}
    return runs | {name: table.cell(row, name) for name in table.labels}


def cited(table: AccuracyTable, row: Row) -> str:
    """Return how a row is cited."""
    return f"{table.place}, {row.cited}"


class Claim(Frozen):
    """What is claimed, in our words, where, and how it is checked.

    `unsound` says why the statement does not follow although its numbers may hold: what was observed and what
    is made of it are two things, and the verdict says both.
    """

    id: str  # how the claim is cited
    place: str  # in the paper
    text: str  # the claim in our words
    check: Check  # how it is checked
    unsound: str = ""  # why the statement does not follow even if its numbers hold
