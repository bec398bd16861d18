"""Many ε in one table for a terminal: what all of them share is said once, above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedpriv.terminal import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fedpriv.account.spend import Spend

ESTIMATE = "What an estimate is, and why it is no guarantee: docs/accounting.md"


def spend_table(
    spends: Sequence[Spend],
    columns: Mapping[str, Sequence[str]] | None = None,
    marks: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> RenderableType:
    """Return a line for every spend; together with what is said above it, a line says the whole spend.

    `columns` stand before ε, `marks` say of a line that it is the one that a paper uses, `notes` stand below.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    below = [*notes, *([ESTIMATE] if any(one.kind == "estimate" for one in spends) else [])]
    if len(spends) == 1 and not columns:
        return Group(*(Text(visible(text)) for text in (str(spends[0]), *below)))
    told = [{"δ": f"{one.delta:g}"} | one.words for one in spends]
    shared = {name: text for name, text in told[0].items() if all(one[name] == text for one in told)}
    shown = {**(columns or {}), "ε": [f"{one.epsilon:.4g}" for one in spends]}
    shown |= {name: [one[name] for one in told] for name in told[0] if name not in shared}
    if any(marks):
        shown["used by"] = marks
    table = Table()
    for name in (name for name, texts in shown.items() if any(texts)):
        table.add_column(name, justify="right" if name == "ε" else "left", overflow="fold")
    for number, line in enumerate(zip(*(texts for texts in shown.values() if any(texts)), strict=True)):
        style = "bold" if any(marks) and marks[number] else ""
        table.add_row(*(Text(visible(text)) for text in line), style=style)
    above = ", ".join(f"{name} {text}" for name, text in shared.items() if text)
    lines = [Text(visible(f"All: {above}"))] if above else []
    return Group(*lines, table, *(Text(visible(note)) for note in below))
