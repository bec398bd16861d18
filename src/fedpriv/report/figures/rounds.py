"""A quantity of runs against round: a line a run or a way of counting, published values, ends of budgets."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter

from fedpriv.account.statement import mark_epsilon
from fedpriv.paper.figures import AxesPair, DrawnRun, RoundsFigure
from fedpriv.report.figures.looks import GREY, Label, color_of, curve_looks
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import LEVELS
from fedpriv.report.numbers import delta
from fedpriv.report.results import Results, by_round
from fedpriv.report.stability import instability
from fedpriv.report.texts import escape_figure

PERCENT = ("accuracy", "drawn_accuracy")
LOGARITHMIC = ("epsilon", "growth")
GUARANTEE = "guarantee"
FEW = 3  # seeds, and fewer, are drawn themselves
MARKS = ("read off by the table", "published")
FINER = (2, 5, 10, 20)  # points between the ticks of an axis of accuracies that need not begin at 0


def draw_rounds(axes: Axes, results: Results, declared: RoundsFigure, part: AxesPair) -> list[Label]:
    """Draw the panel and return what is written into it; what was not run or not counted is left out."""
    ends: list[float] = []
    for number, (curve, look) in enumerate(zip(part.curves, curve_looks(declared), strict=True)):
        if len(seeds := quantity_by_seed(results, curve, declared.quantity)):
            every = max(1, len(seeds) // 7)
            start = number * every // len(part.curves)  # so that markers do not hide each other
            look["label"] = escape_figure(curve.label)
            if declared.quantity == "epsilon":
                look |= epsilon_look(results, curve, alone=len(declared.lines) == 1)
            band(axes, seeds, **look, markevery=(start, every))
            ends.append(float(seeds.iloc[-1].mean()))
    if not axes.has_data():
        return []
    name_axes(axes, results, declared, part)
    if declared.quantity in PERCENT:
        return marks(axes, results, part, ends)
    if declared.quantity in LOGARITHMIC:
        logarithmic(axes)
        return [budget_line(axes, results, curve, epsilon) for curve, epsilon in part.budgets]
    factor = METRICS[declared.quantity].factor
    printed = {label: factor * value for label, value in part.published.items()}
    return [line_across(axes, f"{label}, {value:g}", value) for label, value in printed.items()]


def epsilon_look(results: Results, curve: DrawnRun, alone: bool) -> dict[str, Any]:
    """Return the label of a curve of an ε, which says what is no guarantee, and of a run alone the dash.

    The label leaves out which assumption fails.
    """
    status = results.run(curve.run).status(curve.counted).partition(":")[0] or GUARANTEE
    label = curve.label if status == GUARANTEE else f"{curve.label} ({status})"
    dash = {"linestyle": "-" if status == GUARANTEE else "--"} if alone else {}
    return dash | {"label": escape_figure(label)}


def name_axes(axes: Axes, results: Results, declared: RoundsFigure, part: AxesPair) -> None:
    """Let the vertical axis have the name of the quantity; of an ε with the unit that it protects."""
    selected = [(results.run(curve.run), curve.counted) for curve in part.curves if curve.selector]
    meanings = [meaning for run, selector in selected if (meaning := run.meaning(selector))]
    units = sorted({str(meaning["unit"]) for meaning in meanings})
    unit = " and ".join(LEVELS.get(unit, unit) for unit in units).capitalize()
    name = METRICS["accuracy" if declared.quantity in PERCENT else declared.quantity].axis
    axes.set(xlabel="Round", ylabel=name.format(unit=unit).strip(), xlim=(0, 1.02 * axes.dataLim.xmax))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=(1, 2, 5, 10)))


def delta_text(results: Results, part: AxesPair) -> str:
    """Return the δ of the ε that a panel draws, if they have one."""
    each = [results.run(curve.run).ledger(curve.selector)["delta"] for curve in part.curves if curve.selector]
    deltas = set().union(*each)
    return f"δ = {delta(deltas.pop())}" if len(deltas) == 1 else ""


def zoom(axes: Axes, seen: Sequence[float]) -> None:
    """Let an axis of accuracies begin below the least that is to be seen, not at 0."""
    least = min(seen)
    step = next(step for step in FINER if step * 5 >= 100 - least or step == FINER[-1])
    low = max(0.0, step * np.floor((least - 0.2 * step) / step))
    high = min(100.0, step * np.ceil((max(seen) + 0.4 * step) / step))
    axes.set_ylim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    axes.yaxis.set_major_locator(MultipleLocator(step))


def marks(axes: Axes, results: Results, part: AxesPair, ends: Sequence[float]) -> list[Label]:
    """Mark what tables read off, published accuracies, and the largest class; return what is written there.

    What is read off and what is published of the same has its colour. The axis begins below the least of all.
    """
    last = axes.dataLim.xmax
    rounds = dict.fromkeys(part.published, last)
    labels: list[Label] = []
    read_off: list[float] = []
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none"}
    for curve, epsilon, read in budget_readings(results, part):
        run = results.run(curve.run)
        at, height = float(read["round"].mean()), 100 * float(read["value"].mean())
        spent_at_most = mark_epsilon(f"{epsilon:g}", run.status(curve.counted))
        text, rounds[curve.label] = escape_figure(f"{curve.label}, ε = {spent_at_most}"), at
        if instability(run, read):  # an axis that shows it would show nothing else
            text, height = f"{text}:\nunstable", 100 * part.published.get(curve.label, 0.0)
        else:
            axes.plot(at, height, **dot, color=color_of(curve.label), markersize=4, zorder=5)
            read_off.append(height)
        labels.append(Label(text, at, height, color_of(curve.label)))
    for name, value in part.published.items():
        ring = dot | {"markersize": 5.5, "mfc": "none", "mec": color_of(name), "mew": 0.9}
        axes.plot(rounds[name], 100 * value, **ring, zorder=6, clip_on=False)
    for label, fill, there in zip(MARKS, ("black", "none"), (read_off, part.published), strict=True):
        if there:
            axes.plot([], [], **dot, mec="black", mfc=fill, label=label)
    seen = [*ends, *read_off, *(100 * value for value in part.published.values())]
    first = next(curve.run for curve in part.curves if results.has(curve.run))
    if (largest := 100 * results.run(first).fact("majority")) > max(ends) / 3:
        labels.append(line_across(axes, "largest class", largest))
        seen.append(largest)
    zoom(axes, seen)
    return labels


def budget_readings(results: Results, part: AxesPair) -> Iterator[tuple[DrawnRun, float, pd.DataFrame]]:
    """Yield whose ε ends in a panel, at what, and the reading there, where every seed has one."""
    for curve, epsilon in part.budgets:
        read = results.run(curve.run).within((curve.counted, epsilon))
        if not read.empty and np.isfinite(read.to_numpy(dtype=float)).all():
            yield curve, epsilon, read


def budget_line(axes: Axes, results: Results, curve: DrawnRun, epsilon: float) -> Label:
    """Draw the budget of an ε across the axes; return what is written along it."""
    status = results.run(curve.run).status(curve.counted)
    return line_across(axes, f"{curve.label}, ε = {mark_epsilon(f'{epsilon:g}', status)}", epsilon)


def line_across(axes: Axes, text: str, value: float) -> Label:
    """Draw a line across the axes; return what is written along it."""
    axes.axhline(value, color=GREY, linewidth=0.7, linestyle=(0, (5, 3)), marker="", zorder=1)
    return Label(escape_figure(text), None, value, GREY)


def quantity_by_seed(results: Results, curve: DrawnRun, quantity: str) -> pd.DataFrame:
    """Return a quantity as its axis has it, fractions in percent: a row a round, a column a seed."""
    if not results.has(curve.run):
        return pd.DataFrame()
    run = results.run(curve.run)
    if quantity == "drawn_accuracy":
        return 100 * by_round(run.evaluations(drawn=True))
    metric = METRICS[quantity]
    assert metric.by_round is not None  # of every quantity that a figure may be declared of
    return metric.factor * metric.by_round(run, curve.selector)


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
    """Let an ε stand on a logarithmic axis; all its numbers are plain, or all are powers of ten."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    # Over more than two decades there is no room for more than the powers of ten.
    subs = (1, 2, 3, 4, 6, 8) if high < 12 * low else (1, 2, 5) if high < 100 * low else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_minor_formatter(NullFormatter())

    def text(value: float, _: int) -> str:
        low, high = axes.get_ylim()
        return f"{value:g}" if low >= 1e-3 and high < 1e5 else delta(value)

    axes.yaxis.set_major_formatter(FuncFormatter(text))


