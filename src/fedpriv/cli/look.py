"""The verbs that look: what there is, what is behind a number, what a run is set to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fedpriv.cli.output import (
    CONFIGS,
    REFERENCE,
    RESOURCES,
    AsJson,
    Configs,
    Reference,
    Resources,
    print_result,
)
from fedpriv.terminal import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

LONG = ("runs", "tables")
Kind = Literal["papers", "runs", "tables", "datasets", "schemes"]


def listed(
    kind: Annotated[Kind | None, typer.Argument(help="One kind; by default what is short.")] = None,
    paper: Annotated[str, typer.Option(help="Only what is of this paper.")] = "",
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    resources: Resources = RESOURCES,
    as_json: AsJson = False,
) -> None:
    """List papers, runs, tables, datasets and schemes, and what of them is stored."""
    from fedpriv.errors import require_known
    from fedpriv.keep.inventory import inventory

    found = inventory(configs, reference, resources)
    if paper:
        require_known("--paper", [paper], [one["paper"] for one in found["papers"]])
        found = {
            name: [one for one in lines if one["paper"] == paper]
            for name, lines in found.items()
            if name in ("papers", "runs", "tables")
        }
    if kind:
        found = {kind: found.get(kind, [])}
    shown = [table(name, lines) for name, lines in found.items() if kind or name not in LONG]
    note = [] if kind else [f"More: {', '.join(f'fedpriv list {name} [--paper PAPER]' for name in LONG)}"]
    print_result(found, group([*shown, *note]), as_json)


def show(
    of: Annotated[Path, typer.Argument(metavar="RESULTS/PAPER|PRESET", help="Results, or a preset's file.")],
    table: Annotated[str, typer.Argument(metavar="TABLE|PAPER", help="Of results a table.")] = "",
    row: Annotated[str, typer.Argument(metavar="ROW|RUN", help="As in the table's CSV.")] = "",
    column: Annotated[str, typer.Argument(metavar="[COLUMN]", help="As in the table's CSV.")] = "",
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Show what is behind a cell of results, or every key of a run of a preset and who says it.

    Of a cell: numbers and their meaning, runs, seeds, settings, machines, code. Of a run: its config, and
    where its traces are.
    """
    if of.suffix == ".yaml":
        from fedpriv.keep.resolved import resolved

        found = resolved(of, table, row, reference)
        shown = of_run(found, of)
    else:
        from fedpriv.keep.show import show as behind

        found = behind(of.resolve(), table, row, column, configs)
        preset = configs / f"{of.resolve().parent.name}.yaml"
        shown = of_cell(found, f"{preset} {of.resolve().name}")
    print_result(found, shown, as_json)


def of_run(found: Mapping[str, Any], config: Path) -> RenderableType:
    """Return a run's keys and its seeds, and how to have a folder of one's own for a seed."""
    keys = [{"key": path, **one} for path, one in found["keys"].items()]
    seeds = [{"seed": seed, **one} for seed, one in found["seeds"].items()]
    words = f"fedpriv run {config} --paper {found['paper']} --run {found['run']} --seed 0 --out DIR"
    note = f"{words} trains a seed, or says where it is stored."
    return group([table(f"{found['paper']}: {found['run']}", keys), table("seeds", seeds), note])


def of_cell(found: Mapping[str, Any], paper: str) -> RenderableType:
    """Return the numbers of a cell, the runs behind it, and which command shows their whole config."""
    from fedpriv.keep.show import spoken

    parts: list[Any] = [table("numbers", [spoken(one) for one in found["numbers"]])]
    for run, behind in found["runs"].items():
        parts.append(f"{run}: {', '.join(f'{key} {value}' for key, value in behind['settings'].items())}")
        seeds = {f"seed {seed}": one for seed, one in behind["seeds"].items()}
        asked = dict.fromkeys(key for one in seeds.values() for key in one)
        parts.append(
            table(run, [{"": key} | {name: one[key] for name, one in seeds.items()} for key in asked])
        )
        parts.append(f"Every key of it, and who says it: fedpriv show {paper} {run}")
    for run in found["not run"]:
        parts.append(f"{run}: no finished run here; every key of it: fedpriv show {paper} {run}")
    return group(parts)


def table(title: str, lines: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return lines as a table with the columns of which any line says something."""
    from rich.table import Table
    from rich.text import Text

    named = dict.fromkeys(key for one in lines for key in one)
    names = [name for name in named if any(words(one.get(name)) for one in lines)]
    made = Table(title=Text(visible(title), "table.title"), title_justify="left")
    for name in names:
        made.add_column(name, overflow="fold")
    for one in lines:
        made.add_row(*(Text(visible(words(one.get(name)))) for name in names))
    return made


def words(value: Any) -> str:
    """Return a value as a cell shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {words(one)}" for key, one in value.items())
    return ", ".join(map(words, value)) if isinstance(value, list) else str(value)


def group(parts: Sequence[Any]) -> RenderableType:
    """Return tables and sentences one below the other."""
    from rich.console import Group
    from rich.text import Text

    return Group(*(Text(visible(part)) if isinstance(part, str) else part for part in parts))
