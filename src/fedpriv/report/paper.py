"""All that is rendered from the collected runs of a paper, in one process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedpriv.progress import counted
from fedpriv.report.results import load


def write_tables(folder: Path, declared: Mapping[str, Any]) -> None:
    """Write every table among `declared` below its `folder`, what its runs were set to, and its verdicts."""
    from fedpriv.paper.tables import TABLES
    from fedpriv.report import render, tables
    from fedpriv.report.claims import write as claims
    from fedpriv.report.runs import runs_table

    results = load(folder)
    render.write(runs_table(results), folder / "runs")
    for name, table in counted("tables", declared["tables"].items(), "table"):
        tables.write(results, TABLES[table["kind"]].model_validate(table), folder / "tables" / name)
    if "claims" in declared:
        claims.write(results, declared, folder / "claims")


def write_figures(folder: Path, declared: Mapping[str, Any]) -> None:
    """Draw every figure among `declared` (key figures) of a paper below its `folder`."""
    from fedpriv.paper.figures import FIGURES
    from fedpriv.report import figures

    results = load(folder)
    for name, figure in counted("figures", declared["figures"].items(), "figure"):
        figures.write(results, FIGURES[figure["kind"]].model_validate(figure), folder / "figures" / name)
