"""Figures from collected runs, in one house style; to add a kind, write its file and its line here."""

from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from io import BytesIO
from math import ceil
from pathlib import Path
from re import findall
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib
import pandas as pd

from fedpriv.files.atomic import writing
from fedpriv.report import attacker, curves, divergence, every_epsilon, growing, sweep
from fedpriv.report.collect import load
from fedpriv.report.declared_figures import FigureSpec, Panel, SpendLine
from fedpriv.report.footnotes import data, instances, settings, stand_ins
from fedpriv.report.reading import present, spent
from fedpriv.report.sent import evaluations, noises, responses

matplotlib.use("agg")  # no display: figures are files

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text


class Kind(NamedTuple):
    """How a panel is drawn (what it labels ends up in one legend under all panels), and what must be said."""

    draw: Callable[[Axes, pd.DataFrame, Any], None]
    notes: Callable[[pd.DataFrame, Any], list[str]]


KINDS = {
    "curves": Kind(curves.curves, curves.notes),
    "epsilons": Kind(every_epsilon.every_epsilon, every_epsilon.notes),
    "growth": Kind(growing.growing, growing.notes),
    "attacker": Kind(attacker.attacker, attacker.notes),
    "divergence": Kind(divergence.divergences, divergence.notes),
    "sweep": Kind(sweep.sweep, sweep.notes),
}
PANEL_WIDTH, PANEL_HEIGHT = 2.45, 2.3  # inches, as everything here
TITLE_LINE, LEGEND_LINE, GAP = 0.15, 0.15, 0.07
EDGE = 0.01  # left of title and notes, as a share of the width


def write(runs: Path, declared: FigureSpec, stem: Path) -> list[Path]:
    """Draw the declared figure as `stem`.pdf and .png, each written whole or not at all."""
    frame = load(runs)
    with as_file(files("fedpriv.report") / "style.mplstyle") as style, plt.style.context(style):
        figure = draw(frame, declared)
        try:
            # Without a date in it, the same runs give the same bytes.
            for suffix, metadata in ((".pdf", {"CreationDate": None}), (".png", {})):
                drawn = BytesIO()  # on a full disk matplotlib's own writer loses the reason
                figure.savefig(drawn, format=suffix.removeprefix("."), metadata=metadata)
                with writing(stem.with_suffix(suffix)) as path:
                    path.write_bytes(drawn.getvalue())
        finally:
            plt.close(figure)
    return [stem.with_suffix(".pdf"), stem.with_suffix(".png")]


def draw(frame: pd.DataFrame, declared: FigureSpec) -> Figure:
    """Return the figure: panels in a row, one legend and the notes under them."""
    # A panel that no run was made for is said in the notes; the figure of nothing keeps its first.
    parts = declared.parts()
    panels = [panel for panel in parts if len(made(frame, panel))] or parts[:1]
    width = PANEL_WIDTH * max(2, len(panels))  # a title and the notes need that much
    used = frame.loc[frame["run"].isin(list(declared.runs()))]
    figure = plt.figure(figsize=(width, PANEL_HEIGHT))
    grid = figure.add_gridspec(2, len(panels))
    rows = [figure.add_subplot(grid[0, number]) for number in range(len(panels))]
    for axes, panel in zip(rows, panels, strict=True):
        axes.set_title(panel.title + here(frame, panel))
        KINDS[declared.kind].draw(axes, frame, panel)
        if not axes.has_data():
            axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color="gray")
            axes.set(xticks=[], yticks=[])
    strips = [PANEL_HEIGHT, LEGEND_LINE * (labelled(figure.add_subplot(grid[1, :]), rows) + 0.5)]
    grid.set_height_ratios(strips)
    title = figure.suptitle("", x=EDGE, ha="left")
    above = TITLE_LINE * (wrapped(title, [titled(declared) + stand_ins(used)]) + 1)
    parts_said = (data, settings, instances, responses, noises, evaluations)
    said = [note for part in parts_said for note in part(used)] + left_out(frame, parts, panels)
    notes = figure.text(EDGE, 0, "", va="bottom", fontsize=6, color="#606060")
    wrapped(notes, said + KINDS[declared.kind].notes(frame, declared))
    # The notes are at the bottom, as high as they are; the rest is laid out above them.
    below = notes.get_window_extent().height / figure.dpi + 2 * GAP
    height = sum(strips) + above + below
    figure.set_size_inches(width, height)
    notes.set_y(GAP / height)
    notes.set_in_layout(False)
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0, below / height, 1, 1 - below / height)))
    return figure


