"""The picture of the README: every published accuracy beside what was measured here."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.docs.papers import REFERENCE
from fedpriv.files.made import digest
from fedpriv.report.claims.compare import published_and_reproduced
from fedpriv.report.stability import is_unstable

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
ROWS = {"MNIST (i.i.d.)": "MNIST", "MNIST (non-i.i.d.)": "MNIST\nnon-i.i.d.", "APTOS 2019": "APTOS"}


def cells(root: Path) -> dict[str, pd.DataFrame]:
    """Return the published cells of every panel, beside what was measured."""
    found = {of: published_and_reproduced(root / REFERENCE / of) for of, _ in PANELS}
    return {title: found[of][found[of]["table"] == table] for (of, table), title in PANELS.items()}


def shown(panels: dict[str, pd.DataFrame]) -> str:
    """Return the digest of the numbers that the picture shows."""
    columns = ["row", "column", "published", "value", "low", "high", "status"]
    return digest({title: cells[columns].astype(str).to_numpy().tolist() for title, cells in panels.items()})


def write(root: Path) -> Path:
    """Draw the picture, unless the one that is there shows the same numbers; return its path."""
    panels, path = cells(root), root / PICTURE
    if told(path) != shown(panels):
        draw(panels).savefig(path, dpi=160, metadata={MARK: shown(panels), "Software": None})
    return path


def told(path: Path) -> str:
    """Return the digest that a picture has in it, or nothing."""
    from PIL import Image

    if not path.is_file():
        return ""
    with Image.open(path) as image:
        return str(image.info.get(MARK, ""))


def draw(panels: dict[str, pd.DataFrame]) -> Any:
    """Return the picture: an open circle for what is published, a dot with its interval for ours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.3), layout="constrained")
    widths = [max(len(of_panel) + 2, 7) for of_panel in panels.values()]
    for axes, (title, of_panel) in zip(
        figure.subplots(1, len(panels), sharey=True, width_ratios=widths), panels.items(), strict=True
    ):
        panel(axes, of_panel, title)
    figure.axes[0].set_ylabel("Accuracy (%)")
    legends = [axes.get_legend_handles_labels() for axes in figure.axes]
    known = {
        label: handle for handles, labels in legends for handle, label in zip(handles, labels, strict=True)
    }
    figure.legend(
        known.values(), known.keys(), loc="outside upper center", ncols=3, frameon=False, fontsize=9
    )
    return figure


def panel(axes: Any, of_panel: pd.DataFrame, title: str) -> None:
    """Draw one table: its rows side by side, their columns in order."""
    lines = of_panel.to_dict("records")
    for place, cell in enumerate(lines):
        axes.plot(
            place,
            100 * cell["published"],
            "o",
            markersize=8,
            fillstyle="none",
            color="tab:blue",
            label="published",
        )
        value, low, high = (100 * cell[name] for name in ("value", "low", "high"))
        if is_unstable(cell["status"]):
            axes.plot(place, value, "x", color="0.4", markersize=5, label="reproduced, unstable")
        else:
            reach = [[value - low], [high - value]]
            look = {"color": "black", "markersize": 4, "capsize": 2, "linewidth": 1}
            axes.errorbar(place, value, yerr=reach, fmt="o", label="reproduced, 95 % interval", **look)
    ends = [after for after in range(1, len(lines)) if lines[after]["row"] != lines[after - 1]["row"]]
    for end in ends:
        axes.axvline(end - 0.5, color="0.85", linewidth=0.8)
    axes.set_xticks(range(len(lines)), [COLUMNS[one["column"]] for one in lines], fontsize=7, rotation=90)
    for start, end in pairwise([0, *ends, len(lines)]):
        row = str(lines[start]["row"])
        text = ROWS.get(row) or f"{int(row):,}"
        place = ((start + end - 1) / 2, -0.24)
        axes.text(*place, text, transform=axes.get_xaxis_transform(), ha="center", va="top", fontsize=7)
    axes.set_title(title, fontsize=9)
    axes.set_ylim(0, 102)
    axes.set_xlim(-0.7, len(lines) - 0.3)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