LINES = (
    "Lines: means over seeds. Up to three seeds are drawn themselves, thin; of more the band is from the "
    "least to the greatest."
)
OF_QUANTITY = {
    "drawn_accuracy": "Accuracy: the mean of clients' own weights, of clients drawn with replacement.",
    "growth": "ε₁, what the first round cost, is subtracted from ε; the first round is left out.",
}
DOTS = "Dots: the last evaluated round within the ε at the dot, which the table reads off."
RINGS = "Open circles: published, in the colour of what they are compared with."


def legend_text(declared: RoundsFigure) -> str:
    """Meanings of the lines, bands and marks."""
    sentences = [LINES]
    if declared.quantity in OF_QUANTITY:
        sentences.append(OF_QUANTITY[declared.quantity])
    if declared.quantity == "epsilon" and len(declared.lines) == 1:
        sentences.append("Solid: a guarantee; dashed: none.")
    published = any(panel.published for panel in declared.panels.values())
    if declared.quantity in PERCENT:
        sentences += [DOTS] if declared.budgets else []
        sentences += [RINGS] if published else []
        own = "Every panel has an axis of its own, which" if len(declared.panels) > 1 else "The axis"
        sentences.append(f"{own} need not begin at 0. Grey, dashed: the share of the largest class.")
    elif published:
        sentences.append("Grey, dashed: published.")
    if declared.budgets and declared.quantity in LOGARITHMIC:
        sentences.append("Grey, dashed: the budget.")
    return " ".join(sentences)
