"""The one printer of the program: lines as a table where it fits, else as records, a `key: value` each.

Text is wrapped between words alone: no number, name or path is ever broken. A text that begins with a space
is a command, which is not wrapped at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from fedpriv.progress import visible

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement

LINES = 6  # to about so many a cell is wrapped at most
NOTHING = "no ε: no accountant counts what was released"
ESTIMATE = "What an estimate is, and why it is no guarantee: docs/accounting.md"


class Table(NamedTuple):
    """Lines under a title; what all lines say alike may stand `once`, above them."""

    title: str
    lines: Sequence[Mapping[str, Any]]
    once: bool = True


class Laid(NamedTuple):
    """A table before it is printed: the lines above, columns, their headings and how wide each is."""

    above: list[str]
    columns: Mapping[str, list[str]]
    heads: Sequence[list[str]] = ()
    widths: Sequence[int] = ()  # none: it does not fit


def layout(parts: Sequence[Table | str], width: int) -> Iterator[str]:
    """Yield tables and sentences one below the other, in lines of at most `width` columns.

    All tables have one form: where one does not fit, all are records.
    """
    laid = [part if isinstance(part, str) else lay(part, width) for part in parts]
    fit = all(part.widths for part in laid if not isinstance(part, str) and part.columns)
    for part in laid:
        if isinstance(part, str):
            yield from wrapped(visible(part), width, below="")
            continue
        yield from part.above
        if part.columns:
            yield from grid(part) if fit else records(part.columns, width)


def lay(table: Table, width: int) -> Laid:
    """Return a table with the columns of which any line says something."""
    columns = {
        name: cells for name in dict.fromkeys(chain(*table.lines)) if any(cells := column(table.lines, name))
    }
    alike = [name for name, cells in columns.items() if table.once and is_shared(cells)]
    shared = {name: columns.pop(name)[0] for name in alike}
    above = wrapped(table.title, width) if table.title else []
    if shared:
        above += wrapped(f"All: {', '.join(f'{name} {cell}' for name, cell in shared.items())}", width)
    return Laid(above, columns, *column_widths(columns, width))


def column(lines: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Return the cells of a column as they are shown."""
    return [visible(words(line.get(name))) for line in lines]


def is_shared(cells: Sequence[str]) -> bool:
    """Say if all of several lines have the same cell."""
    return len(cells) > 1 and len({*cells}) == 1


def column_widths(columns: Mapping[str, list[str]], width: int) -> tuple[list[list[str]], list[int]]:
    """Return the headings, and how wide each column may be for all to fit into `width`; none if they cannot.

    What is too wide is broken between words.
    """
    room = width - 2 * (len(columns) - 1)
    widths = [longest((name, *cells)) for name, cells in columns.items()]
    return ([[name] for name in columns], widths) if sum(widths) <= room else broken_widths(columns, room)


def broken_widths(columns: Mapping[str, list[str]], room: int) -> tuple[list[list[str]], list[int]]:
    """Return the same where cells are broken: headings to the width of their cells, then the widest columns.

    These to no less than their longest word, and not to many lines; `room` is without the gaps.
    """
    heads = [
        wrap_text(name, longest((*name.split(" "), *cells)), below="") for name, cells in columns.items()
    ]
    pairs = [*zip(heads, columns.values(), strict=True)]
    most = [longest((*head, *cells)) for head, cells in pairs]
    least = [longest((*head, *(word for cell in cells for word in unbroken(cell)))) for head, cells in pairs]
    for widest in range(max(most), max(most) // LINES, -1):
        widths = [max(min(wide, widest), word) for wide, word in zip(most, least, strict=True)]
        if sum(widths) <= room:
            return heads, widths
    return heads, []


def longest(cells: Iterable[str]) -> int:
    """Return the width of the widest of several cells."""
    from rich.cells import cell_len

    return max(map(cell_len, cells))


def grid(laid: Laid) -> Iterator[str]:
    """Yield a table with a line below its headings."""
    from rich.cells import cell_len

    rows = [
        [wrap_text(cell, room, below="") for cell, room in zip(cells, laid.widths, strict=True)]
        for cells in zip(*laid.columns.values(), strict=True)
    ]
    rows = [list(laid.heads), *rows]
    widths = [max(cell_len(line) for cell in column for line in cell) for column in zip(*rows, strict=True)]
    right = [all(map(is_number, cells)) for cells in laid.columns.values()]

    def padded(cell: str, width: int, numeric: bool) -> str:
        space = " " * (width - cell_len(cell))
        return space + cell if numeric else cell + space

    for number, row in enumerate(rows):
        for cells in zip_longest(*row, fillvalue=""):
            yield "  ".join(map(padded, cells, widths, right)).rstrip()
        if number == 0:
            yield "─" * (sum(widths) + 2 * len(widths) - 2)


def records(columns: Mapping[str, list[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table as records."""
    for cells in zip(*columns.values(), strict=True):
        yield from record(dict(zip(columns, cells, strict=True)), width)


def record(cells: Mapping[str, str], width: int) -> Iterator[str]:
    """Yield a line of a table as pairs, as many side by side as there is room for."""
    rows: list[str] = []
    for name, cell in cells.items():
        pair = f"{name}: {cell}" if name else cell
        if rows and len(rows[-1]) + len(pair) + 5 <= width:
            rows[-1] += f"   {pair}" if cell else ""
        elif cell:
            rows.append(pair)
    for number, row in enumerate(rows):
        yield from wrapped(row, width, "  " if number else "")


def wrapped(text: str, width: int, indent: str = "", below: str = "  ") -> list[str]:
    """Return the lines of a text or a command; those below the first are indented by `below` more."""
    return [text] if not text or text.startswith(" ") else wrap_text(text, width, indent, below)


def wrap_text(text: str, width: int, indent: str = "", below: str = "  ") -> list[str]:
    """Return a text in lines of at most `width`, but for a word that is longer; `x ± y` is one word."""
    lines = wrap(
        text.replace(" ± ", "\u00a0±\u00a0"),
        width,
        initial_indent=indent,
        subsequent_indent=indent + below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines]


def unbroken(text: str) -> list[str]:
    """Return the words of a text that `wrap_text` leaves whole."""
    return text.replace(" ± ", "\u00a0±\u00a0").split(" ")


def statement_table(
    statements: Sequence[PrivacyStatement],
    columns: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> list[Table | str]:
    """Return a line for every statement; with what stands above the table, a line is the whole of one.

    `columns` stand before ε, `notes` below.
    """
    if not statements:
        return [NOTHING]
    below = [*notes, *([ESTIMATE] if any(statement.kind == "estimate" for statement in statements) else [])]
    if len(statements) == 1 and not columns:
        return [str(statements[0]), *below]
    below = [*dict.fromkeys(filter(None, (f"{one.note}." * bool(one.note) for one in statements))), *below]
    lines = [
        {name: texts[number] for name, texts in (columns or {}).items()}
        | {"ε": statement.shown, "δ": f"{statement.delta:g}"}
        | statement.words
        for number, statement in enumerate(statements)
    ]
    return [Table("", lines), *below]


def words(value: Any) -> str:
    """Return a value as a cell shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {words(inner)}" for key, inner in value.items())
    return ", ".join(map(words, value)) if isinstance(value, list) else str(value)


def is_number(text: str) -> bool:
    """Say if a cell is a number, or empty."""
    text = text.rstrip("†‡")  # of an ε
    return not text or text.replace(",", "").replace(".", "").replace("e-", "").isdigit()
