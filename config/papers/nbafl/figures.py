"""Accuracy against ε/c, of that without noise: the shape of the document's table, which data do not set."""

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fedpriv.report.figures.looks import GREY, looks
from fedpriv.report.texts import escape_figure

APART = 1.03  # between the points of two series at the same place, as a ratio
PUBLISHED = (  # ε/c, accuracy (%)
    *((3.333, 11.73), (5, 24.82), (10, 41.71), (16.67, 54.85), (25, 67.98), (50, 80.58)),
    *((33.33, 74.8), (50, 80.39), (100, 80.58)),
)


def sweep(axes, results, curves):
    """Draw the mean of every run at its last round, its seeds, and what is published.

    Ours are relative to that without noise, published ones to the largest: none without noise is published.
    """
    if not results.has("none"):
        return
    without_noise = results.run("none").last()["value"].mean()
    curves = [curve for curve in curves if curve.run != "none"]
    labels = list(dict.fromkeys(curve.label for curve in curves))
    for number, (label, style) in enumerate(zip(labels, looks(labels), strict=True)):
        runs = [curve.run for curve in curves if curve.label == label and results.has(curve.run)]
        if not runs:
            continue
        schemes = [results.run(run).config["scheme"] for run in runs]
        places = np.array([float(scheme["epsilon"]) / float(scheme["constant"]) for scheme in schemes])
        places *= APART ** (number - (len(labels) - 1) / 2)  # so that none hides another
        accuracies = [100 * results.run(run).last()["value"] / without_noise for run in runs]
        style |= {"linestyle": "none"}
        means = [seeds.mean() for seeds in accuracies]
        axes.plot(places, means, **style, label=escape_figure(label), markersize=4)
        at = np.repeat(places, [len(seeds) for seeds in accuracies])
        axes.plot(at, pd.concat(accuracies), **style, markersize=2, alpha=0.4)
    if not axes.has_data():
        return
    style = {"color": GREY, "linewidth": 0.6, "markersize": 5, "mfc": "none", "mew": 0.8}
    places, published = np.transpose(sorted(PUBLISHED))
    axes.plot(places, 100 * published / published.max(), "o-", label="published", zorder=1, **style)
    axes.set(xlabel="ε/c", ylabel="Relative test accuracy (%)", xscale="log", ylim=(0, 107))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
