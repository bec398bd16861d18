"""Figures of points: an attacker's guess at an ε, the loss of a bit at a γ, accuracy at a setting."""

from math import ceil

import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from fedpriv.account.randomized_response import divergence as rho
from fedpriv.account.spend import attacker_accuracy
from fedpriv.paper.figures import AttackerFigure, DivergenceFigure, Part, SweepFigure
from fedpriv.report import numbers
from fedpriv.report.figures.rounds import GREY
from fedpriv.report.reading import epsilon_at, last_reading, status_of
from fedpriv.report.results import Results, rows_of
from fedpriv.report.settings import config_of
from fedpriv.report.texts import escape_figure

FURTHEST = 10.0  # the axis of ε ends there, or after the largest ε drawn
TICKS = (0.5, *(1 - 10.0**-nines for nines in range(1, 16)))
MOST = 8  # of them that are named
ORDER = 2  # α
GAMMAS = np.linspace(0, 0.499, 500)
APART = 1.03  # between the points of two series at the same place, as a ratio
LEGENDS = {
    "attacker": "Line: eq. (1). Open circles: published. Filled: our runs at their end, means over seeds.",
    "divergence": (
        "Curve: Lemma 3. Points: the γ of runs. ρ is the divergence of one bit in one round; T rounds of d "
        "bits have T · d times as much, whatever the paper composes (docs/accounting.md)."
    ),
    "sweep": "Points: means over seeds at the last round; small: each seed. Open circles: published.",
}


def attacker(axes: Axes, results: Results, declared: AttackerFigure, part: Part) -> None:
    """Draw P = 1/(1 + e^−ε), published points and the ε that runs had spent at the end, means over seeds.

    Federated Learning with Bayesian Differential Privacy, eq. (1): the accuracy of a membership guess.
    The axis of the accuracy is logit: it spreads the values near certainty, where budgets differ.
    """
    ours = {curve: float(epsilon_at(results, curve.run, curve.counted).mean()) for curve in part.curves}
    drawn = [epsilon for epsilon in ours.values() if np.isfinite(epsilon)]
    drawn += [guess.epsilon for guess in declared.published]
    last = max([FURTHEST, *(ceil(1.02 * epsilon) for epsilon in drawn)])
    epsilons = np.linspace(0, last, 200)
    axes.plot(epsilons, attacker_accuracy(epsilons), "-", color="black", linewidth=0.8, marker="", zorder=1)
    for guess in declared.published:
        axes.plot(guess.epsilon, guess.accuracy, "o", markersize=6, mfc="none", mec=GREY, mew=0.8, zorder=2)
        # Beside the line, where there is room.
        right = guess.epsilon < last / 3
        axes.annotate(
            escape_figure(guess.label),
            (guess.epsilon, guess.accuracy),
            xytext=(6, -7) if right else (-6, 3),
            textcoords="offset points",
            ha="left" if right else "right",
            color=GREY,
        )
    cycle = list(rcParams["axes.prop_cycle"])
    for number, (curve, epsilon) in enumerate(ours.items()):
        if np.isfinite(epsilon):
            accuracy = numbers.attacker(float(attacker_accuracy(epsilon)))
            shown = numbers.epsilon([epsilon], status_of(results, curve.run, curve.counted))
            axes.plot(
                epsilon,
                attacker_accuracy(epsilon),
                **cycle[number % len(cycle)] | {"linestyle": "none"},
                label=escape_figure(f"{curve.label}: ε = {shown}, {accuracy} %"),
                markersize=6 - 0.5 * number,  # smaller ones stand within larger ones at the same place
                zorder=3,
            )
    highest = float(attacker_accuracy(last))
    there = [tick for tick in TICKS if tick <= highest]
    axes.set(xlabel="ε", ylabel="Guess right (%), logit", yscale="logit", xlim=(0, last))
    axes.set_ylim(0.48, 1 - (1 - highest) / 2)
    axes.yaxis.set_major_locator(FixedLocator(there[:: -(-len(there) // MOST)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda accuracy, _: f"{100 * accuracy:.12g}"))


def divergence(axes: Axes, results: Results, declared: DivergenceFigure, part: Part) -> None:
    """Draw ρ(2) for γ in [0, 0.5), and a labelled point for every γ that runs have below 0.5.

    Binary Federated Learning with Client-Level Differential Privacy, Figure 2.
    """
    cycle = list(rcParams["axes.prop_cycle"])
    heights = [float(rho(gamma, ORDER)) for gamma in GAMMAS]
    axes.plot(GAMMAS, heights, "-", color="black", linewidth=0.8, marker="", zorder=1)
    # The γ of the runs that flip bits, each once.
    found = rows_of(results.rounds, *(curve.run for curve in part.curves))["gamma"].unique()
    for number, gamma in enumerate(np.sort(found[found < 0.5])):
        height = float(rho(gamma, ORDER))
        axes.plot(
            gamma,
            height,
            **cycle[number % len(cycle)] | {"linestyle": "none"},
            label=f"γ = {gamma:g}: {height:.3g}",
            markersize=4,
            zorder=3,
            clip_on=False,
        )
    axes.set(xlabel="γ", ylabel=f"ρ({ORDER})", xlim=(-0.01, 0.5), ylim=(-0.1, None))


def sweep(axes: Axes, results: Results, declared: SweepFigure, part: Part) -> None:
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
