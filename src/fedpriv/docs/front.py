"""README, findings and guarantees from their sources in docs/source: prose with quotes, and tables.

A quote names a cell of a reference table, and is the number that the tables print there:

    {{paper/bdp2019/table2 | 100 | bdp}}                     89.9 ± 0.9
    {{table2 | 100 | bdp | published}}                       92
    {{table2 | 100 | tight | epsilon}}                       2.00
    {{table2_epsilons | 100 | dp | accountant=pld | epsilon}}  7.37
    {{claims | ours_tight_clip | Table I, N = 100 | gain}}   −2.0 ± 8.7

The folder is that of the quote before, unless it is named. `mean` leaves the interval out, `status` says what
an ε is, `seeds` on how many a number rests. Before each table stands a comment that says what it shows; each
kind of comment is a function that yields its lines. The pages have the tables and the numbers,
and no comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from fedpriv.config.plan import load_preset
from fedpriv.config.sizes import Sizes, read_times
from fedpriv.docs.columns import head, line
from fedpriv.docs.papers import REFERENCE
from fedpriv.paper.tables import accuracy_tables
from fedpriv.report import compared
from fedpriv.report.metrics import printed_number
from fedpriv.report.numbers import percent
from fedpriv.report.render import grids, read_table
from fedpriv.report.texts import escape_markdown
from fedpriv.report.verdicts import FAILS, HOLDS, NOT_REPRODUCED, REPRODUCED, counts_text, verdict_counts

# Pages by their sources.
SOURCES = {
    "README.md": "README.md",
    "docs/findings.md": "findings.md",
    "docs/guarantees.md": "guarantees.md",
    "docs/artifact.md": "artifact.md",
}
QUOTE = re.compile(r"\{\{([^{}]+)\}\}")
KEY = re.compile(r"([\w.]+)=(.*)")  # of a column; a row may be called "γ = 0.1"
# What a quote may say beside its cell -> the keys of the line of a table that is then read.
WORDS = {
    "published": {"source": "published"},
    "epsilon": {"quantity": "epsilon"},
    "status": {"quantity": "epsilon"},
    "round": {"quantity": "round"},
    "mean": {},
    "seeds": {},
}
USUAL = {"source": "reproduced", "quantity": "accuracy"}


def pages(root: Path) -> dict[Path, str]:
    """Return the text of each page, by its path, with the tables and numbers of the reference results."""
    reference, pages = root / REFERENCE, {}

    def table(block: re.Match[str]) -> str:
        return "".join(TABLES[block[1]](reference, **yaml.safe_load(block[2])))

    for page, source in SOURCES.items():
        text = (root / "docs/source" / source).read_text(encoding="utf-8")
        pages[root / page] = fill_quotes(BLOCK.sub(table, text), reference)
    return pages


def fill_quotes(text: str, reference: Path) -> str:
    """Return a text with every quote replaced by its number; a quote of no cell is a ValueError naming it."""
    folder = ""

    def number(match: re.Match[str]) -> str:
        nonlocal folder
        path, *words = (part.strip() for part in match[1].split("|"))
        folder, _, table = path.rpartition("/") if "/" in path else (folder, "", path)
        try:
            if table == "claims":
                return quote_claim(reference / folder / "claims_seeds.csv", *words)
            return quote_cell(reference / folder / "tables" / f"{table}.csv", words)
        except (ValueError, KeyError, OSError, TypeError) as error:
            raise ValueError(f"{match[0]}: {error}") from error

    return QUOTE.sub(number, text)


def quote_cell(path: Path, parts: list[str]) -> str:
    """Return the number of one cell of a table, or what else the quote asks of it."""
    cell = cell_quoted(reference_table(path), parts)
    if "status" in parts:
        word, colon, reason = cell["epsilon_status"].partition(":")
        return f"**{word}**{colon}{reason}"
    if "seeds" in parts:
        return f"{float(str(cell['seeds'])):g}"
    return printed_number(cell, alone="mean" in parts)


def cell_quoted(table: pd.DataFrame, parts: Iterable[str]) -> dict[Hashable, Any]:
    """Return the line of a table whose keys a quote gives: its row and column, words, and columns by name."""
    keys = dict(USUAL)
    for part in parts:
        if part in WORDS:
            keys |= WORDS[part]
        elif key := KEY.match(part):
            keys[key[1]] = key[2]
        else:
            keys["column" if "row" in keys else "row"] = part
    keys = {name: value for name, value in keys.items() if name in table}
    lines = table.loc[(table[list(keys)] == pd.Series(keys)).all(axis=1)]
    if len(lines) != 1:
        raise ValueError(f"found {len(lines)} cells, allowed: one")
    return lines.iloc[0].to_dict()


def quote_claim(path: Path, claim: str, case: str, column: str = "left") -> str:
    """Return the measured numbers of a claim about accuracies in a case, in percent or points, over seeds."""
    seeds = reference_table(path)
    values = [
        float(text) for text in seeds.loc[(seeds["id"] == claim) & (seeds["case"] == case), column] if text
    ]
    if not values:
        raise ValueError(f"found no {column} of {claim} at {case}")
    return percent(values)


@cache
def reference_table(path: Path) -> pd.DataFrame:
    """Return a reference table, all of it text."""
    return compared.read_csv(path, [], {})


def paper_tables(reference: Path, of: str, tables: Iterable[str]) -> Iterator[str]:
    """Yield tables of `of`, preset/paper, as a paper would print them."""
    for name in tables:
        table = read_table(reference / of / f"tables/{name}.json")
        yield "\n\n".join((f"**{escape_markdown(table.title)}**", *grids(table))) + "\n\n"


def paper_counts(reference: Path, papers: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Yield a line a paper: what of it is reproduced, and how many published accuracies are reached."""
    yield head(["Paper", "Reproduced here", "Published accuracies", "In one sentence"])
    for paper in papers:
        cells = compared.papers_cells(reference / paper["of"])
        counts = verdict_counts(cells.get("verdict", ()))
        none = "none in a table" if cells.empty else "none verified"
        count = f"{sum(counts.values())}: {counts_text(counts)}" if counts else none
        yield line([paper["name"], paper["here"], count, paper["says"]])


