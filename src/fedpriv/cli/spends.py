"""Many ε for a terminal: a line each, with what gives it its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedpriv.cli.table import Page, Table

if TYPE_CHECKING:
    from fedpriv.account.spend import Spend

ESTIMATE = "What an estimate is, and why it is no guarantee: docs/accounting.md"


def spend_table(
    spends: Sequence[Spend],
    columns: Mapping[str, Sequence[str]] | None = None,
    marks: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Page:
    """Return a line for every spend; together with what is said above it, a line says the whole spend.

    `columns` stand before ε, `marks` say of a line that it is the one that a paper uses, `notes` stand below.
    """
    below = [*notes, *([ESTIMATE] if any(one.kind == "estimate" for one in spends) else [])]
    if len(spends) == 1 and not columns:
        return Page(str(spends[0]), *below)
    lines = [
        {name: texts[number] for name, texts in (columns or {}).items()}
        | {"ε": f"{one.epsilon:.4g}", "δ": f"{one.delta:g}"}
        | one.words
        | ({"used by": marks[number]} if any(marks) else {})
        for number, one in enumerate(spends)
    ]
    return Page(Table("", lines), *below)
