"""A quantity of runs against round: a line a run or a way of counting, published values, ends of budgets."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from fedpriv.paper.figures import NORMS, Curve, Part, RoundsFigure
from fedpriv.report.numbers import delta, interval
from fedpriv.report.reading import accuracies, growth, norms, present, spent
from fedpriv.report.tables.long import meaning
from fedpriv.report.texts import for_figure

AXES = {
    "accuracy": "Test accuracy (%)",
    "drawn_accuracy": "Accuracy of\ndrawn clients (%)",
    "epsilon": "ε",
    "growth": "εₜ − ε₁",
    "norms": "Norm",
}
PERCENT = ("accuracy", "drawn_accuracy")
DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))  # of the ways of counting a run, by colour
# Where all lines are of one run: who counts, in the order of the colours and markers of the style; and how
# markers are filled. Those filled alike measure against the same sensitivity, so they may be compared.
COUNTED = ("moments exact", "rdp", "pld rdp_tight", "product theorem", "hoelder", "panel")
FILLS = {"none": "C remove_sum bit", "full": "2C remove_mean bits", "left": "pairwise all"}
GREY = "#606060"
GUARANTEE = "guarantee"
FEW = 3  # with fewer seeds the interval covers everything and says nothing
GAP = 0.09  # between two labels beside the axes, of their height, so that they do not overlap


def draw(axes: Axes, frame: pd.DataFrame, declared: RoundsFigure, part: Part) -> None:
    """Draw the panel; what was not run or not counted leaves its line out."""
    for number, curve in enumerate(part.curves):
        if len(seeds := read(frame, curve, declared.quantity)):
            every = max(1, len(seeds) // 7)
            start = number * every // len(part.curves)  # so that markers do not hide each other
            label = curve.label
            what = status_of(frame, curve) if declared.quantity == "epsilon" else GUARANTEE
            label += f" ({what})" * (what != GUARANTEE)
            style = look(declared, number, what) | {"label": for_figure(label), "markevery": (start, every)}
            band(axes, seeds, extremes=declared.quantity not in PERCENT, **style)
    if not axes.has_data():
        return
    axes.set(xlabel="Round", ylabel=AXES[declared.quantity], xlim=(0, 1.02 * axes.dataLim.xmax))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=(1, 2, 5, 10)))
    if declared.quantity in PERCENT:
        axes.set_ylim(0, 102)
    else:
        logarithmic(axes)
    across(axes, part, 100 if declared.quantity in PERCENT else 1)
    down(axes, frame, part)


def read(frame: pd.DataFrame, curve: Curve, quantity: str) -> pd.DataFrame:
    """Return a quantity, accuracies in percent: a row a round, a column a seed."""
    if not present(frame, curve.run):
        return pd.DataFrame()
    if curve.norm:
        return norms(frame, curve.run, curve.norm)
    if curve.spend is None:
        found = accuracies(frame, curve.run, drawn=quantity == "drawn_accuracy")
        return 100 * found.pivot(index="round", columns="seed", values="test_accuracy")
    if quantity == "growth":
        # On a logarithmic axis there is no place for what did not grow yet.
        grown = growth(frame, curve.run, curve.spend).iloc[1:]
        return grown.where(grown > 0).dropna(how="all")
    return spent(frame, curve.run, curve.spend).pivot(index="round", columns="seed", values="epsilon")


def status_of(frame: pd.DataFrame, curve: Curve) -> str:
    """Return what the ε of a curve are, without the assumption that fails."""
    told = meaning(spent(frame, curve.run, curve.counted)).get("epsilon_status", GUARANTEE)
    return told.partition(":")[0]


def look(declared: RoundsFigure, number: int, what: str = "") -> dict[str, Any]:
    """Return how a curve is drawn: by its run and how that is counted, or by who counts where one run is.

    Then a guarantee is solid, and what is none dashed.
    """
    cycle = list(rcParams["axes.prop_cycle"])
    ways = list(declared.spends.values())
    count = len(NORMS) if declared.quantity == "norms" else max(1, len(ways))
    line, way = divmod(number, count)
    if declared.quantity != "epsilon" or len(declared.lines) > 1:
        return cycle[line] | ({"linestyle": DASHES[way % len(DASHES)]} if count > 1 else {})
    spend = ways[way]
    place = [(spend.composition or spend.accountant) in words.split() for words in COUNTED].index(True)
    against = spend.distance or spend.sensitivity
    fill = next(fill for fill, words in FILLS.items() if against in words.split())
    return cycle[place] | {"fillstyle": fill, "linestyle": "-" if (what or spend.kind) == GUARANTEE else "--"}


def band(axes: Axes, seeds: pd.DataFrame, extremes: bool = False, **style: Any) -> None:
    """Draw the mean over seeds, a column each, against round, and its interval as a band.

    The interval of an ε may reach below zero: it has its `extremes` instead. Few seeds are drawn themselves.
    """
    rounds = seeds.index.to_numpy()
    if extremes:
        found = seeds.agg(["mean", "min", "max"], axis="columns").to_numpy()
    else:
        found = np.array([interval(seeds.loc[round].dropna())[:3] for round in rounds])
        found[:, 1:] = found[:, 1:].clip(0, 100)
    (line,) = axes.plot(rounds, found[:, 0], **style)
    if seeds.shape[1] >= FEW:
        axes.fill_between(rounds, found[:, 1], found[:, 2], color=line.get_color(), alpha=0.2, linewidth=0)
    elif seeds.shape[1] > 1:
        axes.plot(rounds, seeds, "-", color=line.get_color(), alpha=0.4, linewidth=0.5, marker="")


def logarithmic(axes: Axes) -> None:
    """Let an ε stand on a logarithmic axis with plain numbers."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    # Over more than two decades there is no place for more than the powers of ten.
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    plain = FuncFormatter(lambda value, _: f"{value:g}" if 1e-3 <= value < 1e5 else delta(value))
    axes.yaxis.set_major_formatter(plain)


