"""One line of the diagnosis."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """What was looked at, how it stands, and in words: what is there, or what to do.

    `ok` works, or is not needed; `to do` works once somebody did what the text says; nothing at all works
    without what is `missing`.
    """

    name: str
    state: Literal["ok", "to do", "missing"]
    text: str
