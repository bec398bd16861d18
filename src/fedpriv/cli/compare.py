"""The verb that compares: a result with what is published, or two results with each other.

Two accuracies say nothing of each other where they cost unequal ε: whatever is compared has both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fedpriv.cli import complete
from fedpriv.cli.options import REFERENCE, AsJson, Reference, print_result
from fedpriv.cli.results import (
    OURS,
    Published,
    claim_lines,
    meaning_text,
    outcome_texts,
    outcomes,
    papers_in,
    published_cells,
    results_of,
    seed_lines,
    table_cells,
)
from fedpriv.cli.table import Table
from fedpriv.errors import BadInput

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement

KINDS = "a run directory, a stored run, a folder of the seeds of either, RESULTS/PAPER, or a TABLE_seeds.csv"
TWENTIETH = 1.05  # two ε whose ratio is larger are unequal
UNEQUAL = "at unequal ε"


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
    accuracies of each and their difference with a 95 % interval, over the seeds that both have, and what each
    costs: ε that differ by more than a twentieth are unequal.
    """
    facts, parts = two_results((first, second), reference) if second else with_published(first, reference)
    print_result(facts, parts, as_json)


Shown = tuple[dict[str, Any], list[Table | str]]  # the facts, and how people read them
Line = Mapping[str, Any]


# Published beside reproduced


def with_published(word: str, reference: Path) -> Shown:
    """Return what was reproduced beside what is published, of a paper or of all in a folder; counts last."""
    folder = Path(word) if Path(word).is_dir() else results_of(word, reference)
    facts: dict[str, Any] = {}
    parts: list[Table | str] = []
    counts: list[str] = []
    for paper in papers_in(folder):
        published, claims = published_cells(paper), claim_lines(paper)
        cells = [cell for _, cells in published for cell in cells]
        facts[paper.name] = {"accuracies": cells, "claims": claims}
        parts += [*published_tables(published), *claim_tables(paper.name, claims)]
        counts += outcome_texts(paper.name, outcomes(paper, published))
    return facts[folder.name] if (folder / "claims.csv").exists() else facts, [*parts, *counts]


def published_tables(published: Published) -> Iterator[Table | str]:
    """Yield a block for every table of accuracies."""
    for texts, cells in published:
        lines = [published_line(texts["blocks"][0]["columns"][0], cell) for cell in cells if cell["printed"]]
        name = cells[0]["table"] + ("" if texts["main"] else " (ours: not counted)")
        yield from [Table(f"{name}: {texts['title']}", lines, once=False), ""] if lines else []


def claim_tables(paper: str, claims: Sequence[Line]) -> Iterator[Table | str]:
    """Yield the verdicts on the claims of a paper, and on ours."""
    for whose, ours in (("the paper", False), ("ours", True)):
        lines = [
            {
                "claim": claim["claim"],
                "decided": f"{claim['decided']} of {claim['cells']}",
                "verdict": claim["verdict"].replace("interpretation ", ""),
            }
            for claim in claims
            if (claim["place"] == OURS) is ours
        ]
        yield from [Table(f"{paper}: claims of {whose}", lines, once=False), ""] if lines else []


def published_line(rows: str, cell: Mapping[str, Any]) -> dict[str, str]:
    """Return the line of one cell, with what its accuracy cost; `rows` heads the rows of its table."""
    accuracy, *others = cell["printed"].items()
    line = {rows: cell["label"], "": cell["heading"], "reproduced (published)": accuracy[1]}
    return line | {name.partition(",")[0]: text for name, text in others} | {"verdict": cell["verdict"]}


# Two results

Cell = tuple[str, ...]  # table, row and column; empty: a run


class Result(NamedTuple):
    """Accuracies by cell and seed; of tables the cells and their seeds' lines, of runs settings and paths."""

    accuracies: dict[Cell, dict[int, float]]
    cells: Mapping[Cell, tuple[Line, Sequence[Line]]]
    settings: dict[str, str]
    runs: Mapping[int, Path]


def two_results(words: tuple[str, str], reference: Path) -> Shown:
    """Return how much higher the second of two results is, and at which ε."""
    paths = [Path(word) if Path(word).exists() else results_of(word, reference) for word in words]
    left = result(paths[0])
    right = result(paths[1], like=left.settings)
    cells = [cell for cell in left.accuracies if cell in right.accuracies]
    if not cells:
        raise BadInput(
            "These two results have no cell in common. Compare two of the same table, or two runs."
        )
    pairs = [pair(left, right, cell) for cell in cells]
    changed = changed_settings(left.settings, right.settings)
    parts: list[Table | str] = [f"A: {words[0]}", f"B: {words[1]}"]
    parts += cell_tables(pairs) if pairs[0]["cell"] else [Table("", [*run_lines(pairs[0])])]
    if left.settings:
        parts.append(Table("settings that differ", changed) if changed else "No setting differs.")
    facts = {"A": words[0], "B": words[1], "cells": pairs, "settings": changed}
    return facts, parts


