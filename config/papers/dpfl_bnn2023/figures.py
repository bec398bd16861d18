"""Figure 2: the Rényi divergence of one noisy bit against γ."""

import numpy as np

from fedpriv.account.randomized_response import divergence
from fedpriv.report.figures.looks import looks
from fedpriv.report.results import rows_of

ORDER = 2  # α


def figure2(axes, results, curves):
    """Draw ρ(2) for γ in [0, 0.5), and a labelled point for every γ that runs have below 0.5."""
    gammas = np.linspace(0, 0.499, 500)
    heights = [float(divergence(gamma, ORDER)) for gamma in gammas]
    axes.plot(gammas, heights, "-", color="black", linewidth=0.8, marker="", zorder=1)
    of_runs = rows_of(results.rounds, *(curve.run for curve in curves))["gamma"].unique()
    drawn = np.sort(of_runs[of_runs < 0.5])
    for gamma, look in zip(drawn, looks(f"γ = {gamma:g}" for gamma in drawn), strict=True):
        height = float(divergence(gamma, ORDER))
        style = look | {"linestyle": "none", "markersize": 4, "zorder": 3}
        axes.plot(gamma, height, **style, label=f"γ = {gamma:g}: {height:.3g}", clip_on=False)
    axes.set(xlabel="γ", ylabel=f"ρ({ORDER})", xlim=(-0.01, 0.5), ylim=(-0.1, None))
