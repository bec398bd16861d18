"""Tables from collected runs; to add a kind, write its file and its line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.report import render
from fedpriv.report.budget import budget_table
from fedpriv.report.collect import load
from fedpriv.report.every_spend import spends_table
from fedpriv.report.ranking import ranking_table
from fedpriv.report.rows import TableSpec

KINDS: dict[str, Callable[[pd.DataFrame, Any, str], render.Table]] = {
    "budget": budget_table,
    "spends": spends_table,
    "joint": budget_table,
    "joint_spends": spends_table,
    "ranking": ranking_table,
}


def write(runs: Path, declared: TableSpec, stem: Path) -> list[Path]:
    """Write the declared table as `stem`.csv, .md, .tex and .html; its name is that of the files."""
    return render.write(KINDS[declared.kind](load(runs), declared, stem.name), stem)
