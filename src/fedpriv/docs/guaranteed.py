"""What a guarantee buys, as a picture: published, reproduced by the estimate, guaranteed at that (ε, δ)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs import picture
from fedpriv.docs.papers import REFERENCE
from fedpriv.files.made import digest
from fedpriv.report.claims.compare import published_and_reproduced

PICTURE = "docs/guaranteed.png"
ESTIMATES, GUARANTEES = "paper/bdp2019", "guarantees/guarantees"  # results, by where their numbers come from
TABLES = {
    "table1": "MNIST non-i.i.d. (Table I)",
    "table2": "MNIST i.i.d. (Table II)",
    "table3": "APTOS 2019 (Table III)",
    "table4": "client and example (Table IV)",
}
LOOKS = {  # of what is drawn, by its column: told apart by shape
    "published": {
        "fmt": "o",
        "markersize": 9,
        "fillstyle": "none",
        "color": "tab:blue",
        "label": "published, at an estimate",
    },
    "estimate": {"fmt": "x", "markersize": 6, "color": "0.5", "label": "reproduced, at the same estimate"},
    "value": {"fmt": "D", "markersize": 5, "color": "black", "label": "guaranteed, 95 % interval"},
}


def cells(root: Path) -> pd.DataFrame:
    """Return a line for every published Bayesian accuracy that has a guarantee, in the tables' order."""
    key = ["table", "row"]
    ours, theirs = (published_and_reproduced(root / REFERENCE / of) for of in (GUARANTEES, ESTIMATES))
    ours = ours[ours["table"].isin(list(TABLES)) & (ours["status"] == "ok")]
    theirs = theirs.loc[theirs["column"] == "bdp", [*key, "value"]].rename(columns={"value": "estimate"})
    return ours.merge(theirs, on=key, how="left").sort_values("table", kind="stable")


def write(root: Path) -> Path:
    """Draw the picture, unless the one that is there shows the same numbers; return its path."""
    found = cells(root)
    said = found[["table", "row", *LOOKS, "low", "high"]].astype(str).to_numpy().tolist()
    return picture.keep(root / PICTURE, digest(said), lambda: draw(found))


def draw(found: pd.DataFrame) -> Any:
    """Return the figure: a line a cell, accuracies on one axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.6 + 0.33 * (len(found) + found["table"].nunique())), layout="constrained")
    axes, place, names = figure.subplots(), 0, {}
    for table, rows in found.groupby("table", sort=False):
        axes.text(30.6, place, TABLES[str(table)], fontsize=8, fontweight="bold", va="center")
        for row in rows.to_dict("records"):
            place += 1
            label = f"{int(row['row']):,} clients" if str(row["row"]).isdecimal() else str(row["row"])
            names[place] = label
            for column, look in LOOKS.items():
                there = column == "value" and row["low"] == row["low"]
                reach = [[row["value"] - row["low"]], [row["high"] - row["value"]]] if there else None
                wide = [[100 * one[0]] for one in reach] if reach else None
                axes.errorbar(100 * row[column], place, xerr=wide, capsize=2, linewidth=1, **look)
        place += 1
    axes.set_yticks(list(names), list(names.values()), fontsize=8)
    axes.set_ylim(place - 0.5, -0.7)
    axes.set_xlim(30, 100.5)
    axes.set_xlabel("Accuracy (%), at the published (ε, δ)", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    place_of = {"loc": "outside upper center", "ncols": 3, "frameon": False, "fontsize": 8}
    figure.legend(known.values(), known.keys(), **place_of)
    return figure
