"""The verbs about stored runs: store them, render them again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from fedpriv.cli.output import CONFIGS, REFERENCE, AsJson, Configs, Reference, print_result
from fedpriv.terminal import aside


def keep(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="The results of a preset.")],
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Store finished runs in the reference.

    Neither weights nor data are stored. Exit code 2 if a run was refused.
    """
    from fedpriv.keep.add import add

    found = add(results, configs / f"{results.resolve().name}.yaml", reference)
    refused = f", {len(found.refused)} refused" if found.refused else ""
    text = f"{results}: {len(found.added)} runs added, {len(found.there)} stored before{refused}"
    print_result(found._asdict(), [text], as_json)
    if found.refused:
        aside(*found.refused)
        raise typer.Exit(2)


def rerender(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PRESET/PAPER]...", help="Only these; by default all.")
    ] = None,
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="An empty folder to render in; else nothing is left."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write what differs into the reference.")] = False,
    as_json: AsJson = False,
) -> None:
    """Render reference results from stored runs and compare bytes.

    Exit code 1 if any differ.
    """
    from fedpriv.workflow import rerender

    with TemporaryDirectory() as folder:
        found = rerender.rerender(reference, configs, out or Path(folder), papers or ())
        if write:
            rerender.write(reference, out or Path(folder), found)
    text: list[str] = []
    for paper, one in found.items():
        many = f"{one.stored} of {one.planned} runs stored, {len(one.files)} files, {len(one.differ)} differ"
        text += [f"{paper}: {many if one.stored else 'no stored runs'}"]
        text += [f"{reference / paper / file}: differs" for file in one.differ]
    print_result({paper: one._asdict() for paper, one in found.items()}, text, as_json)
    raise typer.Exit(1 if any(one.differ for one in found.values()) and not write else 0)
