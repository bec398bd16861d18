"""Every published accuracy beside what was measured: an open circle, and a dot with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from textwrap import wrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedpriv.report.figures import legend_entries
from fedpriv.report.texts import escape_figure
from fedpriv.report.verdicts import is_unstable

SHORT = {"baseline": "none", "Baseline": "none", "no noise": "none"}  # what fits below a mark


def draw_published(panels: Mapping[str, pd.DataFrame], measured: str = "reproduced") -> Figure:
    """Return the figure: a panel a table, by its title; `measured` is what our numbers are.

    A panel has a line a cell: `row` and `column` as they are called, `published`, `value`, `low`, `high` and
    `status`. What was not run has its published number alone.
    """
    figure = Figure(figsize=(11, 3.3), layout="constrained")
    widths = [max(len(cells) + 2, 7) for cells in panels.values()]
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False, width_ratios=widths)[0]
    for axes, (title, cells) in zip(every, panels.items(), strict=True):
        draw_table(axes, cells.to_dict("records"), title, measured)
    every[0].set_ylabel("Accuracy (%)")
    known = legend_entries(every)
    above = {"loc": "outside upper center", "ncols": 4, "frameon": False, "fontsize": 9}
    figure.legend(known.values(), known.keys(), **above)
    return figure


def draw_table(axes: Axes, cells: list[dict[Any, Any]], title: str, measured: str) -> None:
    """Draw the cells of one table side by side."""
    for x, cell in enumerate(cells):
        draw_cell(axes, x, cell, measured)
    rows = [cell["row"] for cell in cells]
    ends = [after for after in range(1, len(rows)) if rows[after] != rows[after - 1]]
    for end in ends:
        axes.axvline(end - 0.5, color="0.85", linewidth=0.8)
    columns = [str(cell["column"]) for cell in cells]
    names = [escape_figure(SHORT.get(name, name.rpartition("= ")[2])) for name in columns]
    axes.set_xticks(range(len(cells)), names, fontsize=7, rotation=90)
    below, lines = axes.get_xaxis_transform(), -0.07 - 0.034 * max(map(len, names))
    for start, end in pairwise([0, *ends, len(cells)]):
        words = wrap(str(rows[start]), 10, break_long_words=False, break_on_hyphens=False)
        middle, label = (start + end - 1) / 2, "\n".join(map(escape_figure, words))
        axes.text(middle, lines, label, transform=below, ha="center", va="top", fontsize=7)
    axes.set_title("\n".join(map(escape_figure, title.split("; "))), fontsize=9)
    axes.set_ylim(0, 102)
    axes.set_xlim(-0.7, len(cells) - 0.3)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_cell(axes: Axes, x: int, cell: Mapping[Any, Any], measured: str) -> None:
    """Draw what is published of a cell, and what was measured, if anything was."""
    published = {"markersize": 8, "fillstyle": "none", "color": "tab:blue", "label": "published"}
    axes.plot(x, 100 * cell["published"], "o", **published)
    value, low, high = (100 * cell[name] for name in ("value", "low", "high"))
    if is_unstable(cell["status"]):
        axes.plot(x, value, "x", color="0.4", markersize=5, label=f"{measured}, unstable")
    elif low < 0 or high > 100:  # few seeds far apart: a t-interval cut off would look like another one
        look = {"color": "black", "markersize": 5, "fillstyle": "none"}
        axes.plot(x, value, "D", label=f"{measured}, 95 % interval beyond 0 to 100", **look)
    elif value == value:
        reach = [[value - low], [high - value]] if low == low else 0  # one seed has no interval
        look = {"color": "black", "markersize": 4, "capsize": 2, "linewidth": 1}
        axes.errorbar(x, value, yerr=reach, fmt="o", label=f"{measured}, 95 % interval", **look)
