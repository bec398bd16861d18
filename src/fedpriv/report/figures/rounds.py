"""A quantity of runs against round: a line a run or a way of counting, published values, ends of budgets."""

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter

from fedpriv.account.spend import marked
from fedpriv.paper.figures import NORMS, AxesPair, DrawnRun, RoundsFigure
from fedpriv.report.numbers import delta, unstable
from fedpriv.report.reading import accuracies, growth, meaning, metric, norms, spent, status_of, within
from fedpriv.report.render import escape_figure
from fedpriv.report.results import Results

AXES = {
    "accuracy": "Test accuracy (%)",
    "drawn_accuracy": "Test accuracy (%)",
    "epsilon": "{unit} ε",
    "growth": "{unit} εₜ − ε₁",
    "norms": "L2 norm",
    "perplexity": "Perplexity",
    "auroc": "AUROC (%)",
    "f1": "F1 (%)",
    "error": "Mean absolute error",
}
UNITS = {"client": "Client-level", "instance": "Example-level"}
PERCENT = ("accuracy", "drawn_accuracy")
METRICS = {"perplexity": 1, "auroc": 100, "f1": 100, "error": 1}  # quantity -> what it is multiplied by
DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))  # of the ways of counting a run, by colour
GREY = "#606060"
WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75}  # behind words on lines
GUARANTEE = "guarantee"
FEW = 3  # seeds, and fewer, are drawn themselves
MARKS = ("read off by the table", "published")
WIDE = 18  # letters of a line of a label at the end of a curve
LINE, BELOW = 0.125, 0.45  # inches: of a line of a label, and what is above and below the axes
FINER = (2, 5, 10, 20)  # points between the ticks of an axis of accuracies that need not begin at 0


def draw(axes: Axes, results: Results, declared: RoundsFigure, part: AxesPair) -> None:
    """Draw the panel; what was not run or not counted leaves its line out."""
    ends: list[float] = []
    for number, curve in enumerate(part.curves):
        if len(seeds := read(results, curve, declared.quantity)):
            every = max(1, len(seeds) // 7)
            start = number * every // len(part.curves)  # so that markers do not hide each other
            label = curve.label
            what = kind_of(results, curve) if declared.quantity == "epsilon" else GUARANTEE
            label += f" ({what})" * (what != GUARANTEE)
            style = look(declared, number, what) | {
                "label": escape_figure(label),
                "markevery": (start, every),
            }
            band(axes, seeds, **style)
            ends.append(float(seeds.iloc[-1].mean()))
    if not axes.has_data():
        return
    axes.set(xlabel="Round", ylabel=named(results, declared, part), xlim=(0, 1.02 * axes.dataLim.xmax))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=(1, 2, 5, 10)))
    if declared.quantity in PERCENT:
        zoom(axes, [*ends, *marks(axes, results, part, max(ends))])
    elif declared.quantity not in METRICS:
        logarithmic(axes)
        across(axes, part)


def named(results: Results, declared: RoundsFigure, part: AxesPair) -> str:
    """Return the name of the vertical axis; of an ε with the unit that it protects."""
    found = [meaning(spent(results, curve.run, curve.counted)) for curve in part.curves if curve.spend]
    units = sorted({str(one["unit"]) for one in found if one})
    unit = " and ".join(UNITS.get(one, one) for one in units)
    return AXES[declared.quantity].format(unit=unit).strip()


def deltas(results: Results, part: AxesPair) -> str:
    """Return the δ of the ε that a panel draws, if they have one."""
    found = {
        one
        for curve in part.curves
        if curve.spend
        for one in spent(results, curve.run, curve.counted)["delta"].unique()
    }
    return f"δ = {delta(found.pop())}" if len(found) == 1 else ""


def zoom(axes: Axes, shown: Sequence[float]) -> None:
    """Let an axis of accuracies begin below the least that is to be seen, not at 0."""
    least = min(shown)
    step = next(step for step in FINER if step * 5 >= 100 - least or step == FINER[-1])
    low = max(0.0, step * np.floor((least - 0.2 * step) / step))
    high = min(100.0, step * np.ceil((max(shown) + 0.4 * step) / step))
    axes.set_ylim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.yaxis.set_major_locator(MultipleLocator(step))


