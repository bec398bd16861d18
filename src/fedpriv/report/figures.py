"""Figures from collected runs, in one house style; to add a kind, write its file and its line here."""

from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib
import pandas as pd

from fedpriv.atomic import writing
from fedpriv.report.collect import load
from fedpriv.report.curves import curves
from fedpriv.report.declared import FigureSpec
from fedpriv.report.every_epsilon import every_epsilon
from fedpriv.report.footnotes import ESTIMATE, data, settings, stand_ins

matplotlib.use("agg")  # no display: figures are files

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# A kind draws one panel and returns nothing; what it labels ends up in one legend under all panels.
KINDS: dict[str, Callable[[Axes, pd.DataFrame, Any], None]] = {"curves": curves, "epsilons": every_epsilon}
PANEL_WIDTH, PANEL_HEIGHT = 2.45, 2.1  # inches, as everything here
TITLE, LEGEND_LINE, LEGEND_COLUMN, NOTE_LINE = 0.3, 0.15, 2.3, 0.12
LETTERS = 20  # of a note, an inch


BANDS = (
    "Bands: 95 % intervals over seeds; fewer than three seeds are drawn themselves, thin. "
    "Dashed: published. Dotted: the budget is spent."
)


def write(runs: Path, declared: FigureSpec, stem: Path) -> list[Path]:
    """Draw the declared figure as `stem`.pdf and .png, each written whole or not at all."""
    frame = load(runs)
    with as_file(files("fedpriv.report") / "style.mplstyle") as style, plt.style.context(style):
        figure = draw(frame, declared)
        try:
            # Without a date in it, the same runs give the same bytes.
            for suffix, metadata in ((".pdf", {"CreationDate": None}), (".png", {})):
                with writing(stem.with_suffix(suffix)) as path:
                    figure.savefig(path, metadata=metadata)
        finally:
            plt.close(figure)
    return [stem.with_suffix(".pdf"), stem.with_suffix(".png")]


def draw(frame: pd.DataFrame, declared: Any) -> Figure:
    """Return the figure: panels in a row, one legend and the notes under them, each in its own strip."""
    # A panel that no run was made for is said in the notes; the figure of nothing keeps its first.
    panels = [panel for panel in declared.panels if len(made(frame, panel))] or declared.panels[:1]
    left_out = [panel.title for panel in declared.panels if panel not in panels]
    width = PANEL_WIDTH * max(2, len(panels))  # a title and two columns of legend need that much
    used = frame.loc[frame["run"].isin(list(declared.runs()))]
    notes = [line for note in caption(used, declared, left_out) for line in wrap(note, int(width * LETTERS))]
    columns = max(1, int(width / LEGEND_COLUMN))
    most = max(len(panel.lines if declared.kind == "curves" else panel.spends) for panel in panels)
    strips = [PANEL_HEIGHT, LEGEND_LINE * (-(-most // columns) + 0.5), NOTE_LINE * len(notes)]
    figure = plt.figure(figsize=(width, sum(strips) + TITLE))
    grid = figure.add_gridspec(3, len(panels), height_ratios=strips)
    rows = [figure.add_subplot(grid[0, number]) for number in range(len(panels))]
    for axes, panel in zip(rows, panels, strict=True):
        axes.set_title(panel.title + here(frame, panel))
        KINDS[declared.kind](axes, frame, panel)
        if not axes.has_data():
            axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color="gray")
            axes.set(xticks=[], yticks=[])
    entries = {
        label: handle
        for axes in rows
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend, under = (figure.add_subplot(grid[strip, :]) for strip in (1, 2))
    legend.axis("off")
    legend.legend(list(entries.values()), list(entries), loc="center", ncols=columns, borderaxespad=0)
    under.axis("off")
    text = under.text(
        0, 1, "\n".join(notes), va="top", fontsize=6, color="#606060", transform=under.transAxes
    )
    text.set_in_layout(False)  # its strip is high enough
    figure.suptitle(declared.title + stand_ins(used), x=0.01, ha="left")
    return figure


def here(frame: pd.DataFrame, panel: Any) -> str:
    """Return the number of clients where it is not the one in the title of the panel."""
    numbers = {f"{number:,}" for number in set(made(frame, panel)["population"])}
    return f" (here {', '.join(sorted(numbers))})" if numbers - set(panel.title.split()) else ""


def made(frame: pd.DataFrame, panel: Any) -> pd.DataFrame:
    """Return what there is of the runs of a panel."""
    runs = [line.run for line in panel.lines] if hasattr(panel, "lines") else [panel.run]
    return frame.loc[frame["run"].isin(runs)]


def caption(used: pd.DataFrame, declared: FigureSpec, left_out: Sequence[str]) -> list[str]:
    """Return the notes that no figure may be without."""
    notes = [*data(used), *settings(used)]
    if left_out:
        notes.append(f"Not run in this preset: {', '.join(left_out)}.")
    if declared.kind == "curves":
        return [*notes, BANDS]
    lines = "Means over seeds; solid a guarantee, dashed an estimate; the same marker, the same sensitivity."
    return [*notes, lines, ESTIMATE]
