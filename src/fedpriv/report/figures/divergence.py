"""The privacy loss of one noisy bit against γ: a curve that needs no run, and where runs stand on it.

Binary Federated Learning with Client-Level Differential Privacy, Figure 2.
"""

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes

from fedpriv.account.randomized_response import divergence
from fedpriv.paper.figures import DivergenceFigure, Part
from fedpriv.report.results import Results, rows_of

ORDER = 2  # α
GAMMAS = np.linspace(0, 0.499, 500)


def draw(axes: Axes, results: Results, declared: DivergenceFigure, part: Part) -> None:
    """Draw ρ(2) for γ in [0, 0.5), and a labelled point for every γ that runs have below 0.5."""
    cycle = list(rcParams["axes.prop_cycle"])
    axes.plot(GAMMAS, loss(GAMMAS), "-", color="black", linewidth=0.8, marker="", zorder=1)
    found = gammas(results, part)
    for number, (gamma, height) in enumerate(zip(found, loss(found), strict=True)):
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


def loss(gammas: np.ndarray) -> np.ndarray:
    """Return ρ(ORDER) for every γ."""
    return np.array([float(divergence(gamma, ORDER)) for gamma in gammas])


def gammas(results: Results, part: Part) -> np.ndarray:
    """Return the γ of the runs that flip bits, each once, ascending."""
    found = rows_of(results.rounds, *(curve.run for curve in part.curves))["gamma"].unique()
    return np.sort(found[found < 0.5])


def legend(declared: DivergenceFigure) -> str:
    """Return what ρ is for."""
    return (
        "Curve: Lemma 3. Points: the γ of runs. ρ is the divergence of one bit in one round; T rounds of d "
        "bits have T · d times as much, whatever the paper composes (docs/accounting.md)."
    )
