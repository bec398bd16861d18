"""A panel of accuracies: a line a run with its interval, published values, rounds at which budgets end."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fedpriv.report.declared_figures import CurvePanel, CurvesFigure, Exhausted
from fedpriv.report.interval import interval
from fedpriv.report.reading import accuracies, present, spent

GREY = "#707070"
FEW = 3  # with fewer seeds the interval covers everything and says nothing
BANDS = "Bands: 95 % intervals over seeds; fewer than three seeds are drawn themselves, thin."
LABEL_GAP = 6.5  # percent points between two labels beside the axes, so that they do not overlap


def curves(axes: Axes, frame: pd.DataFrame, panel: CurvePanel) -> None:
    """Draw the panel; a run that was not run leaves its line out."""
    there = [line for line in panel.lines if present(frame, line.run)]
    if not there:
        return
    for number, line in enumerate(panel.lines):
        if line in there:
            read = accuracies(frame, line.run, drawn=panel.measure == "drawn")
            seeds = 100 * read.pivot(index="round", columns="seed", values="test_accuracy")
            band(axes, seeds, label=line.label, color=f"C{number}")
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
    whose = "Accuracy of drawn clients (%)" if panel.measure == "drawn" else "Test accuracy (%)"
    axes.set(xlabel="Round", ylabel=whose, xlim=(0, last), ylim=(0, 102))


def band(axes: Axes, seeds: pd.DataFrame, **style: Any) -> None:
    """Draw the mean of percents over seeds, a column each, against round, and its interval as a band.

    Few seeds are drawn themselves.
    """
    places = seeds.index.to_numpy()
    found = np.array([interval(seeds.loc[place].dropna()) for place in places])
    (line,) = axes.plot(places, found[:, 0], **style)
    if seeds.shape[1] >= FEW:
        low, high = np.clip(found[:, 1:3], 0, 100).T
        axes.fill_between(places, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        return
    for seed in seeds if seeds.shape[1] > 1 else ():
        axes.plot(places, seeds[seed], color=line.get_color(), alpha=0.4, linewidth=0.6)


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


def notes(frame: pd.DataFrame, declared: CurvesFigure) -> list[str]:
    """Return what the bands and the thin lines mean."""
    marks = (
        ("Dashed: published.", any(panel.published for panel in declared.panels)),
        ("Dotted: the budget is spent.", any(panel.budgets for panel in declared.panels)),
    )
    return [" ".join([BANDS, *(words for words, there in marks if there)])]
