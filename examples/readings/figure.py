"""Accuracy within the published ε against σ: two points a configuration, a panel a table of readings.py.

    python examples/readings/figure.py results/readings_study

draws readings.png into that folder from its table1.csv, table2.csv and table3.csv; dotted: published.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedpriv.paper.paper import read_yaml
from fedpriv.report.figures import HEIGHT, PAGE, add_legend, house_style, legend_entries

COLORS = {"C0": "DP", "C1": "BDP"}
SIDES = {"DP": -0.1, "BDP": 0.1}  # how far those of a σ stand from it
SPREAD = 0.07  # how far points of a σ stand from each other, at most
TABLES = ("table1", "table2", "table3")  # with 100 clients, whose last layer begins at random


def drawn(declared: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure of tables, a panel each; `declared` are those of settings.yaml."""
    figure = Figure(figsize=(PAGE, HEIGHT))
    row = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axes, (name, table) in zip(row, tables.items(), strict=True):
        draw(axes, table.query("quantity == 'accuracy'"))
        for color, pair in COLORS.items():
            axes.axhline(100 * declared[name][pair.lower()]["accuracy"], color=color, ls=":", lw=0.6)
        axes.set(title=declared[name]["data"], xlabel="σ", ylabel="Accuracy (%)", ylim=(0, 102))
        axes.label_outer()
    below = add_legend(figure, legend_entries(row)).get_window_extent().height
    figure.set_figheight(HEIGHT + below / figure.dpi)
    return figure


def draw(axes: Axes, accuracies: pd.DataFrame) -> None:
    """Draw the points of a table, open where everybody is in every round; the nearest pair is joined."""
    for color, name in COLORS.items():
        read = accuracies.loc[accuracies["column"] == name]
        same = read.groupby("noise_multiplier")["value"]
        beside = SPREAD * ((same.cumcount() + 0.5) / same.transform("size") * 2 - 1)
        x, y = read["noise_multiplier"] + SIDES[name] + beside, 100 * read["value"]
        everybody = read["cohort.rate"] == 1
        label = f"{name} (estimate)" if name == "BDP" else name
        axes.plot(x[~everybody], y[~everybody], f"{color}o", label=label)
        label += ", everybody in every round"
        axes.plot(x[everybody], y[everybody], f"{color}o", fillstyle="none", label=label)
    near = accuracies.loc[(accuracies["status"] == "nearest") & accuracies["column"].isin([*SIDES])]
    ends = near["noise_multiplier"] + near["column"].map(SIDES)
    axes.plot(ends, 100 * near["value"], "k-", label="the nearest")


if __name__ == "__main__":
    folder = Path(*sys.argv[1:])
    declared = read_yaml(Path(__file__).with_name("settings.yaml"))["tables"]
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in TABLES}
    with house_style():
        drawn(declared, tables).savefig(folder / "readings.png")