def changed_settings(left: Mapping[str, str], right: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the settings of two runs that differ."""
    keys = [key for key in dict.fromkeys((*left, *right)) if left.get(key) != right.get(key)]
    return [{"key": key, "A": left.get(key, ""), "B": right.get(key, "")} for key in keys]


def result(path: Path, like: Mapping[str, str] | None = None) -> Result:
    """Return the accuracies of a result: of runs at the last round, of tables at the round of each cell.

    Of several results of a seed that is meant whose settings are `like` those. What is none of `KINDS`, or
    has two results of a seed all the same, is BadInput.
    """
    tables = [path] if path.name.endswith("_seeds.csv") else sorted(path.glob("tables/*_seeds.csv"))
    if not tables:
        return result_of_runs(path, like)
    cells = {cell: lines for table in tables for cell, lines in cells_of_seeds(table).items()}
    if not cells:
        raise BadInput(f"'{path}' holds no accuracies, and no other metric is compared.")
    values = {cell: {line["seed"]: line["accuracy"] for line in seeds} for cell, (_, seeds) in cells.items()}
    return Result(values, cells, {}, {})


def result_of_runs(path: Path, like: Mapping[str, str] | None) -> Result:
    """Return the accuracies of finished runs."""
    from fedpriv.report.results import flatten
    from fedpriv.store.rundir import RunDir

    runs = [(run, RunDir(run).summary) for run in finished(path)]
    if not runs:
        raise BadInput(f"'{path}' holds no result. One is {KINDS}.")
    runs = [(run, facts) for run, facts in runs if flatten(facts["config"]) == like] or runs
    accuracies = {facts["seed"]: last_accuracy(facts) for _, facts in runs}
    if len(accuracies) < len(runs):
        raise BadInput(f"'{path}' holds two results of a seed. Name a file instead of the folder.")
    settings = flatten(runs[0][1]["config"])
    return Result({(): accuracies}, {}, settings, {facts["seed"]: run for run, facts in runs})


def last_accuracy(summary: Mapping[str, Any]) -> float:
    """Return the accuracy of a finished run; NaN of one that diverged."""
    return math.nan if summary["test_accuracy"] is None else summary["test_accuracy"]


def finished(path: Path) -> Iterator[Path]:
    """Yield the finished runs at a path: run directories and stored runs."""
    from fedpriv.store.summary import STORED, SUMMARY

    yield from [path] if path.is_file() else []
    yield from (file.parent for file in (*path.glob(SUMMARY), *sorted(path.glob(f"seed*/{SUMMARY}"))))
    yield from (file for file in sorted(path.glob("seed*")) if STORED.fullmatch(file.name))


def cells_of_seeds(path: Path) -> Mapping[Cell, tuple[Line, Sequence[Line]]]:
    """Return the cells of a TABLE_seeds.csv with accuracies, as the table calls them, and their lines."""
    table = path.with_name(path.name.replace("_seeds.csv", ".json"))
    known = {(cell["row"], cell["column"]): cell for cell in (table_cells(table) if table.exists() else ())}
    cells: dict[Cell, tuple[Line, list[Line]]] = {}
    for line in seed_lines(path):
        if line.get("accuracy") is not None:
            cell = known.get((line["row"], line["column"]), {})
            names = cell.get("label", line["row"]), cell.get("heading", line["column"])
            cells.setdefault((line["table"], *names), (cell, []))[1].append(line)
    return cells


def pair(left: Result, right: Result, cell: Cell) -> dict[str, Any]:
    """Return one cell of two results over the seeds that both have; BadInput if there are none.

    It is the mean of each, how much higher the second is, every ε of both, and whether these are unequal.
    """
    from fedpriv.report.numbers import interval

    first, second = left.accuracies[cell], right.accuracies[cell]
    seeds = [seed for seed in first if seed in second]
    if not seeds:
        raise BadInput("These two results have no seed in common. Train the same seeds of both.")
    samples = {
        "first": [first[seed] for seed in seeds],
        "second": [second[seed] for seed in seeds],
        "difference": [second[seed] - first[seed] for seed in seeds],
    }
    both = epsilons_of_both(left, right, cell, seeds)
    facts = {name: interval(values)._asdict() for name, values in samples.items()}
    return {"cell": cell, **facts, "epsilons": both, "at_unequal_epsilon": any(map(unequal, both))}


Epsilons = dict[str, dict[str, Any]]  # by meaning the ε, and how it is shown


def epsilons_of_both(left: Result, right: Result, cell: Cell, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return every ε of a cell of two results, each by its meaning beside the other's, None without one."""
    if cell:
        first, second = (cell_epsilons(*side.cells[cell], seeds) for side in (left, right))
    else:
        first, second = run_epsilons(*(side.runs[seeds[0]] for side in (left, right)))
    meanings = dict.fromkeys((*first, *second))
    return [{"meaning": text, "A": first.get(text), "B": second.get(text)} for text in meanings]


def unequal(both: Mapping[str, Any]) -> bool:
    """Say if the ε of two results differ by more than a twentieth."""
    if not (both["A"] and both["B"]):
        return True
    epsilons = (both["A"]["epsilon"], both["B"]["epsilon"])
    return max(epsilons) > TWENTIETH * min(epsilons)


def cell_epsilons(cell: Line, lines: Sequence[Line], seeds: Sequence[int]) -> Epsilons:
    """Return every ε of a cell, the mean over seeds."""
    from fedpriv.report.numbers import epsilon_of_seeds, interval

    levels = [name for name in lines[0] if f"{name}_status" in lines[0] and lines[0][name] is not None]
    epsilons = {}
    for number, name in enumerate(levels):
        values = [line[name] for line in lines if line["seed"] in seeds]
        text = epsilon_of_seeds(values, lines[0][f"{name}_status"])
        meaning = cell["epsilons"][number] if cell else {"accountant": name}
        epsilons[meaning_text(meaning)] = {"epsilon": interval(values).mean, "shown": text}
    return epsilons


def run_epsilons(*paths: Path) -> list[Epsilons]:
    """Return the least ε of two runs for each view of whoever is protected, counted as both can be."""
    from fedpriv.account.ledgers import least_statements
    from fedpriv.cli.account import spent_by_run

    def meaning(statement: PrivacyStatement) -> str:
        return f"{meaning_text(vars(statement))}, δ {statement.delta:g}"

    sides = [{meaning(statement): statement for statement in spent_by_run(path)} for path in paths]
    both = [statement for text, statement in sides[0].items() if text in sides[1]]
    chosen = [*map(meaning, least_statements(both or [*sides[0].values(), *sides[1].values()]))]
    return [
        {text: {"epsilon": side[text].epsilon, "shown": side[text].shown} for text in chosen if text in side}
        for side in sides
    ]


def texts(both: Mapping[str, Any], digits: int) -> dict[str, str]:
    """Return the accuracies of a pair in percent, and over how many seeds they are paired."""
    from fedpriv.report.numbers import Interval, percent

    names = {"A": "first", "B": "second", "B - A": "difference"}
    lines = {head: percent(Interval(**both[name]), digits) for head, name in names.items()}
    return lines | {"seeds": f"{both['difference']['n']} paired"}


def shown(epsilons: Mapping[str, Any], side: str) -> str:
    """Return the ε of one of two results."""
    return epsilons[side]["shown"] if epsilons[side] else "none"


def run_lines(both: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the accuracies of two runs, in digits that tell whether they are one run, and every ε."""
    yield {"": "accuracy (%)", **texts(both, 2)}
    for epsilons in both["epsilons"]:
        sides = {side: shown(epsilons, side) for side in ("A", "B")}
        yield {"": f"ε ({epsilons['meaning']})", **sides, "B - A": UNEQUAL * unequal(epsilons)}


def cell_tables(pairs: Sequence[Mapping[str, Any]]) -> Iterator[Table | str]:
    """Yield the cells of two results, a block a table, ε beside each accuracy; and what these ε mean."""
    tables: dict[str, list[dict[str, str]]] = {}
    meanings: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for both in pairs:
        table, row, column = both["cell"]
        line = texts(both, 1)
        for epsilons in both["epsilons"]:
            line |= {side: f"{line[side]} at ε {shown(epsilons, side)}" for side in ("A", "B")}
            columns, names = meanings.setdefault(epsilons["meaning"], ({}, {}))
            columns[column] = names[table] = None
        line = {"row": row, "column": column, **line, "": UNEQUAL * both["at_unequal_epsilon"]}
        tables.setdefault(table, []).append(line)
    yield from (Table(f"{name}, accuracy (%)", lines) for name, lines in tables.items())
    for meaning, (columns, names) in meanings.items():
        yield f"ε of {', '.join(columns)} ({', '.join(names)}): {meaning}"
