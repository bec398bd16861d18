"""A panel of accuracies: a line a run with its interval, published values, rounds at which budgets end."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fedpriv.report.declared import CurvePanel, Exhausted
from fedpriv.report.interval import interval
from fedpriv.report.reading import accuracies, present, spent

GREY = "#707070"
FEW = 3  # with fewer seeds the interval covers everything and says nothing
LABEL_GAP = 6.5  # percent points between two labels beside the axes, so that they do not overlap


def curves(axes: Axes, frame: pd.DataFrame, panel: CurvePanel) -> None:
    """Draw the panel; a run that was not run leaves its line out."""
    there = [line for line in panel.lines if present(frame, line.run)]
    if not there:
        return
    for number, line in enumerate(panel.lines):
        if line in there:
            band(axes, accuracies(frame, line.run), line.label, f"C{number}")
    last = int(accuracies(frame, there[0].run).loc[:, "round"].max())
    for mark, height in zip(
        panel.published, apart([100 * mark.value for mark in panel.published]), strict=True
    ):
        axes.axhline(100 * mark.value, color=GREY, linewidth=0.5, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"{mark.label} {100 * mark.value:.0f}",
            (1.015, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=6,
            color=GREY,
            annotation_clip=False,
        )
    ends = [(budget, exhausted(frame, budget)) for budget in panel.budgets if present(frame, budget.run)]
    for number, (budget, end) in enumerate((budget, end) for budget, end in ends if end is not None):
        axes.axvline(end, color="black", linewidth=0.7, linestyle=":", zorder=1)
        axes.annotate(
            f"{budget.label}: ε = {budget.epsilon:g}",
            (end, 0.03 + 0.08 * number),
            xycoords=("data", "axes fraction"),
            xytext=(-2, 0) if end > 0.4 * last else (2, 0),
            textcoords="offset points",
            ha="right" if end > 0.4 * last else "left",
            fontsize=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )
    axes.set(xlabel="Round", ylabel="Test accuracy (%)", xlim=(0, last), ylim=(0, 102))


def band(axes: Axes, read: pd.DataFrame, label: str, colour: str) -> None:
    """Draw the mean over seeds against round, and its interval as a band; few seeds are drawn themselves."""
    places = np.unique(read.loc[:, "round"])
    found = np.array([interval(100 * read.loc[read["round"] == place, "test_accuracy"]) for place in places])
    axes.plot(places, found[:, 0], label=label, color=colour)
    seeds = [seed for _, seed in read.groupby("seed")]
    if len(seeds) >= FEW:
        axes.fill_between(places, *np.clip(found[:, 1:3], 0, 100).T, color=colour, alpha=0.2, linewidth=0)
        return
    for seed in seeds:
        axes.plot(seed["round"], 100 * seed["test_accuracy"], color=colour, alpha=0.4, linewidth=0.6)


def exhausted(frame: pd.DataFrame, budget: Exhausted) -> float | None:
    """Return the mean over seeds of the last round within the budget; None if a seed never exceeds it."""
    rows = spent(frame, budget.run, budget.spend)
    over = rows.loc[rows["epsilon"] > budget.epsilon].groupby("seed").first()
    if len(over) < rows.loc[:, "seed"].nunique() or rows.empty:
        return None
    return float(over.loc[:, "round"].mean()) - 1


def apart(heights: list[float]) -> list[float]:
    """Return heights for labels, at least `LABEL_GAP` apart, in the order given; the highest moves least."""
    placed = dict.fromkeys(range(len(heights)), np.inf)
    ceiling = np.inf
    for place in np.argsort(heights)[::-1]:
        placed[int(place)] = ceiling = min(heights[place], ceiling - LABEL_GAP)
    return list(placed.values())
