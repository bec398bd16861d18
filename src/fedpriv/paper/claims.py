"""A sentence of a paper made checkable: one line of arithmetic that must hold in every case it is about."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput, require_known
from fedpriv.frozen import Count, Frozen, Label, Real, choice_error
from fedpriv.paper.arithmetic import Call, Comparison, comparison, parts
from fedpriv.paper.metrics import ACCOUNT, COLUMN, COUNTED, PRINTED, PRIVATE, RUN
from fedpriv.paper.tables import AccuracyTable, Cell, Row

OUR_QUESTION = "ours_"  # how the ids begin of questions that no paper asks
TableRow = tuple[AccuracyTable, Row]
READ = (COLUMN, COUNTED, PRIVATE)  # kinds of names whose runs a call reads
Reads = list[tuple[Call, Cell]]  # of one side of a claim: what is measured, and of which cell


class Case(NamedTuple):
    """One thing that is judged: how it is cited, and what names stand for on either side of the line."""

    name: str
    left: Mapping[str, Cell]
    right: Mapping[str, Cell]
    numbers: Mapping[str, float]


class Claim(Frozen):
    """What is claimed, in our words, where, and the line of arithmetic that checks it.

    A case is a row of `tables`, where names are those of columns; or one of `cases`, where each stands for a
    run or a number. `unsound` says why the statement does not follow although its numbers may hold: what was
    observed and what is made of it are two things, and the verdict says both.
    """

    id: str
    """How the claim is cited."""
    place: str
    """In the paper."""
    text: str
    """The claim in our words."""
    check: str
    """One comparison, as `accuracy(bdp) >= published(bdp) - 0.005`."""
    needs: Literal["every", "some"] = "every"
    """Of the cases."""
    tables: tuple[str, ...] = ()
    """Tables of accuracies, of which every row is a case."""
    clients: tuple[Count, ...] = ()
    """The rows with so many published clients; all by default."""
    labels: tuple[Label, ...] = ()
    """The rows so labelled; all by default."""
    elsewhere: tuple[str, ...] = ()
    """The tables in whose other rows the right side is read."""
    cases: dict[str, str | dict[str, Real | str]] = {}
    """Label -> what names stand for, or the run that `run` stands for; instead of `tables`."""
    unsound: str = ""
    """Why the statement does not follow even if its numbers hold."""

    @property
    def ours(self) -> bool:
        """Whether it is a question that we asked beside the paper's claims."""
        return self.id.startswith(OUR_QUESTION)

    @property
    def comparison(self) -> Comparison:
        """Both sides of the line, and its sign."""
        return comparison(self.check)

    @property
    def parts(self) -> list[Call | str]:
        """Everything that is measured, and the names of numbers, from left to right."""
        left, _, right = self.comparison
        return [*parts(left), *parts(right)]

    @property
    def calls(self) -> list[Call]:
        """Everything that is measured, from left to right."""
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def numbers(self) -> list[str]:
        """The names of numbers, from left to right."""
        return [part for part in self.parts if isinstance(part, str)]

    @property
    def printed(self) -> bool:
        """Whether it is about a published number."""
        return any(call.function == "published" for call in self.calls)

    @property
    def about_paper(self) -> bool:
        """Whether it says anything of the paper."""
        return self.printed or not self.ours

    @property
    def depends_on_data(self) -> bool:
        """Whether what it says depends on data, and not on the noise alone."""
        return any(call.about != ACCOUNT for call in self.calls)

    def names(self, *kinds: str) -> list[str]:
        """Return the names that must stand for one of `kinds`."""
        return [name for call in self.calls for name in call.of(*kinds)]

    @model_validator(mode="after")
    def _complete(self) -> "Claim":
        try:
            numbers = self.numbers
        except BadInput as error:
            words = {"where": f"{self.id}: check", "error": str(error)}
            raise PydanticCustomError("choice", "{where}: {error}", words) from None
        if bool(self.tables) == bool(self.cases):
            keys = ["tables", "cases"] if self.tables else []
            raise choice_error(self.id, keys, "one of tables, cases")
        if self.tables and numbers:
            raise choice_error(f"{self.id}: check", numbers, "a number; only `cases` have names for them")
        only = [key for key in ("clients", "labels", "elsewhere") if getattr(self, key)]
        only += self.names(PRINTED, COUNTED)
        if self.cases and only:
            raise choice_error(self.id, only, "these of `tables` only")
        self._check_cases()
        return self

    def _check_cases(self) -> None:
        """Raise the error of a case that lacks a name or a number, or has one too many."""
        numbers = self.numbers
        names = [*dict.fromkeys([*self.names(COLUMN, PRIVATE), *numbers])]
        for label, case in self.named_cases().items():
            plain = [key for key, value in case.items() if not isinstance(value, str)]
            if set(case) != set(names) or set(plain) != set(numbers):
                allowed = f"exactly {', '.join(names)}; a number for {', '.join(numbers) or 'none'}"
                raise choice_error(f"{self.id}: cases: {label}", case, allowed)

    def named_cases(self) -> dict[str, dict[str, float | str]]:
        """Cells and numbers of the names in every one of `cases`, by its label."""
        return {label: {RUN: case} if isinstance(case, str) else case for label, case in self.cases.items()}

    def judged(self, tables: Mapping[str, AccuracyTable]) -> Iterator[Case]:
        """Yield the cases, in the order in which they are declared."""
        for label, case in self.named_cases().items():
            cells = {name: Cell(run) for name, run in case.items() if isinstance(run, str)}
            numbers = {name: value for name, value in case.items() if not isinstance(value, str)}
            yield Case(label, cells, cells, numbers)
        for left, right in self.compared_rows(tables):
            yield Case(row_citation(*right), cells_of(*left), cells_of(*right), {})

    def reads(self, case: Case) -> tuple[Reads, Reads]:
        """Return what either side measures in a case, from left to right; what is published is of no run."""
        left, _, right = self.comparison
        return side_reads(left, case.left), side_reads(right, case.right)

    def compared_rows(self, tables: Mapping[str, AccuracyTable]) -> list[tuple[TableRow, TableRow]]:
        """Return the rows of either side: both the same, or the one that is chosen and each elsewhere."""
        chosen = self.rows(tables)
        if not self.elsewhere:
            return [(row, row) for row in chosen]
        return [(chosen[0], row) for row in every_row(self.elsewhere, tables) if row != chosen[0]]

    def rows(self, tables: Mapping[str, AccuracyTable]) -> list[TableRow]:
        """Return the rows that are chosen, in the order of the tables; of public data alone none."""
        rows = [(table, row) for table, row in every_row(self.tables, tables) if not row.free]
        rows = [(table, row) for table, row in rows if not self.clients or row.clients in self.clients]
        return [(table, row) for table, row in rows if not self.labels or row.key in self.labels]

    def validate_names(self, where: str, tables: Mapping[str, AccuracyTable], runs: Iterable[str]) -> None:
        """Raise BadInput if something is named that is not declared: a run, table, column or row."""
        require_known(f"{where}: tables", self.tables, tables)
        require_known(f"{where}: elsewhere", self.elsewhere, tables)
        self._validate_rows(where, tables)
        for name in (*self.tables, *self.elsewhere):
            require_known(f"{where}: column of {name}", self.names(COLUMN, COUNTED), tables[name].labels)
        self._validate_cells(where, tables)
        for case in self.judged(tables):
            require_known(f"{where}: runs", (cell.run for side in self.reads(case) for _, cell in side), runs)

    def _validate_rows(self, where: str, tables: Mapping[str, AccuracyTable]) -> None:
        """Raise BadInput if no row is chosen, or several are where one is compared with others."""
        rows = every_row(self.tables, tables)
        require_known(f"{where}: clients", self.clients, (row.clients for _, row in rows))
        require_known(f"{where}: labels", self.labels, (row.key for _, row in rows))
        count = len(self.rows(tables))
        if (self.tables and not count) or (self.elsewhere and count != 1):
            allowed = "one, against those elsewhere" if self.elsewhere else "at least one"
            raise BadInput(
                f"{where}: found {count or 'no'} rows with these clients and labels, allowed: {allowed}"
            )

    def _validate_cells(self, where: str, tables: Mapping[str, AccuracyTable]) -> None:
        """Raise BadInput if a row has not what a name must stand for in it."""
        for table, row in [*self.rows(tables), *every_row(self.elsewhere, tables)]:
            cells = {name: table.cell(row, name) for name in table.labels}
            printed = [name for name, cell in cells.items() if cell.published is not None]
            counted = [name for name, cell in cells.items() if len(cell.within) == 1]
            for kind, allowed in ((PRIVATE, row.private_runs()), (PRINTED, printed), (COUNTED, counted)):
                require_known(f"{where}: {row_citation(table, row)}: {kind}", self.names(kind), allowed)


def side_reads(tree: ast.expr, cells: Mapping[str, Cell]) -> Reads:
    """Return what a side of a check measures, and of which of its cells."""
    calls = [part for part in parts(tree) if isinstance(part, Call)]
    return [(call, cells[name]) for call in calls for name in call.of(*READ)]


def every_row(names: Iterable[str], tables: Mapping[str, AccuracyTable]) -> list[TableRow]:
    """Return all rows of the tables so called."""
    return [(tables[name], row) for name in names for row in tables[name].rows]


def cells_of(table: AccuracyTable, row: Row) -> dict[str, Cell]:
    """Cells of the names in a row: of its columns, and its private run if it has one only."""
    runs = {name: Cell(run) for name, run in row.private_runs().items()}
    return runs | {name: table.cell(row, name) for name in table.labels}


def row_citation(table: AccuracyTable, row: Row) -> str:
    """Label by which a row is cited."""
    return f"{table.place}, {row.cited}"
