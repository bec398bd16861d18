"""Accuracy within the published ε against σ: two points a reading, of DP and BDP, and what was published."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from fedpriv.paper.figures import Part
from fedpriv.paper.readings import PairsFigure
from fedpriv.report.figures.rounds import GREY
from fedpriv.report.numbers import interval
from fedpriv.report.readings import Outcome, Reading, far, outcome, readings, targets
from fedpriv.report.results import Results
from fedpriv.report.texts import escape_figure

SIDE, SPREAD = 0.1, 0.07  # how far DP and BDP of a σ stand from it, and their points from each other, at most


def draw(axes: Axes, results: Results, declared: PairsFigure, part: Part) -> None:
    """Draw the points of a panel; those of the nearest reading are joined."""
    table = declared.of[part.title]
    wanted = targets(results, table)
    found = {
        one: outcome(results.of(one.run), table, one, wanted)
        for one in readings(results, table)
        if not one.refused
    }
    if not found:
        return
    cycle = list(rcParams["axes.prop_cycle"])
    for way, (label, side) in enumerate({"DP": -SIDE, "BDP (estimate)": SIDE}.items()):
        for everybody, fill in ((False, "full"), (True, "none")):
            chosen = [one for one in found if one.everybody is everybody]
            style = cycle[way] | {"linestyle": "none", "markersize": 3.5, "fillstyle": fill, "mew": 0.7}
            said = f"{label}{', everybody in every round' if everybody else ''}"
            heights = [pair_of(found[one])[way] for one in chosen]
            axes.plot(places(chosen, side), heights, **style, label=said)
    near = min(found, key=lambda one: far(found[one].distance))
    if far(found[near].distance) < math.inf:
        ends = near.noise_multiplier - SIDE, near.noise_multiplier + SIDE
        axes.plot(ends, pair_of(found[near]), "k-", linewidth=1.0, marker="", zorder=4, label="the nearest")
    axes.set(xlabel="σ", ylabel="Accuracy (%)", ylim=(0, 102))
    axes.xaxis.set_major_locator(FixedLocator(sorted({one.noise_multiplier for one in found})))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for label, value in part.published.items():
        axes.axhline(100 * value, color=GREY, linewidth=0.6, linestyle=(0, (5, 3)), zorder=1)
        where = {"xy": (1.015, 100 * value), "xycoords": ("axes fraction", "data")}
        where["va"] = "bottom" if value == max(part.published.values()) else "top"
        axes.annotate(escape_figure(f"{label} {100 * value:.3g}"), **where, color=GREY)


def pair_of(found: Outcome) -> tuple[float, float]:
    """Return the mean accuracies of DP and BDP, in percent, NaN where there is none."""
    reads = (100 * read["accuracy"].replace(-np.inf, np.nan) for read in (found.dp, found.bdp))
    dp, bdp = (interval(read).mean for read in reads)
    return dp, bdp


def places(chosen: Sequence[Reading], side: float) -> list[float]:
    """Return where readings stand on the horizontal axis: at their σ, those of one σ beside each other."""
    same = Counter(one.noise_multiplier for one in chosen)
    seen: Counter[float] = Counter()
    found: list[float] = []
    for one in chosen:
        sigma = one.noise_multiplier
        found.append(sigma + side + SPREAD * ((seen[sigma] + 0.5) / same[sigma] * 2 - 1))
        seen[sigma] += 1
    return found


def legend(declared: PairsFigure) -> str:
    """Return what the points mean."""
    return (
        "Points: a reading each, at the σ that it is counted at; its accuracy at the last evaluated round "
        "within the published ε, of DP left and of BDP right of σ. Open: everybody takes part in every "
        "round. Joined: the reading nearest to what is published. Grey, dashed: published."
    )
