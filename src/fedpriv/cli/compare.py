"""The verb that compares: a result with what is published, or two results with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fedpriv.cli import complete
from fedpriv.cli.options import REFERENCE, AsJson, Reference, print_result
from fedpriv.cli.table import Table

CELL = ("row", "column", "published", "reproduced", "verdict")


def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A paper, PRESET/PAPER, a folder of results, a run's folder or file, *_seeds.csv.",
            autocompletion=complete.results,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="Another; without it A is compared with its paper.",
            autocompletion=complete.results,
        ),
    ] = "",
    reference: Reference = REFERENCE,
    as_json: AsJson = False,
) -> None:
    """Compare a result with what is published, or two results.

    Of one: its accuracies beside the published ones, and the verdicts on the paper's claims. Of two: the
    accuracies of each and their difference with a 95 % interval, over the seeds that both have.
    """
    if not second:
        from fedpriv.report import compared
        from fedpriv.workflow.inventory import results_of

        folder = Path(first) if Path(first).is_dir() else results_of(first, reference)
        parts = [part for paper in compared.papers(folder) for part in published_tables(paper)]
        print_result(compared.compared_facts(folder), parts, as_json)
        return
    from fedpriv.report.numbers import percent
    from fedpriv.workflow import inventory

    first_place, second_place = (
        Path(word) if Path(word).exists() else inventory.results_of(word, reference)
        for word in (first, second)
    )
    left = inventory.result(first_place)
    right = inventory.result(second_place, like=left.settings)
    pairs = inventory.pairs(left, right)
    digits = 2 if left.settings and right.settings else 1  # of runs the last digits tell whether they are one
    accuracies = [
        {
            **dict(zip(("table", "row", "column"), pair.cell, strict=False)),
            "A": percent(pair.first, digits),
            "B": percent(pair.second, digits),
            "B - A": percent(pair.difference, digits),
            "seeds": f"{pair.difference.n} paired",
        }
        for pair in pairs
    ]
    changed = [
        {"key": key, "A": left.settings.get(key, ""), "B": right.settings.get(key, "")}
        for key in dict.fromkeys((*left.settings, *right.settings))
        if left.settings.get(key) != right.settings.get(key)
    ]
    names = ("first", "second", "difference")
    cells = [{"cell": pair.cell} | {name: getattr(pair, name)._asdict() for name in names} for pair in pairs]
    parts: list[Table | str] = [f"A: {first}", f"B: {second}", Table("accuracy (%)", accuracies)]
    if left.settings and right.settings:
        parts.append(Table("settings that differ", changed) if changed else "No setting differs.")
    print_result({"A": first, "B": second, "cells": cells, "settings": changed}, parts, as_json)


def published_tables(paper: Path) -> list[Table | str]:
    """Return a block for every table of accuracies, how the paper's cells came out, and the verdicts."""
    from fedpriv.report import compared
    from fedpriv.report.render import read_table

    parts: list[Table | str] = []
    every = compared.published_words(paper)
    for name in dict.fromkeys(line[0] for line in every):
        lines: list[Any] = [dict(zip(CELL, line[1:], strict=True)) for line in every if line[0] == name]
        table = read_table(paper / f"tables/{name}.json")
        ours = "" if table.main else " (ours: not counted)"
        parts += [Table(f"{name}{ours}: {table.title}", lines, once=False), ""]
    if counts := compared.accuracies_text([paper.name], paper.parent):
        parts += [counts, ""]
    verdicts = [
        {
            "claim": claim["claim"],
            "place": claim["place"],
            "decided": f"{claim['decided']} of {claim['cells']}",
            "verdict": claim["verdict"],
        }
        for claim in compared.claims(paper).to_dict("records")
    ]
    return [*parts, Table(f"{paper.name}: claims", verdicts, once=False)]