def marks(axes: Axes, results: Results, part: AxesPair, best: float) -> Iterator[float]:
    """Mark what tables read off, published accuracies, and the largest class; yield what is to be seen."""
    last = axes.dataLim.xmax
    places = dict.fromkeys(part.published, last)
    for number, (curve, epsilon) in enumerate(part.budgets):
        found = within(results, curve.run, (curve.counted, epsilon))
        if found.empty or not np.isfinite(found.to_numpy(dtype=float)).all():
            continue
        at, height = float(found["round"].mean()), 100 * float(found["accuracy"].mean())
        axes.plot(at, height, "o", color="black", markersize=4, zorder=5, label=MARKS[0])
        if curve.label in places:
            places[curve.label] = at
        spent_at_most = marked(f"{epsilon:g}", status_of(results, curve.run, curve.counted))
        said = f"{curve.label}, ε = {spent_at_most}"
        if unstable(results, curve.run, found):  # an axis that shows it would show nothing else
            where = {"xy": (at + last / 60, 0.04 + 0.09 * number), "xycoords": ("data", "axes fraction")}
            axes.annotate(escape_figure(f"{said}: unstable"), **where, bbox=WHITE, zorder=7)
            continue
        label(axes, said, at, height, last, number % 2 == 0)
        yield height
    for name, value in part.published.items():
        style = {"marker": "o", "markersize": 5, "mfc": "none", "mec": "black", "linestyle": "none"}
        axes.plot(places[name], 100 * value, label=MARKS[1], zorder=6, clip_on=False, **style)
        yield 100 * value
    first = next(curve.run for curve in part.curves if results.has(curve.run))
    if (largest := 100 * results.fact(first, "majority")) > best / 3:
        axes.axhline(largest, color=GREY, linewidth=0.7, linestyle=(0, (5, 3)), zorder=1)
        where = {"xytext": (0, -2), "textcoords": "offset points", "ha": "right", "va": "top"}
        axes.annotate("largest class", (last, largest), **where, color=GREY)
        yield largest


def label(axes: Axes, text: str, at: float, height: float, last: float, below: bool) -> None:
    """Write what a mark is below or above it, towards the middle of the axes."""
    right = at > last / 2
    where = {"xytext": (-3 if right else 3, -4 if below else 4), "textcoords": "offset points"}
    where |= {"ha": "right" if right else "left", "va": "top" if below else "bottom"}
    axes.annotate(escape_figure(text), (at, height), **where, bbox=WHITE, zorder=7)


def beside(axes: Axes, height: float) -> float:
    """Write what each curve is at its end, in its colour, at the right of the axes.

    Return the least height of a figure in which all of it has place, if `height` is less; inches.
    """
    curves = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    curves = [line for line in curves if line.get_label() not in MARKS]
    to_share = axes.transData - axes.transAxes
    ends = [float(to_share.transform((0, np.asarray(line.get_ydata())[-1]))[1]) for line in curves]
    texts = [fill(str(line.get_label()), WIDE, break_long_words=False) for line in curves]
    height = max(height, BELOW + LINE * sum(text.count("\n") + 1 for text in texts))
    places = apart([min(max(end, 0), 1) for end in ends], texts, LINE / (height - BELOW))
    for line, text, place in zip(curves, texts, places, strict=True):
        where = {"xy": (1.02, place), "xycoords": "axes fraction", "va": "center"}
        axes.annotate(text, **where, color=line.get_color())
    return height


def read(results: Results, curve: DrawnRun, quantity: str) -> pd.DataFrame:
    """Return a quantity, accuracies and shares in percent: a row a round, a column a seed."""
    if not results.has(curve.run):
        return pd.DataFrame()
    if curve.norm:
        return norms(results, curve.run, curve.norm)
    if quantity in METRICS:
        return METRICS[quantity] * metric(results, curve.run, f"test_{quantity}")
    if curve.spend is None:
        found = accuracies(results, curve.run, drawn=quantity == "drawn_accuracy")
        return 100 * found.pivot(index="round", columns="seed", values="test_accuracy")
    if quantity == "growth":
        # On a logarithmic axis there is no place for what did not grow yet.
        grown = growth(results, curve.run, curve.spend).iloc[1:]
        return grown.where(grown > 0).dropna(how="all")
    return spent(results, curve.run, curve.spend).pivot(index="round", columns="seed", values="epsilon")


def kind_of(results: Results, curve: DrawnRun) -> str:
    """Return what the ε of a curve are, without the assumption that fails."""
    return (status_of(results, curve.run, curve.counted) or GUARANTEE).partition(":")[0]


