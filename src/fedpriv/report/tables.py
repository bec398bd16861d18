"""Tables from collected runs; to add a kind, write its file and its line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.files.atomic import writing
from fedpriv.report import render
from fedpriv.report.ablation import ablation_table
from fedpriv.report.budget import budget_table
from fedpriv.report.collect import load
from fedpriv.report.every_spend import spends_table
from fedpriv.report.gammas import gammas_table
from fedpriv.report.grid import grid_table
from fedpriv.report.labels import labels_table
from fedpriv.report.ranking import ranking_table
from fedpriv.report.rows import TableSpec
from fedpriv.report.uploads import uploads_table

KINDS: dict[str, Callable[[pd.DataFrame, Any, str], render.Table]] = {
    "budget": budget_table,
    "spends": spends_table,
    "joint": budget_table,
    "joint_spends": spends_table,
    "grid": grid_table,
    "gammas": gammas_table,
    "labels": labels_table,
    "uploads": uploads_table,
    "ablation": ablation_table,
    "ranking": ranking_table,
}


def write(runs: Path, declared: TableSpec, stem: Path) -> list[Path]:
    """Write the declared table as `stem`.csv, .md, .tex and .html; its name is that of the files."""
    table = KINDS[declared.kind](load(runs), declared, stem.name)
    with writing(stem.with_suffix(".html")) as path:
        path.write_text(render.fragment(table), encoding="utf-8")
    return [*render.write(table, stem), stem.with_suffix(".html")]
