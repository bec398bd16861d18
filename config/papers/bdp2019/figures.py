"""Equation (1): what an ε leaves to an attacker who guesses whether somebody took part."""

from math import ceil

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fedpriv.account.statement import attacker_accuracy
from fedpriv.report import numbers
from fedpriv.report.figures.looks import GREY, Label, color_of
from fedpriv.report.texts import escape_figure

PUBLISHED = {5: 0.9933, 8: 0.9997, 10: 0.99995}  # ε: the accuracy of a guess
LABELS = {5: "99.33 %", 8: "99.97 %", 10: "99.995 %"}  # as printed
MARKERS = "o^s"  # of runs
FURTHEST = 10.0  # the axis of ε ends there, or after the largest ε drawn
TICKS = (0.5, *(1 - 10.0**-nines for nines in range(1, 16)))
MOST = 8  # of them that are named


def equation1(axes, results, curves):
    """Draw P = 1/(1 + e^−ε), what is published, and the ε that runs had spent at the end, means over seeds.

    The axis of the accuracy is logit: it spreads the values near certainty, where budgets differ.
    """
    ours = {curve: float(results.run(curve.run).epsilon(curve.counted).mean()) for curve in curves}
    ours = {curve: epsilon for curve, epsilon in ours.items() if np.isfinite(epsilon)}
    last = max([FURTHEST, *(ceil(1.02 * epsilon) for epsilon in (*ours.values(), *PUBLISHED))])
    line = np.linspace(0, last, 200)
    axes.plot(line, attacker_accuracy(line), "-", color="black", linewidth=0.8, marker="", zorder=1)
    circle = {"markersize": 5.5, "mfc": "none", "mec": GREY, "mew": 0.8, "zorder": 2}
    axes.plot([*PUBLISHED], [*PUBLISHED.values()], "o", **circle, label="published")
    runs = list(dict.fromkeys(curve.run for curve in curves))
    for curve in ours:  # a colour for each way of counting, a marker for each run
        right = float(attacker_accuracy(ours[curve]))
        spent = numbers.epsilon_of_seeds([ours[curve]], results.run(curve.run).status(curve.counted))
        axes.plot(
            ours[curve],
            right,
            color=color_of(curve.counted.accountant),
            marker=MARKERS[runs.index(curve.run) % len(MARKERS)],
            linestyle="none",
            mec="white",
            label=escape_figure(f"{curve.label}: ε = {spent}, {numbers.attacker(right)} %"),
            markersize=6 - list(ours).index(curve) / 2,  # at one place the smaller stand within
            zorder=3,
        )
    highest = float(attacker_accuracy(last))
    there = [tick for tick in TICKS if tick <= highest]
    axes.set(xlabel="ε", ylabel="Guess right (%), logit", yscale="logit", xlim=(0, last))
    axes.set_ylim(0.48, 1 - (1 - highest) / 2)
    axes.yaxis.set_major_locator(FixedLocator(there[:: -(-len(there) // MOST)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda accuracy, _: f"{100 * accuracy:.12g}"))
    return [Label(LABELS[epsilon], epsilon, accuracy, GREY) for epsilon, accuracy in PUBLISHED.items()]
