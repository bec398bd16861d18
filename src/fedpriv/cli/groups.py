"""The verbs in groups: what each is for, and how it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

Verbs = Mapping[str, tuple[Callable[..., None], str]]  # a function and an example by name


class Grouped(TyperGroup):
    """A program whose help lists its verbs by their groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, verb in self.commands.items():
            said = (verb.help or "").partition("\n\n")[0].replace("\n", " ").removesuffix(".")
            groups.setdefault(str(getattr(verb, "rich_help_panel", "")), []).append((name, said))
        for group, lines in groups.items():
            with formatter.section(group):
                formatter.write_dl(lines)


def placed(app: typer.Typer, groups: Mapping[str, Verbs]) -> None:
    """Add the verbs to a program, in order; the help of each ends in its example."""
    for group, verbs in groups.items():
        for name, (verb, example) in verbs.items():
            app.command(name, rich_help_panel=group, epilog=f"\b\nExample:\n    {example}")(verb)
