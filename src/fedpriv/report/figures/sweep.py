"""Accuracy at the last round against a number of the config, on a logarithmic axis: a point a run."""

import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fedpriv.paper.figures import Part, SweepFigure
from fedpriv.report.figures.rounds import GREY
from fedpriv.report.reading import last_reading
from fedpriv.report.results import Results
from fedpriv.report.settings import config_of
from fedpriv.report.texts import escape_figure

APART = 1.03  # between the points of two series at the same place, as a ratio


def draw(axes: Axes, results: Results, declared: SweepFigure, part: Part) -> None:
    """Draw the mean of every run, its seeds, and the published points, joined by a thin line."""
    cycle = list(rcParams["axes.prop_cycle"])
    for number, (label, wanted) in enumerate(declared.series.items()):
        runs = [run for run in wanted if results.has(run)]
        if not runs:
            continue
        places = np.array([place(results, declared, run) for run in runs])
        found = [100 * last_reading(results, run)["accuracy"] for run in runs]
        # Beside each other where they would hide each other.
        places *= APART ** (number - (len(declared.series) - 1) / 2)
        style = cycle[number] | {"linestyle": "none"}
        axes.plot(
            places, [seeds.mean() for seeds in found], **style, label=escape_figure(label), markersize=4
        )
        seeds = pd.concat(found)
        axes.plot(np.repeat(places, list(map(len, found))), seeds, **style, markersize=2, alpha=0.4)
    if not axes.has_data():
        return
    if declared.published:
        marks = sorted((mark.at, 100 * mark.value) for mark in declared.published)
        at, heights = zip(*marks, strict=True)
        style = {"color": GREY, "linewidth": 0.6, "markersize": 5, "mfc": "none", "mew": 0.8}
        axes.plot(at, heights, "o-", label="published", zorder=1, **style)
    axes.set(xlabel=escape_figure(declared.axis), ylabel="Test accuracy (%)", xscale="log", ylim=(0, 102))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def place(results: Results, declared: SweepFigure, run: str) -> float:
    """Return where a run stands on the horizontal axis."""
    config = pd.json_normalize(config_of(results, run)).iloc[0]
    return float(config[declared.along]) / (float(config[declared.per]) if declared.per else 1)


def legend(declared: SweepFigure) -> str:
    """Return what the points mean."""
    return "Points: means over seeds at the last round; small: each seed. Open circles: published."
