"""The verb that compares: a result with what is published, or two results with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fedpriv.cli.options import REFERENCE, AsJson, Reference, print_result
from fedpriv.cli.table import Page, Table

COLOURS = {
    "reproduced": "green",
    "reached": "green",
    "partly": "yellow",
    "not reproduced": "red",
    "not reached": "red",
}


def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="A paper, RESULTS[/PAPER], a run's folder or file, *_seeds.csv."),
    ],
    second: Annotated[
        Path | None, typer.Argument(metavar="[B]", help="Another; without it A is compared with its paper.")
    ] = None,
    reference: Reference = REFERENCE,
    as_json: AsJson = False,
) -> None:
    """Compare a result with what is published, or two results.

    Of one: its accuracies beside the published ones, and the verdicts on the paper's claims. Of two: the
    accuracies of each and their difference with a 95 % interval, paired by seed where they share seeds.
    """
    if second is None:
        from fedpriv.report import claims as compare
        from fedpriv.workflow.inventory import results_of

        folder = Path(first) if Path(first).is_dir() else results_of(first, reference)
        shown = [part for paper in compare.papers(folder) for part in published(paper)]
        print_result(compare.compared_facts(folder), Page(*shown), as_json)
        return
    from fedpriv.workflow import inventory

    one, other = inventory.result(Path(first)), inventory.result(second)
    found = inventory.pairs(one, other)
    changed = [
        {"key": key, "A": one.settings.get(key, ""), "B": other.settings.get(key, "")}
        for key in dict.fromkeys((*one.settings, *other.settings))
        if one.settings.get(key) != other.settings.get(key)
    ]
    facts = {"A": first, "B": str(second), "cells": [fact(pair) for pair in found], "settings": changed}
    parts: list[Table | str] = [f"A: {first}", f"B: {second}", Table("accuracy (%)", list(map(line, found)))]
    if one.settings and other.settings:
        both = one.accuracies.merge(other.accuracies, on="seed", suffixes=("_A", "_B"))
        seeds = [seed(said) for said in both.to_dict("records")]
        parts += [Table("seeds, at the last round", seeds), Table("settings that differ", changed)]
    print_result(facts, Page(*parts), as_json)


def published(paper: Path) -> list[Table | str]:
    """Return a block for every table of accuracies, how the paper's cells came out, and the verdicts."""
    from fedpriv.report import claims as compare
    from fedpriv.report.numbers import verdict_counts
    from fedpriv.report.render import read_table

    parts: list[Table | str] = []
    every, main = compare.published_accuracies(paper), compare.papers_cells(paper)
    for name in dict.fromkeys(one[0] for one in every):
        ours = "" if name in set(main["table"]) else " (ours: not counted)"
        lines = [
            {"row": row, "column": column, "published": theirs, "reproduced": found, "verdict": verdict}
            for table, row, column, theirs, found, verdict in every
            if table == name
        ]
        title = read_table(paper / f"tables/{name}.json").title
        parts += [Table(f"{name}{ours}: {title}", lines, COLOURS, once=False), ""]
    if every:
        parts += [f"{len(main)} published accuracies (%): {verdict_counts(main['verdict'])}.", ""]
    verdicts = [
        {
            "claim": claim["claim"],
            "place": claim["place"],
            "decided": f"{claim['decided']} of {claim['cells']}",
            "verdict": claim["verdict"],
        }
        for claim in compare.claims(paper).to_dict("records")
    ]
    return [*parts, Table(f"{paper.name}: claims", verdicts, COLOURS, once=False)]


def line(pair: Any) -> dict[str, Any]:
    """Return one cell of two results in words."""
    from fedpriv.report.numbers import fraction_text

    return {
        **dict(zip(("table", "row", "column"), pair.cell, strict=False)),
        "A": fraction_text(pair.first),
        "B": fraction_text(pair.second),
        "B - A": fraction_text(pair.difference),
        "seeds": f"{pair.difference.n} paired" if pair.paired else f"{pair.first.n} and {pair.second.n}",
    }


def fact(pair: Any) -> dict[str, Any]:
    """Return one cell of two results as plain data."""
    intervals = {name: getattr(pair, name)._asdict() for name in ("first", "second", "difference")}
    return {"cell": pair.cell, **intervals, "paired": pair.paired}


def seed(said: dict[Any, Any]) -> dict[str, str]:
    """Return the accuracies of a seed of two runs, in percent."""
    one, other = 100 * said["accuracy_A"], 100 * said["accuracy_B"]
    return {"seed": said["seed"], "A": f"{one:.2f}", "B": f"{other:.2f}", "B - A": f"{other - one:+.2f}"}
