"""All that is rendered from the collected runs of a paper, in one process."""

from collections.abc import Mapping
from pathlib import Path

from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.paper import Paper
from fedpriv.progress import counted
from fedpriv.report.results import load


def write_tables(folder: Path, paper: Paper, judged: bool = True) -> None:
    """Write every table of a paper below its `folder`, what its runs were set to, and its verdicts."""
    from fedpriv.report import claims, render, tables
    from fedpriv.report.notes import runs_table

    results = load(folder)
    render.write(runs_table(results), folder / "runs")
    for name, table in counted("tables", paper.tables.items(), "table"):
        tables.write(results, table, folder / "tables" / name)
    if judged:
        claims.write(results, paper.claims, paper.tables, folder / "claims")


def write_figures(folder: Path, declared: Mapping[str, FigureSpec]) -> None:
    """Draw every declared figure of a paper below its `folder`."""
    from fedpriv.report import figures

    results = load(folder)
    for name, figure in counted("figures", declared.items(), "figure"):
        figures.write(results, figure, folder / "figures" / name)
