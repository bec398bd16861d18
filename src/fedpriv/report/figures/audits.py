"""What is stated, what tighter accountants say, and what audits show: a line a run and ε, one axis for ε."""

from collections.abc import Sequence
from math import ceil, log10
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fedpriv.audit.finding import Finding, counting_text
from fedpriv.paper.figures import AuditsFigure, AxesPair, DrawnRun
from fedpriv.report.figures.looks import GREY
from fedpriv.report.render import escape_figure
from fedpriv.report.results import Results, rows_of

LINE, MARGIN = 0.15, 0.5  # inches of a line, and of the axis below all of them
TIGHTER = ("rdp", "pld")
LEAST, MOST = 0.01, 1e3  # of the axis, unless an ε is beyond: a bound that is stands at its end
WIDE = 2000  # from its greatest to its least: an axis of more has powers of ten alone
REFUTED = "#fbe3d6"
POINT = {"linestyle": "none", "zorder": 3}
POINTS = {
    "stated": POINT | {"marker": "|", "markersize": 6, "mew": 1.4, "color": "black"},
    "tighter accountants": POINT | {"marker": "d", "markersize": 3.5, "mfc": "none", "color": GREY},
    "lower bound, not refuted": POINT | {"marker": "o", "markersize": 4, "color": "C0"},
    "lower bound, refutes it": POINT | {"marker": "s", "markersize": 4, "color": "C1"},
    "no ε holds": POINT | {"marker": ">", "markersize": 6, "color": "C1"},
}
OWNER_WORDS = {
    "client": "client level",
    "instance": "example level",
    "example": "example level",
    "label": "",
    "bayesian": "Bayesian",
    "hoelder": "Hölder",
    "panel": "followed clients",
    "remove_sum": "of the sum",
    "remove_mean": "of the mean",
    "pld": "PLD",
    "rdp": "RDP",
}


LEGEND = (
    "A line for every stated ε, below the run it is of, at the last round of the first seed, and its "
    "largest lower bound that is one for all neighbours (frequency is not). At the right: what the ε is "
    "said to be. Shaded, squares: no ε as small as the stated one holds. At the right end: no ε holds."
)


class BoundLine(NamedTuple):
    """An ε of a run, the largest lower bound under it, and tighter accounts of it; or a run's name alone."""

    name: str
    found: Finding | None = None
    tighter: Sequence[float] = ()


def draw_audits(axes: Axes, results: Results, declared: AuditsFigure, part: AxesPair) -> None:
    """Draw a line for each ε below the name of its run, from the largest lower bound to what is stated."""
    found = [(curve, lines_of(results, curve)) for curve in part.curves if results.has(curve.run)]
    shown = [line for curve, under in found if under for line in (BoundLine(curve.label), *under)][::-1]
    if not shown:
        return
    stated = [line.found.epsilon for line in shown if line.found]
    most = 10.0 ** ceil(log10(max(MOST, *stated, *(each for line in shown for each in line.tighter))))
    bounds = [line.found.lower_bound for line in shown if line.found]
    for place, (_, one, tighter) in enumerate(shown):
        if not one:
            continue
        bound = float(np.clip(one.lower_bound, LEAST, most))
        axes.plot([bound, one.epsilon], [place, place], "-", color="#b0b0b0", marker="", linewidth=0.8)
        kind = "lower bound, refutes it" if one.refuted else "lower bound, not refuted"
        kind = "no ε holds" if np.isinf(one.lower_bound) else kind
        if one.refuted:
            axes.axhspan(place - 0.5, place + 0.5, color=REFUTED, zorder=0, linewidth=0)
        points = {"stated": [one.epsilon], "tighter accountants": tighter, kind: [bound]}
        for label, values in points.items():
            if values:  # of nothing at all matplotlib does not know how large it is
                axes.plot(values, [place] * len(values), label=label, **POINTS[label])
        where = {"xy": (1.01, place), "xycoords": ("axes fraction", "data"), "va": "center"}
        axes.annotate(escape_figure(one.kind.partition(":")[0]), **where)
    axes.set(xlabel="ε (logarithmic)", xscale="log", ylim=(-0.6, len(shown) - 0.4))
    axes.set_yticks(range(len(shown)), [escape_figure(line.name) for line in shown])
    for text, line in zip(axes.get_yticklabels(), shown, strict=True):
        text.set_fontweight("normal" if line.found else "bold")
    ends = {LEAST: "≤ " * (min(bounds) < LEAST), most: "≥ " * (max(bounds) > most)}
    low, high = axes.get_xlim()
    axes.set_xlim(low, min(high, 1.5 * most))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < WIDE * low else (1,), numticks=12))
    number = FuncFormatter(lambda value, _: f"{ends.get(float(f'{value:g}'), '')}{value:g}")
    axes.xaxis.set_major_formatter(number)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", visible=False)


def lines_of(results: Results, curve: DrawnRun) -> list[BoundLine]:
    """Return a line for each ε of a run."""
    every = next(iter(results.findings(curve.run).values()), [])
    best: dict[str, Finding] = {}
    for one in every:
        if one.audit == "frequency" or not one.confidence:  # the ε of another statement; an estimate
            continue
        if one.about not in best or one.lower_bound > best[one.about].lower_bound:
            best[one.about] = one
    return [
        BoundLine(owner_text(about), one, tighter_epsilon(results, curve.run, one))
        for about, one in best.items()
    ]


def owner_text(about: str) -> str:
    """Owner of an ε and the way of counting, as readers say it."""
    unit, _, counted = about.removesuffix(")").partition(" (")
    told = " ".join(OWNER_WORDS.get(word, word) for word in counted.split())
    return f"{OWNER_WORDS.get(unit, unit)}, {told}" if told else OWNER_WORDS.get(unit, unit)


def tighter_epsilon(results: Results, run: str, one: Finding) -> list[float]:
    """Return ε of the same guarantee by the tighter accountants, at the last round of the first seed."""
    rows = rows_of(results.epsilons, run)
    rows = rows.loc[rows["accountant"].isin(TIGHTER)]
    last = rows.loc[(rows["round"] == rows["round"].max()) & (rows["seed"] == rows["seed"].min())]
    spends: list[Any] = list(last.itertuples())
    return [row.epsilon for row in spends if counting_text(row._replace(accountant="moments")) == one.about]
