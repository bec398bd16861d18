"""The pictures of the pages: what was published beside what was reproduced, and beside what is guaranteed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from fedpriv.docs.papers import REFERENCE
from fedpriv.report.claims import published_and_reproduced
from fedpriv.report.figures import plain_style, published
from fedpriv.store.files import digest

MARK = "Description"  # of a file: the digest of what it shows
PANELS = {  # the tables by their paper: what each is called, what its rows are, and what a reader must know
    ("paper/bdp2019", "table1"): "Table I, MNIST non-i.i.d.; by clients",
    ("paper/bdp2019", "table2"): "Table II, MNIST i.i.d.; by clients",
    ("paper/bdp2019", "table3"): "Table III, APTOS, by clients; reproduced on another network",
    ("paper/bdp2019", "table4"): "Table IV, both levels; by data",
    ("paper/global_dp", "table"): "Geyer et al., clients; quoted from memory",
}
COLUMNS = {"baseline": "none", "dp": "DP", "bdp": "Bayes", "median": "DP"}
ROWS = {"MNIST (i.i.d.)": "MNIST", "MNIST (non-i.i.d.)": "MNIST non-i.i.d.", "APTOS 2019": "APTOS"}
ESTIMATES, GUARANTEES = "paper/bdp2019", "guarantees/guarantees"  # results, by where their numbers come from
TABLES = {
    "table1": "MNIST non-i.i.d. (Table I)",
    "table2": "MNIST i.i.d. (Table II)",
    "table3": "APTOS 2019 (Table III)",
    "table4": "Client and example level (Table IV)",
}
LOOKS = {  # what is drawn: told apart by shape, and by what is filled
    "published, at an estimated ε": {"marker": "|", "ms": 14, "mew": 2.5, "color": "tab:blue"},
    "reproduced, at the same estimate": {"marker": "x", "ms": 6, "mew": 1.5, "color": "0.45"},
    "a guarantee of the same ε": {"marker": "D", "ms": 6, "color": "black"},
    "the same, not surely above what is published": {
        "marker": "D",
        "ms": 6,
        "color": "black",
        "mfc": "white",
    },
}
LEFT, TITLES = 40, 41  # where the axis begins, and what is said of a table, in percent


def cells(root: Path) -> pd.DataFrame:
    """Return the published cells of every panel beside what was measured, as the picture calls them."""
    read = {of: published_and_reproduced(root / REFERENCE / of) for of, _ in PANELS}
    panels = [
        read[of][read[of]["table"] == table].assign(title=title) for (of, table), title in PANELS.items()
    ]
    found = pd.concat(panels)
    rows = [ROWS.get(row) or f"{int(row):,}" for row in found["row"]]
    return found.assign(row=rows, column=found["column"].map(COLUMNS))


def draw(found: pd.DataFrame) -> Figure:
    """Return the figure of `cells`."""
    return published.draw_published(
        {str(title): panel for title, panel in found.groupby("title", sort=False)}
    )


def guaranteed_cells(root: Path) -> pd.DataFrame:
    """Return a line for every published Bayesian accuracy that has a guarantee, in the tables' order."""
    key = ["table", "row"]
    ours, theirs = (published_and_reproduced(root / REFERENCE / of) for of in (GUARANTEES, ESTIMATES))
    ours = ours[ours["table"].isin(list(TABLES)) & (ours["status"] == "ok")]
    theirs = theirs.loc[theirs["column"] == "bdp", [*key, "value"]].rename(columns={"value": "estimate"})
    return ours.merge(theirs, on=key, how="left").sort_values("table", kind="stable")


def draw_guaranteed(found: pd.DataFrame) -> Figure:
    """Return the figure: a line a cell, accuracies on one axis.

    A guarantee is filled where all of its interval is at or above what is published.
    """
    figure = Figure(figsize=(8, 0.8 + 0.3 * (len(found) + found["table"].nunique())), layout="constrained")
    axes, place, names = figure.subplots(), 0, {}
    printed, estimate, *guarantees = LOOKS
    for table, rows in found.groupby("table", sort=False):
        axes.text(TITLES, place, TABLES[str(table)], fontsize=9, fontweight="bold", va="center")
        for row in rows.to_dict("records"):
            place += 1
            names[place] = f"{int(row['row']):,} clients" if row["row"].isdecimal() else row["row"]
            axes.plot([100 * row["low"], 100 * row["high"]], [place, place], color="black", linewidth=1.2)
            reached = row["low"] >= row["published"]  # never of one seed, which has no interval
            shown = {
                printed: row["published"],
                estimate: row["estimate"],
                guarantees[not reached]: row["value"],
            }
            for look, value in shown.items():
                axes.plot(100 * value, place, linestyle="none", **LOOKS[look])
        place += 1
    axes.set_yticks(list(names), list(names.values()), fontsize=9)
    axes.set(ylim=(place - 0.4, -0.7), xlim=(LEFT, 100.5))
    axes.set_xlabel("Accuracy (%), at the published (ε, δ)", fontsize=9)
    axes.tick_params(axis="x", labelsize=9)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    for label, look in LOOKS.items():
        axes.plot([], [], linestyle="none", label=label, **look)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure


class Picture(NamedTuple):
    """A picture: the file, and how its numbers come and are drawn."""

    path: str
    cells: Callable[[Path], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Figure]

    def mark(self, root: Path) -> str:
        """Return the digest of what the picture shows."""
        shown = {"title", "table", "row", "column", "published", "estimate", "value", "low", "high", "status"}
        found = self.cells(root)
        return digest(found[[name for name in found if name in shown]].astype(str).to_numpy().tolist())


PICTURES = (
    Picture("docs/published.png", cells, draw),
    Picture("docs/guaranteed.png", guaranteed_cells, draw_guaranteed),
)


def write(root: Path) -> None:
    """Draw the pictures, but for those that show the same numbers already."""
    for picture in PICTURES:
        if told(root / picture.path) != (mark := picture.mark(root)):
            with plain_style():
                figure, metadata = picture.draw(picture.cells(root)), {MARK: mark, "Software": None}
                figure.savefig(root / picture.path, dpi=160, metadata=metadata)


def told(path: Path) -> str:
    """Return the digest that a picture has in it, or nothing."""
    from PIL import Image

    if not path.is_file():
        return ""
    with Image.open(path) as image:
        return str(image.info.get(MARK, ""))
