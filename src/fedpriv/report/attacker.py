"""What ε leaves to an attacker: the accuracy of a membership guess from a flat prior.

Federated Learning with Bayesian Differential Privacy, eq. (1): P = 1/(1 + e^−ε).
"""

from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fedpriv.account.spend import attacker_accuracy
from fedpriv.report import cells
from fedpriv.report.declared_figures import AttackerFigure, AttackerPanel, SpendLine
from fedpriv.report.footnotes import accounting, accountings
from fedpriv.report.reading import epsilon_at, spent

FURTHEST = 10.0  # the axis ends there, or after the largest ε drawn
TICKS = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
GREY = "#707070"
MARKERS = "osD^vP*X"
ENDS = "Line: eq. (1). Open circles: the paper's numbers. Filled: our runs at their end, means over seeds."


def attacker(axes: Axes, frame: pd.DataFrame, panel: AttackerPanel) -> None:
    """Draw the curve, the published points and the ε that runs had spent at the end, means over seeds.

    The axis of the accuracy is logit: it spreads the values near certainty, where budgets differ.
    """
    ours = {line: final(frame, line) for line in panel.lines}
    drawn = [epsilon for epsilon in ours.values() if np.isfinite(epsilon)]
    drawn += [guess.epsilon for guess in panel.published]
    last = max([FURTHEST, *(ceil(1.02 * epsilon) for epsilon in drawn)])
    epsilons = np.linspace(0, last, 200)
    axes.plot(epsilons, attacker_accuracy(epsilons), color="black", linewidth=0.8, zorder=1)
    for guess in panel.published:
        axes.plot(guess.epsilon, guess.accuracy, "o", markersize=6, mfc="none", mec=GREY, mew=0.8, zorder=2)
        # Beside the line, where there is room.
        right = guess.epsilon < last / 3
        axes.annotate(
            guess.label,
            (guess.epsilon, guess.accuracy),
            xytext=(6, -7) if right else (-5, 3),
            textcoords="offset points",
            ha="left" if right else "right",
            fontsize=6,
            color=GREY,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )
    for number, (line, epsilon) in enumerate(ours.items()):
        if np.isfinite(epsilon):
            accuracy = cells.attacker(float(attacker_accuracy(epsilon)))
            axes.plot(
                epsilon,
                attacker_accuracy(epsilon),
                linestyle="none",
                marker=MARKERS[number % len(MARKERS)],
                color=f"C{number}",
                markersize=4,
                label=f"{line.label}: ε = {cells.epsilon([epsilon])}, {accuracy} %",
                zorder=3,
            )
    highest = float(attacker_accuracy(last))
    axes.set(xlabel="ε", ylabel="Attacker's accuracy (%)", yscale="logit", xlim=(0, last))
    axes.set_ylim(0.48, 1 - (1 - highest) / 2)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in TICKS if tick <= highest]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda accuracy, _: f"{100 * accuracy:g}"))


def final(frame: pd.DataFrame, line: SpendLine) -> float:
    """Return the ε that a run had spent after its last round, the mean over seeds; NaN if there is none."""
    return float(epsilon_at(frame, line.run, line.spend).mean())


def notes(frame: pd.DataFrame, declared: AttackerFigure) -> list[str]:
    """Return what the points mean: an ε is nothing without its spend."""
    found, drawn = [ENDS], [frame.iloc[:0]]
    for line in declared.lines:
        rows = spent(frame, line.run, line.spend)
        if len(rows):
            first = rows.iloc[0]
            unit = f"unit {first['unit']}, δ = {cells.delta(first['delta'])}"
            found.append(f"{line.label}: {unit}; {line.spend}.")
            drawn.append(rows)
    spends = [line.spend for line in declared.lines]
    return [*found, *accountings(spends), *accounting(pd.concat(drawn))]