def labelled(legend: Axes, rows: Sequence[Axes]) -> int:
    """Put what the panels label into `legend`, in as many columns as fit; return the number of lines."""
    entries = {
        label: handle
        for axes in rows
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend.axis("off")
    lines = 0
    fits = False
    while entries and not fits:
        lines += 1
        columns = ceil(len(entries) / lines)
        handles, labels = list(entries.values()), list(entries)
        box = legend.legend(handles, labels, loc="center", ncols=columns, borderaxespad=0)
        fits = columns == 1 or box.get_window_extent().width < legend.figure.bbox.width * (1 - 3 * EDGE)
    return lines


def wrapped(text: Text, paragraphs: Sequence[str]) -> int:
    """Let `text` say `paragraphs` in lines that its figure is wide enough for; return their number."""
    figure = text.get_figure()
    assert figure is not None
    room = figure.bbox.width * (1 - 3 * EDGE)
    letters = max(map(len, paragraphs), default=0)
    while True:
        lines = [line for paragraph in paragraphs for line in wrap(paragraph, letters)]
        text.set_text("\n".join(lines))
        taken = text.get_window_extent().width
        if taken <= room:
            return len(lines)
        letters = min(letters - 1, int(letters * room / taken))


def titled(declared: FigureSpec) -> str:
    """Return the title, with the figure of the paper that this one stands for."""
    theirs = declared.place and not declared.place.startswith("ours")
    return f"{declared.place[0].upper()}{declared.place[1:]}. {declared.title}" if theirs else declared.title


def here(frame: pd.DataFrame, panel: Panel) -> str:
    """Return the numbers of clients where they are not those that the panel speaks of."""
    said = " ".join([panel.title, *(line.label for line in panel.drawn())])
    spoken = set(findall(r"([\d,]+) clients", said))
    numbers = {f"{number:,}" for number in sorted(set(made(frame, panel)["population"]))}
    return f" (here {', '.join(sorted(numbers, key=len))})" if spoken and numbers - spoken else ""


def made(frame: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Return what there is of the runs of a panel."""
    return frame.loc[frame["run"].isin([line.run for line in panel.drawn()])]


def left_out(frame: pd.DataFrame, parts: Sequence[Panel], panels: Sequence[Panel]) -> list[str]:
    """Return the notes that name the panels, and the lines in the others, that could not be drawn."""
    missing, uncounted = [part.title for part in parts if part not in panels], []
    for panel in panels if len(parts) > len(missing) else ():
        drawn = Counter(line.label for line in panel.drawn())
        absent = Counter(line.label for line in panel.drawn() if not present(frame, line.run))
        for label, count in absent.items():
            part = " (in part)" if count < drawn[label] else ""
            missing.append(": ".join(filter(None, (panel.title, label))) + part)
        for line in panel.drawn():
            if not (isinstance(line, SpendLine) and present(frame, line.run)):
                continue
            if spent(frame, line.run, line.spend).empty:
                name = ": ".join(filter(None, (panel.title, line.label)))
                uncounted.append(f"{name} ({line.spend})")
    notes = [f"Not run in this preset: {'; '.join(missing).removesuffix('.')}."] if missing else []
    return notes + ([f"Not in the ledger: {'; '.join(uncounted)}."] if uncounted else [])
