"""All that is rendered from the collected runs of a paper, in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.paper import Paper
from fedpriv.paper.tables import main_of_places
from fedpriv.progress import count_each
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import load_results
from fedpriv.report.texts import escape_markdown
from fedpriv.store.files import writing


def write_tables(folder: Path, paper: Paper, judged: bool = True) -> None:
    """Write the tables of a paper below its `folder`, what they rest on, its runs and its verdicts."""
    from fedpriv.report import claims, render, tables
    from fedpriv.report.settings import settings_table

    results = load_results(folder)
    render.write_table_files(settings_table(results), folder / "runs")
    main = main_of_places(paper.tables)
    written = [
        tables.write_table(results, table, folder / "tables" / name, name in main)
        for name, table in count_each("tables", paper.tables.items(), "table")
    ]
    with writing(folder / "details.md") as path:
        path.write_text(details(written), encoding="utf-8")
    if judged:
        claims.write_claims(results, paper.claims, paper.tables, folder / "claims")


def details(tables: Sequence[PrintedTable]) -> str:
    """Text to read before believing the tables of a paper; what all of them rest on stands first."""
    first = tables[0].details if tables else ()
    shared = [note for note in first if all(note in table.details for table in tables)]
    notes = {"All tables": shared} | {
        f"{table.name}: {table.title}": [note for note in table.details if note not in shared]
        for table in tables
    }
    sections = [section(heading, items) for heading, items in notes.items() if items]
    return "\n\n".join(["# What the tables rest on", *sections]) + "\n"


def section(heading: str, notes: Sequence[str]) -> str:
    """Return a section of Markdown: its heading, and a list of notes."""
    items = "\n".join(f"- {escape_markdown(note)}" for note in notes)
    return f"## {escape_markdown(heading)}\n\n{items}"


def write_figures(folder: Path, declared: Mapping[str, FigureSpec]) -> None:
    """Draw every declared figure of a paper below its `folder`."""
    from fedpriv.report import figures

    results = load_results(folder)
    for name, figure in count_each("figures", declared.items(), "figure"):
        figures.write_figure(results, figure, folder / "figures" / name)
