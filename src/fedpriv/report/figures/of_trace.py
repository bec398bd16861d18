"""The ε of a trace against its rounds, whoever trained: a panel for each relation, a line an accountant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedpriv.account import ledger
from fedpriv.account.check import checked_trace
from fedpriv.account.foreign import AlikeReleases, phases, thin_trace
from fedpriv.errors import BadInput
from fedpriv.frozen import Deltas
from fedpriv.report.figures import COLUMN, HEIGHT, PAGE, add_legend, house_style, legend_entries, save_figure
from fedpriv.report.figures.looks import GREY, LOOKS
from fedpriv.report.figures.rounds import GUARANTEE, LEVEL_WORDS, logarithmic
from fedpriv.report.numbers import delta as in_powers
from fedpriv.report.render import escape_figure

POINTS = 200  # of a line, about: a row of many releases is laid out in so many, shared among the rows
FEW = 6  # phases whose settings are written into the picture
NARROW = 0.15  # of all releases: what a phase has less than that is written upright
RELATIONS = {"add_remove": "added or removed", "replace_one": "replaced", "zero_out": "replaced by nothing"}
WHO = {"client": "A client", "instance": "An example"}
ONE_LINE = ["accountant", "accounting", "composition", "distance", "sensitivity", "kind", "unmet"]


def write_picture(
    trace: pd.DataFrame, deltas: Deltas, out: Path, ignore: Collection[str] = ()
) -> list[AlikeReleases]:
    """Draw what a plain trace costs as `out`, in the format of its suffix; return its phases.

    The file is written whole or not at all. Raises BadInput where the trace is none, or has no finite ε.
    """
    whole = checked_trace(trace, ignore)
    laid, found = thin_trace(whole, max(2, POINTS // len(whole))), phases(whole)
    costs = ledger(laid, deltas)
    if not np.isfinite(costs["epsilon"]).any():
        raise BadInput("trace: found no finite ε, allowed: noise in every row, on what is bounded")
    with house_style():
        save_figure(draw_trace(costs, laid["releases"].cumsum(), found), out)
    return found


def draw_trace(costs: pd.DataFrame, releases: np.ndarray, parts: Sequence[AlikeReleases]) -> Figure:
    """Return the figure of a ledger whose row t is what `releases[t]` releases cost, in all."""
    shown = costs[np.isfinite(costs["epsilon"]) & (costs["epsilon"] > 0)]
    panels = list(shown.groupby(["unit", "relation"], sort=False))
    figure = Figure(figsize=(PAGE if len(panels) > 1 else COLUMN, HEIGHT))
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (_, rows) in zip(row, panels, strict=True):
        first = rows.iloc[0]
        who = WHO.get(first["unit"], first["unit"])
        relation = RELATIONS.get(first["relation"], first["relation"])
        axes.set_title(escape_figure(f"{who} {relation}, δ = {in_powers(first['delta'])}"))
        for _, line in rows.groupby(ONE_LINE, sort=False):
            # Its accountant and who sees what; a guarantee is solid, and what is none dashed and said.
            last, at = line.iloc[-1], releases[line["round"].to_numpy() - 1]
            guaranteed = last["kind"] == GUARANTEE
            status = last["kind"] if not guaranteed else "no guarantee" if last["unmet"] else ""
            label = " ".join(filter(None, [last["accountant"], last["accounting"], last["distance"]]))
            label += f" ({status})" if status else ""
            look = LOOKS.get(last["accountant"], LOOKS["published"])
            look = look | {"linestyle": "--" if status else "-", "markevery": max(1, len(line) // 6)}
            axes.plot(at, line["epsilon"], label=escape_figure(label), **look)
        axes.set(
            xlabel="Step" if first["unit"] == "instance" else "Round",
            ylabel=f"{LEVEL_WORDS.get(first['unit'], first['unit'])} ε",
            xlim=(0, 1.02 * releases[-1]),
        )
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=(1, 2, 5, 10)))
        logarithmic(axes)
        mark(axes, parts)
    below = add_legend(figure, legend_entries(row)).get_window_extent().height
    figure.set_figheight(HEIGHT + below / figure.dpi)
    return figure


def mark(axes: Axes, parts: Sequence[AlikeReleases]) -> None:
    """Draw a line where each phase after the first begins; of few phases say what they are, in its middle."""
    for number, part in enumerate(parts):
        if number:
            axes.axvline(part.first, color=GREY, linewidth=0.7, linestyle=(0, (5, 3)), zorder=1)
        if 1 < len(parts) <= FEW:
            narrow = part.last - part.first < NARROW * parts[-1].last
            text = f"q = {part.sampling_rate:.3g},{' ' if narrow else chr(10)}z = {part.noise_multiplier:.3g}"
            where = {"xy": ((part.first + part.last) / 2, 0.02), "xycoords": ("data", "axes fraction")}
            where |= {"ha": "center", "va": "bottom", "rotation": 90 if narrow else 0}
            axes.annotate(text, **where, color=GREY)


def phases_text(parts: Sequence[AlikeReleases]) -> str:
    """Return the phases of a picture in words."""
    each = [
        f"{one.first} to {one.last} q = {one.sampling_rate:.4g}, z = {one.noise_multiplier:.4g}"
        for one in parts[:FEW]
    ]
    more = [f"and {len(parts) - FEW} more"] if len(parts) > FEW else []
    return "rounds " + "; ".join(each + more)