def across(axes: Axes, part: Part, scale: float) -> None:
    """Draw published values as lines across, labelled beside the axes."""
    values = [scale * value for value in part.published.values()]
    to_share = axes.transData - axes.transAxes
    places = apart([float(to_share.transform((0, value))[1]) for value in values], GAP)
    for label, value, place in zip(part.published, values, places, strict=True):
        axes.axhline(value, color=GREY, linewidth=0.6, linestyle=(0, (5, 3)), zorder=1)
        where = {"xy": (1.015, place), "xycoords": "axes fraction", "va": "center"}
        axes.annotate(for_figure(f"{label} {value:.3g}"), **where, color=GREY)


def down(axes: Axes, frame: pd.DataFrame, part: Part) -> None:
    """Draw the rounds at which budgets end as lines down, labelled near the axis."""
    ends = [(curve, epsilon, exhausted(frame, curve, epsilon)) for curve, epsilon in part.budgets]
    there = [(curve, epsilon, end) for curve, epsilon, end in ends if end is not None]
    for number, (curve, epsilon, end) in enumerate(there):
        left = end > axes.get_xlim()[1] / 2
        axes.axvline(end, color="black", linewidth=0.7, linestyle=":", zorder=1)
        axes.annotate(
            for_figure(f"{curve.label}: ε = {epsilon:g}"),
            (end, 0.03 + 0.1 * number),
            xycoords=("data", "axes fraction"),
            xytext=(-2 if left else 2, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )


def exhausted(frame: pd.DataFrame, curve: Curve, budget: float) -> float | None:
    """Return the mean over seeds of the last round within the budget; None if a seed never exceeds it."""
    rows = spent(frame, curve.run, curve.counted)
    over = rows.loc[rows["epsilon"] > budget].groupby("seed").first()
    if len(over) < rows.loc[:, "seed"].nunique() or rows.empty:
        return None
    return float(over.loc[:, "round"].mean()) - 1


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights for labels, at least `gap` apart, in the order given; the highest moves least."""
    placed = dict.fromkeys(range(len(heights)), np.inf)
    ceiling = np.inf
    for place in np.argsort(heights)[::-1]:
        placed[int(place)] = ceiling = min(heights[place], ceiling - gap)
    return list(placed.values())


def caption(declared: RoundsFigure) -> str:
    """Return what the lines, bands and marks mean."""
    bands = "95 % intervals" if declared.quantity in PERCENT else "from the least to the greatest"
    said = [f"Lines: means over seeds; bands: {bands}; two seeds are drawn themselves, thin."]
    if declared.quantity == "growth":
        said.append("ε₁, what the first round cost, is subtracted from ε; the first round is left out.")
    if declared.quantity == "norms":
        said.append("Updates: their median norm, before they are bounded. Noise: std·√d, on their mean.")
    if declared.quantity == "epsilon" and len(declared.lines) == 1:
        said.append("Solid: a guarantee; dashed: none. Markers filled alike: the same sensitivity.")
    if any(panel.published for panel in declared.panels.values()):
        said.append("Grey, dashed: published.")
    if declared.budgets:
        said.append("Dotted: the budget is spent.")
    return " ".join(said)