def look(declared: RoundsFigure, number: int, what: str = "") -> dict[str, Any]:
    """Return how a curve is drawn: by its run and how that is counted.

    Where all are of one run a guarantee is solid, and what is none dashed.
    """
    cycle = list(rcParams["axes.prop_cycle"])
    ways = list(declared.spends.values())
    count = len(NORMS) if declared.quantity == "norms" else max(1, len(ways))
    line, way = divmod(number, count)
    if declared.quantity != "epsilon" or len(declared.lines) > 1:
        return cycle[line] | ({"linestyle": DASHES[way % len(DASHES)]} if count > 1 else {})
    solid = (what or ways[way].kind) == GUARANTEE
    style = {"fillstyle": "full" if way < len(cycle) else "none", "linestyle": "-" if solid else "--"}
    return cycle[way % len(cycle)] | style


def band(axes: Axes, seeds: pd.DataFrame, **style: Any) -> None:
    """Draw the mean over seeds, a column each, against round, and how far seeds are from it.

    Few seeds are drawn themselves; of more there is a band from the least to the greatest.
    """
    rounds = seeds.index.to_numpy()
    (line,) = axes.plot(rounds, seeds.mean(axis="columns"), **style)
    if seeds.shape[1] > FEW:
        low, high = seeds.min(axis="columns"), seeds.max(axis="columns")
        axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    elif seeds.shape[1] > 1:
        axes.plot(rounds, seeds, "-", color=line.get_color(), alpha=0.4, linewidth=0.5, marker="")


def logarithmic(axes: Axes) -> None:
    """Let an ε stand on a logarithmic axis with plain numbers."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    # Over more than two decades there is no place for more than the powers of ten.
    subs = (1, 2, 3, 4, 6, 8) if high < 12 * low else (1, 2, 5) if high < 100 * low else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_minor_formatter(NullFormatter())
    plain = FuncFormatter(lambda value, _: f"{value:g}" if 1e-3 <= value < 1e5 else delta(value))
    axes.yaxis.set_major_formatter(plain)


def across(axes: Axes, part: AxesPair) -> None:
    """Draw budgets as lines across, labelled within the axes."""
    for label, value in part.published.items():
        axes.axhline(value, color=GREY, linewidth=0.7, linestyle=(0, (5, 3)), zorder=1)
        where = {"xy": (0.98, value), "xycoords": ("axes fraction", "data"), "ha": "right"}
        axes.annotate(
            escape_figure(f"{label} {value:g}"),
            xytext=(0, 1.5),
            textcoords="offset points",
            va="bottom",
            bbox=WHITE,
            color=GREY,
            **where,
        )


def apart(heights: Sequence[float], texts: Sequence[str], line: float) -> list[float]:
    """Return heights for labels that do not overlap, in the order given; `line` is that of a line of one."""
    placed = dict.fromkeys(range(len(heights)), 0.0)
    ceiling = np.inf
    for place in np.argsort(heights, kind="stable")[::-1]:
        half = line * (texts[int(place)].count("\n") + 1) / 2
        placed[int(place)] = middle = min(heights[place], ceiling - half)
        ceiling = middle - half
    below = max(0.0, -min([ceiling, 0.0]))  # what would stand under the axes is moved up with all above it
    return [height + below for height in placed.values()]


def legend(declared: RoundsFigure) -> str:
    """Return what the lines, bands and marks mean."""
    said = [
        "Lines: means over seeds. Up to three seeds are drawn themselves, thin; of more the band is from "
        "the least to the greatest."
    ]
    if declared.quantity == "drawn_accuracy":
        said.append("Accuracy: the mean of clients' own weights, of clients drawn with replacement.")
    if declared.quantity == "growth":
        said.append("ε₁, what the first round cost, is subtracted from ε; the first round is left out.")
    if declared.quantity == "norms":
        said.append("Updates: their median norm, before they are bounded. Noise: std·√d, on their mean.")
    if declared.quantity == "epsilon" and len(declared.lines) == 1:
        said.append("Solid: a guarantee; dashed: none.")
    if declared.budgets:
        said.append("Dots: the last evaluated round within the ε at the dot, which the table reads off.")
    if any(panel.published for panel in declared.panels.values()):
        budget = declared.quantity not in PERCENT
        said.append("Grey, dashed: the budget." if budget else "Open circles: published.")
    if declared.quantity in PERCENT:
        said.append("The axis need not begin at 0. Grey, dashed: the share of the largest class.")
    return " ".join(said)
