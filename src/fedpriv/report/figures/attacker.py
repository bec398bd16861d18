"""What ε leaves to an attacker: the accuracy of a membership guess from a uniform prior.

Federated Learning with Bayesian Differential Privacy, eq. (1): P = 1/(1 + e^−ε).
"""

from math import ceil

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fedpriv.account.spend import attacker_accuracy
from fedpriv.paper.figures import AttackerFigure, Part
from fedpriv.report import numbers
from fedpriv.report.figures.rounds import GREY
from fedpriv.report.reading import epsilon_at
from fedpriv.report.results import Results
from fedpriv.report.texts import escape_figure

FURTHEST = 10.0  # the axis ends there, or after the largest ε drawn
TICKS = (0.5, *(1 - 10.0**-nines for nines in range(1, 16)))
MOST = 8  # of them that are named


def draw(axes: Axes, results: Results, declared: AttackerFigure, part: Part) -> None:
    """Draw the curve, the published points and the ε that runs had spent at the end, means over seeds.

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
            axes.plot(
                epsilon,
                attacker_accuracy(epsilon),
                **cycle[number % len(cycle)] | {"linestyle": "none"},
                label=escape_figure(f"{curve.label}: ε = {numbers.epsilon([epsilon])}, {accuracy} %"),
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


def legend(declared: AttackerFigure) -> str:
    """Return what the line and the points mean."""
    return "Line: eq. (1). Open circles: published. Filled: our runs at their end, means over seeds."
