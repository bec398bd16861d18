"""Accuracy at the last round against a number of the config, on a logarithmic axis: a point a run."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fedpriv.report.declared_figures import SweepFigure, SweepPanel
from fedpriv.report.interval import interval
from fedpriv.report.ranking import config_value
from fedpriv.report.reading import at_end, present

GREY = "#707070"
POINTS = "Points: means over seeds at the last round, with 95 % intervals. Open circles: published."
APART = 1.03  # between the points of two series at the same place, as a ratio


def sweep(axes: Axes, frame: pd.DataFrame, panel: SweepPanel) -> None:
    """Draw a point a run, the points of a series joined, and the published ones, joined by a thin line."""
    for number, series in enumerate(panel.series):
        runs = [run for run in series.runs if present(frame, run)]
        if not runs:
            continue
        places = [place(frame, panel, run) for run in runs]
        found = np.array([interval(100 * at_end(frame, run)["accuracy"]) for run in runs])
        order = np.argsort(places, kind="stable")
        # Beside each other where they would hide each other.
        shifted = np.array(places)[order] * APART ** (number - (len(panel.series) - 1) / 2)
        mean, low, high = found[order, 0], *found[order, 1:3].T
        ends = np.nan_to_num(np.abs([mean - low, high - mean]))
        axes.errorbar(
            shifted,
            mean,
            ends,
            fmt="o",
            color=f"C{number}",
            markersize=3.5,
            elinewidth=0.8,
            label=series.label,
        )
    if not axes.has_data():
        return
    if panel.published:
        marks = sorted((mark.at, 100 * mark.value) for mark in panel.published)
        style = {"color": GREY, "linewidth": 0.6, "marker": "o", "markersize": 5, "mfc": "none", "mew": 0.8}
        axes.plot(*zip(*marks, strict=True), label="published", zorder=1, **style)
    axes.set(xlabel=panel.axis, ylabel="Test accuracy (%)", xscale="log", ylim=(0, 102))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def place(frame: pd.DataFrame, panel: SweepPanel, run: str) -> float:
    """Return where a run stands on the horizontal axis."""
    config = frame.loc[frame["run"] == run, "config"].iloc[0]
    return float(config_value(config, panel.along)) / (
        float(config_value(config, panel.per)) if panel.per else 1
    )


def notes(frame: pd.DataFrame, declared: SweepFigure) -> list[str]:
    """Return what the points mean."""
    return [POINTS]
