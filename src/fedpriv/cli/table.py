"""The one printer of the program: lines as a table where it fits, else as records, a `key: value` each.

Text is wrapped between words alone: no number, name or path is ever broken. A text that begins with a space
is a command, which is not wrapped at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from fedpriv.progress import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from fedpriv.account.spend import Spend

PROSE = 40  # columns: the narrowest that a cell of words is wrapped to
NOTHING = "no ε: no accountant counts what was released"
ESTIMATE = "What an estimate is, and why it is no guarantee: docs/accounting.md"


class Table:
    """Lines under a title, with the columns of which any line says something.

    What all lines say alike stands `once`, above them. `colours` are those of cells, by their first words.
    """

    def __init__(
        self,
        title: str,
        lines: Sequence[Mapping[str, Any]],
        colours: Mapping[str, str] | None = None,
        once: bool = True,
    ) -> None:
        self.title, self.colours = title, colours or {}
        names = dict.fromkeys(key for one in lines for key in one)
        told = {name: [visible(words(one.get(name))) for one in lines] for name in names}
        alike = [name for name, cells in told.items() if once and len(lines) > 1 and len({*cells}) == 1]
        self.alike = {name: told[name][0] for name in alike if told[name][0]}
        self.columns = {name: cells for name, cells in told.items() if any(cells) and name not in self.alike}
        self.lines = list(zip(*self.columns.values(), strict=True))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        width = options.max_width
        if self.title:
            yield from wrapped(self.title, width, style="bold")
        if self.alike:
            yield from wrapped(
                f"All: {', '.join(f'{name} {text}' for name, text in self.alike.items())}", width
            )
        for heads in (dict(zip(self.columns, self.columns, strict=True)), self.narrow()):
            if room := self.room(width, heads):
                yield from self.boxed(room, heads)
                return
        yield from self.records(width)

    def narrow(self) -> dict[str, str]:
        """Return the headings, broken between words where that makes their columns narrower."""
        least = {name: max(map(len, (*name.split(" "), *cells))) for name, cells in self.columns.items()}
        return {name: "\n".join(broken(name, least[name], below="")) for name in self.columns}

    def room(self, width: int, heads: Mapping[str, str]) -> int:
        """Return how wide the widest column may be, so that all fit into `width`; 0 if they cannot."""
        from rich.cells import cell_len

        widths = [
            max(map(cell_len, (*heads[name].split("\n"), *cells))) for name, cells in self.columns.items()
        ]
        if not widths:
            return width
        left = width - sum(widths) - 2 * len(widths) + 2 + max(widths)
        longest = max(cell_len(word) for line in self.lines for cell in line for word in cell.split(" "))
        return left if left >= min(max(widths), max(PROSE, longest)) else 0

    def boxed(self, room: int, heads: Mapping[str, str]) -> Iterator[RenderableType]:
        """Yield the table, no cell of which is wider than `room`."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Box

        made = Box(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for name, cells in self.columns.items():
            justify = "right" if all(map(is_number, cells)) else "left"
            made.add_column(heads[name], justify=justify, no_wrap=True)
        for line in self.lines:
            made.add_row(*(self.coloured("\n".join(broken(cell, room, below=""))) for cell in line))
        if self.lines:
            yield made

    def records(self, width: int) -> Iterator[Text]:
        """Yield of every line as many pairs on one as there is room for."""
        for line in self.lines:
            rows: list[str] = []
            for name, cell in zip(self.columns, line, strict=True):
                pair = f"{name}: {cell}" if name else cell
                if rows and len(rows[-1]) + len(pair) + 5 <= width:
                    rows[-1] += f"   {pair}" if cell else ""
                elif cell:
                    rows.append(pair)
            for number, row in enumerate(rows):
                yield from wrapped(row, width, "  " if number else "")

    def coloured(self, cell: str) -> Text:
        """Return a cell in its colour, if it has one."""
        from rich.text import Text

        return Text(cell, self.colours.get(cell.partition(",")[0], ""))


def wrapped(text: str, width: int, indent: str = "", style: str = "", below: str = "  ") -> Iterator[Text]:
    """Yield the lines of a text; those below the first are indented by `below` more than that."""
    from rich.text import Text

    lines = [text] if not text or text.startswith(" ") else broken(text, width, indent, below)
    yield from (Text(line, style, no_wrap=True, overflow="ignore") for line in lines)


def broken(text: str, width: int, indent: str = "", below: str = "  ") -> list[str]:
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


class Page:
    """Tables and sentences one below the other."""

    def __init__(self, *parts: Table | str) -> None:
        self.parts = parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for part in self.parts:
            if isinstance(part, str):
                yield from wrapped(visible(part), options.max_width, below="")
            else:
                yield part


def spend_table(
    spends: Sequence[Spend],
    columns: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Return a line for every spend; together with what is said above it, a line says the whole spend.

    `columns` stand before ε, `notes` below.
    """
    if not spends:
        return Page(NOTHING)
    below = [*notes, *([ESTIMATE] if any(one.kind == "estimate" for one in spends) else [])]
    if len(spends) == 1 and not columns:
        return Page(str(spends[0]), *below)
    lines = [
        {name: texts[number] for name, texts in (columns or {}).items()}
        | {"ε": one.shown, "δ": f"{one.delta:g}"}
        | one.words
        for number, one in enumerate(spends)
    ]
    return Page(Table("", lines), *below)


def words(value: Any) -> str:
    """Return a value as a cell shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {words(one)}" for key, one in value.items())
    return ", ".join(map(words, value)) if isinstance(value, list) else str(value)


def is_number(text: str) -> bool:
    """Return whether a cell is a number, or nothing."""
    text = text.rstrip("†‡")  # of an ε
    return not text or text.replace(",", "").replace(".", "").replace("e-", "").isdigit()
