"""The picture of the README: every published accuracy of the stored results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs.papers import REFERENCE
from fedpriv.files.seal import digest
from fedpriv.report.claims.compare import published_and_reproduced
from fedpriv.report.figures import plain
from fedpriv.report.figures.published import draw

PICTURE = "docs/published.png"
MARK = "Description"  # of the file: the digest of the numbers that it shows
PANELS = {  # the tables by their paper, with what each is called
    ("paper/bdp2019", "table1"): "Table I, MNIST non-i.i.d.",
    ("paper/bdp2019", "table2"): "Table II, MNIST i.i.d.",
    ("paper/bdp2019", "table3"): "Table III, APTOS",
    ("paper/bdp2019", "table4"): "Table IV, both levels",
    ("paper/global_dp", "table"): "Geyer et al.",
}
COLUMNS = {"baseline": "none", "dp": "DP", "bdp": "Bayes", "median": "DP"}
ROWS = {"MNIST (i.i.d.)": "MNIST", "MNIST (non-i.i.d.)": "MNIST non-i.i.d.", "APTOS 2019": "APTOS"}


def cells(root: Path) -> dict[str, pd.DataFrame]:
    """Return the published cells of every panel, beside what was measured."""
    found = {of: published_and_reproduced(root / REFERENCE / of) for of, _ in PANELS}
    return {title: found[of][found[of]["table"] == table] for (of, table), title in PANELS.items()}


def shown(panels: dict[str, pd.DataFrame]) -> str:
    """Return the digest of the numbers that the picture shows."""
    columns = ["row", "column", "published", "value", "low", "high", "status"]
    return digest(
        {title: of_panel[columns].astype(str).values.tolist() for title, of_panel in panels.items()}
    )


def write(root: Path) -> Path:
    """Draw the picture, unless the one that is there shows the same numbers; return its path."""
    panels = cells(root)
    named = {title: of_panel.assign(**called(of_panel)) for title, of_panel in panels.items()}
    return keep(root / PICTURE, shown(panels), lambda: draw(named))


def keep(path: Path, mark: str, drawn: Callable[[], Any]) -> Path:
    """Save a figure as `path`, with the digest of its numbers as `mark`, unless one of the same is there."""
    if told(path) != mark:
        with plain():
            drawn().savefig(path, dpi=160, metadata={MARK: mark, "Software": None})
    return path


def called(of_panel: pd.DataFrame) -> dict[str, Any]:
    """Return what the rows and columns of a panel are called in the picture."""
    rows = [ROWS.get(row) or f"{int(row):,}" for row in of_panel["row"].tolist()]
    return {"row": rows, "column": of_panel["column"].map(COLUMNS)}


def told(path: Path) -> str:
    """Return the digest that a picture has in it, or nothing."""
    from PIL import Image

    if not path.is_file():
        return ""
    with Image.open(path) as image:
        return str(image.info.get(MARK, ""))
