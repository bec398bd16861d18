"""Tables from collected runs; to add a kind, write its file and its line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedpriv.account.spend import legend
from fedpriv.paper.tables import TableSpec
from fedpriv.report import render
from fedpriv.report.claims import caption
from fedpriv.report.results import Results
from fedpriv.report.tables.accuracy import accuracy_table
from fedpriv.report.tables.epsilons import audits_table, spends_table
from fedpriv.report.tables.runs import runs_table
from fedpriv.store.files import writing

KINDS: dict[str, Callable[[Results, Any, str], render.PrintedTable]] = {
    "accuracy": accuracy_table,
    "spends": spends_table,
    "runs": runs_table,
    "python": lambda results, declared, name: declared.call(results, declared, name),
    "audits": audits_table,
}


def write(results: Results, declared: TableSpec, stem: Path) -> list[Path]:
    """Write the declared table of collected runs as `stem`.csv, .md, .html; accuracies as .tex, too."""
    table = KINDS[declared.kind](results, declared, stem.name)._replace(caption=caption(results, declared))
    if said := legend(table.caption, *table.display.to_numpy().ravel()):
        table = table._replace(notes=[f"ε {said}; what is published stands as printed.", *table.notes])
    with writing(stem.with_suffix(".html")) as path:
        path.write_text(render.fragment(table), encoding="utf-8")
    return [*render.write(table, stem), stem.with_suffix(".html")]
