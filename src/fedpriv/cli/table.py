"""The one printer of the program: lines as a table where it fits, else as records, a `key: value` each.

Text is wrapped between words alone: no number, name or path is ever broken. A text that begins with a space
is a command, which is not wrapped at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from fedpriv.progress import visible

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement

PROSE = 24  # columns: the narrowest that a cell of words is wrapped to
NOTHING = "no ε: no accountant counts what was released"
ESTIMATE = "What an estimate is, and why it is no guarantee: docs/accounting.md"


class Table(NamedTuple):
    """Lines under a title; what all lines say alike may stand `once`, above them."""

    title: str
    lines: Sequence[Mapping[str, Any]]
    once: bool = True


def layout(parts: Sequence[Table | str], width: int) -> Iterator[str]:
    """Yield tables and sentences one below the other, in lines of at most `width` columns."""
    for part in parts:
        if isinstance(part, str):
            yield from wrapped(visible(part), width, below="")
        else:
            yield from table_lines(part, width)


def table_lines(table: Table, width: int) -> Iterator[str]:
    """Yield a table, with the columns of which any line says something."""
    names = dict.fromkeys(key for line in table.lines for key in line)
    texts = {name: [visible(words(line.get(name))) for line in table.lines] for name in names}
    if table.title:
        yield from wrapped(table.title, width)
    alike = [name for name, cells in texts.items() if table.once and len(cells) > 1 and len({*cells}) == 1]
    if shared := [f"{name} {texts[name][0]}" for name in alike if texts[name][0]]:
        yield from wrapped(f"All: {', '.join(shared)}", width)
    columns = {name: cells for name, cells in texts.items() if any(cells) and name not in alike}
    # Headings are broken between words where only that makes the table fit.
    longest = {name: max(map(len, (*name.split(" "), *cells))) for name, cells in columns.items()}
    narrow = [wrap_text(name, longest[name], below="") for name in columns]
    for heads in ([[name] for name in columns], narrow):
        if columns and (room := widest_column(columns, heads, width)):
            yield from grid(columns, heads, room)
            return
    for cells in zip(*columns.values(), strict=True):
        yield from record(dict(zip(columns, cells, strict=True)), width)


def widest_column(columns: Mapping[str, list[str]], heads: Sequence[list[str]], width: int) -> int:
    """Return the width of the widest column with which all fit into `width`; 0 if they cannot."""
    from rich.cells import cell_len

    widths = [
        max(map(cell_len, (*head, *cells))) for head, cells in zip(heads, columns.values(), strict=True)
    ]
    room = width - sum(widths) - 2 * len(widths) + 2 + max(widths)
    longest = max(cell_len(word) for cells in columns.values() for cell in cells for word in cell.split(" "))
    return room if room >= min(max(widths), max(PROSE, longest)) else 0


def grid(columns: Mapping[str, list[str]], heads: Sequence[list[str]], room: int) -> Iterator[str]:
    """Yield a table with a line below its headings, no cell of which is wider than `room`."""
    from rich.cells import cell_len

    lines = zip(*columns.values(), strict=True)
    rows = [[wrap_text(cell, room, below="") for cell in cells] for cells in lines]
    widths = [
        max(cell_len(line) for cell in column for line in cell) for column in zip(heads, *rows, strict=True)
    ]
    right = [all(map(is_number, cells)) for cells in columns.values()]
    for number, row in enumerate([list(heads), *rows]):
        for cells in zip_longest(*row, fillvalue=""):
            padded = []
            for cell, width, numeric in zip(cells, widths, right, strict=True):
                space = " " * (width - cell_len(cell))
                padded.append(space + cell if numeric else cell + space)
            yield "  ".join(padded).rstrip()
        if number == 0:
            yield "─" * (sum(widths) + 2 * len(widths) - 2)


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
    together = text.replace(" ± ", "\u00a0±\u00a0")
    lines = wrap(
        together,
        width,
        initial_indent=indent,
        subsequent_indent=indent + below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines]


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
