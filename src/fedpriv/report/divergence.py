"""The privacy loss of one noisy bit against γ: a curve that needs no run, and where runs stand on it.

Binary Federated Learning with Client-Level Differential Privacy, Figure 2.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fedpriv.account.randomized_response import divergence
from fedpriv.report.cells import several
from fedpriv.report.declared_figures import DivergenceFigure, DivergencePanel
from fedpriv.report.reading import present
from fedpriv.report.run_table import fact

GAMMAS = np.linspace(0, 0.499, 500)
PER_BIT = (
    "ρ is the divergence of one bit in one round; T rounds of d bits have T · d times as much, whatever the "
    "paper composes (docs/accounting.md)."
)


def divergences(axes: Axes, frame: pd.DataFrame, panel: DivergencePanel) -> None:
    """Draw ρ(order) for γ in [0, 0.5), and a labelled point for every γ that runs have below 0.5."""
    axes.plot(GAMMAS, divergence_at(panel, GAMMAS), color="black", linewidth=0.8, zorder=1)
    found = gammas(frame, panel)
    for gamma in found:
        height = float(divergence_at(panel, np.array([gamma]))[0])
        axes.plot(gamma, height, "o", color="C0", markersize=4, zorder=3, clip_on=False)
        # Left of the curve is room, but for the first points, which are near the axis.
        near = gamma < 0.05
        axes.annotate(
            f"γ = {gamma:g}: {height:.3g}",
            (gamma, height),
            xytext=(3, 13) if near else (-5, 3),
            textcoords="offset points",
            ha="left" if near else "right",
            fontsize=6,
        )
    axes.set(xlabel="γ", ylabel=f"ρ({panel.order:g})", xlim=(-0.005, 0.5), ylim=(-0.02, None))


def divergence_at(panel: DivergencePanel, gammas: np.ndarray) -> np.ndarray:
    """Return ρ at the panel's order for every γ."""
    return np.array([float(divergence(gamma, panel.order)) for gamma in gammas])


def gammas(frame: pd.DataFrame, panel: DivergencePanel | DivergenceFigure) -> list[float]:
    """Return the γ of the runs that flip bits, each once, ascending."""
    there = [line.run for line in panel.lines if present(frame, line.run)]
    return sorted({gamma for run in there for gamma in fact(frame, run, "gamma") if gamma < 0.5})


def notes(frame: pd.DataFrame, declared: DivergenceFigure) -> list[str]:
    """Return what ρ is for, and whose γ the points are."""
    found = gammas(frame, declared)
    points = f" Points: the γ of runs, {several(found)}." if found else ""
    return [f"Curve: Lemma 3.{points}", PER_BIT]
