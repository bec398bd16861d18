"""Tables from collected runs; to add a kind, write its file and its line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedpriv.paper.tables import TableSpec
from fedpriv.report import render
from fedpriv.report.claims import caption
from fedpriv.report.results import Results
from fedpriv.report.tables.accuracy import accuracy_table
from fedpriv.report.tables.audits import audits_table
from fedpriv.report.tables.epsilons import epsilons_table
from fedpriv.report.tables.runs import runs_table

TABLE_KINDS: dict[str, Callable[[Results, Any, str], render.PrintedTable]] = {
    "accuracy": accuracy_table,
    "epsilons": epsilons_table,
    "runs": runs_table,
    "python": lambda results, declared, name: declared.call(results, declared, name),
    "audits": audits_table,
}


def write_table(results: Results, declared: TableSpec, stem: Path, main: bool = False) -> render.PrintedTable:
    """Write the declared table of collected runs as `stem`.csv, .json, .md, accuracies as .tex; return it.

    `main` is the table whose cells count as the paper's.
    """
    table = TABLE_KINDS[declared.kind](results, declared, stem.name)
    table = table._replace(caption=caption(results, declared), place=declared.theirs, main=main)
    render.write_table_files(table, stem)
    return table
