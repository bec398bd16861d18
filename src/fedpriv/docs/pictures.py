"""The pictures of the pages: what was published beside what was reproduced, and beside what is guaranteed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs.papers import REFERENCE
from fedpriv.report.claims import published_and_reproduced
from fedpriv.report.figures import plain
from fedpriv.report.figures.published import draw
from fedpriv.store.files import digest

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


GUARANTEED_PICTURE = "docs/guaranteed.png"
ESTIMATES, GUARANTEES = "paper/bdp2019", "guarantees/guarantees"  # results, by where their numbers come from
TABLES = {
    "table1": "MNIST non-i.i.d. (Table I)",
    "table2": "MNIST i.i.d. (Table II)",
    "table3": "APTOS 2019 (Table III)",
    "table4": "Client and example level (Table IV)",
}
LOOKS = {  # of what is drawn: told apart by shape, and by what is filled
    "published": {"marker": "|", "markersize": 14, "markeredgewidth": 2.5, "color": "tab:blue"},
    "estimate": {"marker": "x", "markersize": 6, "markeredgewidth": 1.5, "color": "0.45"},
    "above": {"marker": "D", "markersize": 6, "color": "black"},
    "beside": {"marker": "D", "markersize": 6, "color": "black", "markerfacecolor": "white"},
}
LABELS = {
    "published": "published, at an estimated ε",
    "estimate": "reproduced, at the same estimate",
    "above": "a guarantee of the same ε",
    "beside": "the same, not surely above what is published",
}
LEFT, TITLES = 40, 41  # where the axis begins, and what is said of a table, in percent


def guaranteed_cells(root: Path) -> pd.DataFrame:
    """Return a line for every published Bayesian accuracy that has a guarantee, in the tables' order."""
    key = ["table", "row"]
    ours, theirs = (published_and_reproduced(root / REFERENCE / of) for of in (GUARANTEES, ESTIMATES))
    ours = ours[ours["table"].isin(list(TABLES)) & (ours["status"] == "ok")]
    theirs = theirs.loc[theirs["column"] == "bdp", [*key, "value"]].rename(columns={"value": "estimate"})
    return ours.merge(theirs, on=key, how="left").sort_values("table", kind="stable")


def shown_guaranteed(found: pd.DataFrame) -> str:
    """Return the digest of the numbers that the picture shows."""
    columns = ["table", "row", "published", "estimate", "value", "low", "high"]
    return digest(found[columns].astype(str).to_numpy().tolist())


def write_guaranteed(root: Path) -> Path:
    """Draw the picture, unless the one that is there shows the same numbers; return its path."""
    found = guaranteed_cells(root)
    return keep(root / GUARANTEED_PICTURE, shown_guaranteed(found), lambda: draw_guaranteed(found))


def draw_guaranteed(found: pd.DataFrame) -> Any:
    """Return the figure: a line a cell, accuracies on one axis.

    A guarantee is filled where all of its interval is at or above what is published.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.8 + 0.3 * (len(found) + found["table"].nunique())), layout="constrained")
    axes, place, names = figure.subplots(), 0, {}
    for table, rows in found.groupby("table", sort=False):
        axes.text(TITLES, place, TABLES[str(table)], fontsize=9, fontweight="bold", va="center")
        for row in rows.to_dict("records"):
            place += 1
            names[place] = f"{int(row['row']):,} clients" if row["row"].isdecimal() else row["row"]
            axes.plot([100 * row["low"], 100 * row["high"]], [place, place], color="black", linewidth=1.2)
            sure = "above" if row["low"] >= row["published"] else "beside"
            for look, value in (("published", "published"), ("estimate", "estimate"), (sure, "value")):
                axes.plot(100 * row[value], place, linestyle="none", **LOOKS[look])
        place += 1
    axes.set_yticks(list(names), list(names.values()), fontsize=9)
    axes.set_ylim(place - 0.4, -0.7)
    axes.set_xlim(LEFT, 100.5)
    axes.set_xlabel("Accuracy (%), at the published (ε, δ)", fontsize=9)
    axes.tick_params(axis="x", labelsize=9)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    for look, how in LOOKS.items():
        axes.plot([], [], linestyle="none", label=LABELS[look], **how)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure
