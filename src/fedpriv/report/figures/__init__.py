"""Figures from collected runs, in one house style; to add a kind, write its file and its line here."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

from fedpriv.account.statement import legend
from fedpriv.paper.figures import AxesPair, FigureSpec, RoundsFigure
from fedpriv.report import claims
from fedpriv.report.figures import looks, notes, rounds
from fedpriv.report.figures.looks import GREY, Label
from fedpriv.report.results import Results
from fedpriv.report.texts import escape_figure
from fedpriv.store.files import writing

# A kind draws a panel, whose labels end up in one legend, and returns what is to be written into it.
FIGURE_KINDS: dict[str, Callable[[Axes, Results, Any, AxesPair], Iterable[Label] | None]] = {
    "rounds": rounds.draw_rounds,
    "python": lambda axes, results, declared, part: declared.call(axes, results, part.curves),
}
# What is drawn within is in the house style, or in matplotlib's own, whatever a user's matplotlibrc says.
house_style = partial(style.context, "fedpriv.report.figures.style", after_reset=True)
plain_style = partial(style.context, (), after_reset=True)
COLUMN, PAGE = 3.3, 6.9  # inches, as all lengths here: the widths of one column of a journal and of both
HEIGHT, LOW = 1.9, 1.5  # of a panel, without the legend: of one row, and of several
PANEL = 2.0  # the least width of one where there is no room for all in a row


@house_style()
def write_figure(results: Results, declared: FigureSpec, stem: Path) -> list[Path]:
    """Draw the declared figure of collected runs as `stem`.pdf and .png, with what it says as .json and .md.

    Each is written whole or not at all; the same results give the same bytes.
    """
    figure = draw_figure(results, declared)
    content = notes.content(results, declared, caption(results, declared, figure))
    data = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    files: dict[str, bytes] = {}
    for kind, metadata in {"pdf": {"CreationDate": None}, "png": {}}.items():
        drawn = BytesIO()  # on a full disk matplotlib's own writer loses the reason
        figure.savefig(drawn, format=kind, metadata=metadata)
        files[kind] = drawn.getvalue()
    files |= {"json": data.encode(), "md": notes.figure_markdown(content, stem.name).encode()}
    paths = [stem.with_suffix(f".{kind}") for kind in files]
    for file, written in zip(paths, files.values(), strict=True):
        with writing(file) as path:
            path.write_bytes(written)
    return paths


def caption(results: Results, declared: FigureSpec, figure: Figure) -> str:
    """Return the caption of the figure, and what its lines, its points and the marks in its texts mean."""
    lines = rounds.legend_text(declared) if isinstance(declared, RoundsFigure) else ""
    marks = legend(*(text.get_text() for text in figure.findobj(Text)))
    words = claims.caption(results, declared), lines, f"{marks}." if marks else ""
    return " ".join(filter(None, words))


@house_style()
def draw_figure(results: Results, declared: FigureSpec, width: float = 0.0) -> Figure:
    """Return the figure: a row of panels, with what their lines are beside the last or in one legend below.

    Its title stands in its caption: whoever prints it has one of their own. Without a `width` in inches it is
    as wide as a page, or as a column where that holds it. In less than a page panels stand in several rows.
    """
    parts = drawn_parts(results, declared)
    against_rounds = isinstance(declared, RoundsFigure)
    shared = not against_rounds or declared.quantity not in rounds.PERCENT
    figure = Figure()
    grid = lay_out(figure, len(parts), shared, width)
    panels = list(grid.flat)[: len(parts)]
    labels = dict(zip(panels, map(partial(draw_panel, results, declared), panels, parts), strict=True))
    for axes in grid[:, 1:].flat:
        axes.set_ylabel("")
    if shared:
        for axes in panels:
            axes.label_outer()
    if not any(axes.has_data() for axes in panels):
        panels[0].set_yticks([])  # of no quantity
    roomy = len(grid) == 1 and not 0 < width < PAGE
    ends = name_curves(figure, panels, width, len(grid), roomy and against_rounds)
    settle(figure, panels, ends, len(grid))
    for axes, words in labels.items():
        looks.place_labels(axes, words)
    figure.draw_without_rendering()  # what was placed may move a panel a little
    return figure


def drawn_parts(results: Results, declared: FigureSpec) -> list[AxesPair]:
    """Return the panels that have a run; the notes name the others. A figure of nothing keeps its first."""
    parts = declared.parts()
    return [part for part in parts if any(results.has(curve.run) for curve in part.curves)] or parts[:1]


def lay_out(figure: Figure, panels: int, shared: bool, width: float) -> np.ndarray:
    """Return the axes of so many panels, by row: all in one, where there is room for it."""
    across = max(1, min(panels, int(width / PANEL))) if 0 < width < PAGE else panels
    grid = figure.subplots(math.ceil(panels / across), across, sharey=shared, squeeze=False)
    for axes in grid.ravel()[panels:]:
        axes.remove()
    return grid


def draw_panel(results: Results, declared: FigureSpec, axes: Axes, part: AxesPair) -> Iterable[Label]:
    """Draw a panel with its title; return what is to be written into it when it has its size."""
    title = part.title
    if isinstance(declared, RoundsFigure):
        title = ", ".join(filter(None, (title, rounds.delta_text(results, part))))
    axes.set_title(escape_figure(title))
    labels = FIGURE_KINDS[declared.kind](axes, results, declared, part) or ()
    if not axes.has_data():
        why = "not in the ledger" if any(results.has(curve.run) for curve in part.curves) else "not run"
        axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=GREY)
        axes.set_xticks([])
    return labels


def name_curves(
    figure: Figure, panels: Sequence[Axes], width: float, rows: int, at_ends: bool
) -> dict[Line2D, Legend]:
    """Size the figure, and name its curves `at_ends` of those in the last panel if that has all of them.

    Else they are in a legend below. Return the names at the ends, which are yet to be moved to them.
    """
    entries, ends = legend_entries(panels), dict[Line2D, Legend]()
    alone = at_ends and legend_entries(panels[-1:]).keys() >= entries.keys()
    if alone:
        ends = looks.label_ends(panels[-1], rounds.MARKS)
        entries = {name: entries[name] for name in rounds.MARKS if name in entries}
    high = HEIGHT if rows == 1 else rows * LOW
    figure.set_size_inches(width or (PAGE if alone or len(panels) > 1 else COLUMN), high)
    below = add_legend(figure, entries).get_window_extent().height if entries else 0.0
    figure.set_figheight(high + below / figure.dpi)
    return ends


def settle(figure: Figure, panels: Sequence[Axes], ends: Mapping[Line2D, Legend], rows: int) -> None:
    """Fit titles, and names at the ends of curves, into the figure, which is made higher where it must.

    From here on every length is known.
    """
    figure.draw_without_rendering()
    lacking = looks.wrap({axes: axes.title for axes in panels}) + looks.spread_labels(panels[-1], ends)
    if lacking:
        figure.set_figheight(figure.get_figheight() + rows * lacking / figure.dpi)
        figure.draw_without_rendering()
        looks.spread_labels(panels[-1], ends)


def legend_entries(row: Iterable[Axes]) -> dict[str, Any]:
    """Return the handles of the legends of panels, each label once."""
    return {
        label: handle for axes in row for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }


def add_legend(figure: Figure, entries: dict[str, Any]) -> Legend:
    """Put a legend below the panels, in as many columns as fit."""
    columns = min(len(entries), 6)
    while True:
        box = figure.legend(entries.values(), entries, loc="outside lower center", ncols=columns)
        if columns == 1 or box.get_window_extent().width < figure.bbox.width:
            return box
        box.remove()
        columns -= 1