# Outcome of a claim -> how the cell ends that decides it so.
DECIDING = {REPRODUCED: f"({HOLDS})", NOT_REPRODUCED: f"({FAILS})"}


def paper_claims(reference: Path, of: str) -> Iterator[str]:
    """Yield a line a claim: its verdict, the first cell that decides it, and a run that its check reads."""
    preset, name = of.split("/")
    plan = load_preset(reference.parents[1] / f"config/{preset}.yaml")
    paper, sizes = plan.papers[name], Sizes(plan, read_times(reference / "runs/index.csv"))
    declared, tables = {claim.id: claim for claim in paper.claims}, accuracy_tables(paper.tables)
    yield head(["Claim", "Where", "Verdict", "Measured", "One of its runs", "Minutes"], ["Minutes"])
    for claim in compared.claims(reference / of).to_dict("records"):
        if not declared[claim["id"]].ours:
            cells, ending = claim["measured"].split("; "), DECIDING.get(claim["outcome"], "")
            deciding = next((number for number, cell in enumerate(cells) if cell.endswith(ending)), 0)
            cases = [*declared[claim["id"]].judged(tables)]
            case = cases[deciding if len(cases) == len(cells) else 0]
            words = claim["claim"], claim["place"], claim["verdict"], cells[deciding]
            reads = (cell.run for side in declared[claim["id"]].reads(case) for _, cell in side)
            run = next(reads, "")  # of a formula there is none
            minutes = (sizes.known(name, run) or 0.0) / 60
            trained = [f"`{run}`", f"{minutes:.1f}"] if run else ["", ""]
            yield line([*map(escape_markdown, words), *trained])


# What a comment begins with -> the lines of what it asks for.
TABLES: dict[str, Callable[..., Iterator[str]]] = {
    "table": paper_tables,
    "counts": paper_counts,
    "claims": paper_claims,
}
BLOCK = re.compile(rf"<!-- ({'|'.join(TABLES)})\n((?s:.*?))-->\n")
