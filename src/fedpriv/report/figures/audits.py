"""What is stated, what tighter accountants say, and what audits show: a line a run and ε, one axis for ε."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fedpriv.audit.finding import Finding
from fedpriv.audit.known import words
from fedpriv.paper.figures import AuditsFigure, Curve, Part
from fedpriv.report.audits import findings
from fedpriv.report.reading import present, rows_of
from fedpriv.report.texts import for_figure

HEIGHT = 3.4  # inches of a panel, which has a line for every ε
TIGHTER = ("rdp", "pld")
LEAST, MOST = 0.01, 1e3  # of the axis: what is beyond stands at its end


def draw(axes: Axes, frame: pd.DataFrame, declared: AuditsFigure, part: Part) -> None:
    """Draw a line for each ε, from the largest lower bound under it to what is stated."""
    cycle = list(rcParams["axes.prop_cycle"])
    lines = [line for curve in part.curves if present(frame, curve.run) for line in lines_of(frame, curve)]
    if not lines:
        return
    marks = {
        "stated": {"marker": "|", "markersize": 6, "mew": 1.4, "color": "black"},
        "tighter accountants": {"marker": "d", "markersize": 3.5, "mfc": "none", "color": "#606060"},
        "lower bound, not refuted": cycle[0] | {"marker": "o", "markersize": 4},
        "lower bound, refutes it": cycle[1] | {"marker": "s", "markersize": 4},
        "no ε holds": cycle[1] | {"marker": ">", "markersize": 6},
    }
    for height, (_, one, tighter) in enumerate(reversed(lines)):
        bound = float(np.clip(one.lower_bound, LEAST, MOST))
        axes.plot([bound, one.epsilon], [height, height], "-", color="#b0b0b0", marker="", linewidth=0.8)
        kind = "lower bound, refutes it" if one.refuted else "lower bound, not refuted"
        kind = "no ε holds" if np.isinf(one.lower_bound) else kind
        points = {"stated": [one.epsilon], "tighter accountants": tighter, kind: [bound]}
        for label, values in points.items():
            if values:  # of nothing at all matplotlib does not know how large it is
                style = marks[label] | {"linestyle": "none", "zorder": 3}
                axes.plot(values, [height] * len(values), label=label, **style)
    axes.set(xlabel="ε (logarithmic)", xscale="log", xlim=(None, None), ylim=(-0.6, len(lines) - 0.4))
    axes.set_yticks(range(len(lines)), [for_figure(name) for name, _, _ in reversed(lines)], fontsize=6)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", visible=False)


def lines_of(frame: pd.DataFrame, curve: Curve) -> list[tuple[str, Finding, list[float]]]:
    """Return for each ε of a run its label, the largest lower bound under it, and tighter accounts of it."""
    every = next(iter(findings(frame, curve.run).values()), [])
    best: dict[str, Finding] = {}
    for one in every:
        if one.audit == "frequency" or not one.confidence:  # the ε of another statement; an estimate
            continue
        if one.about not in best or one.lower_bound > best[one.about].lower_bound:
            best[one.about] = one
    return [(f"{curve.label}: {about}", one, tighter(frame, curve.run, one)) for about, one in best.items()]


def tighter(frame: pd.DataFrame, run: str, one: Finding) -> list[float]:
    """Return ε of the same guarantee by the tighter accountants, at the last round of the first seed."""
    rows = rows_of(frame, run)
    rows = rows.loc[rows["accountant"].isin(TIGHTER)]
    last = rows.loc[(rows["round"] == rows["round"].max()) & (rows["seed"] == rows["seed"].min())]
    spends: list[Any] = list(last.itertuples())
    return [row.epsilon for row in spends if words(row._replace(accountant="moments")) == one.about]


def caption(declared: AuditsFigure) -> str:
    """Return what the marks mean."""
    return (
        "A line for every stated ε, at the last round of the first seed, and its largest lower bound that "
        "is one for all neighbours (frequency is not). "
        "Squares: no ε as small as the stated one holds. At the right end: no ε holds at all."
    )
