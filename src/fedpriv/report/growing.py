"""A panel of how ε grows: by how much it exceeds its first value, against round, on a logarithmic axis."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fedpriv.report.curves import BANDS, band
from fedpriv.report.declared_figures import GrowthFigure, GrowthPanel
from fedpriv.report.every_epsilon import logarithmic
from fedpriv.report.footnotes import accounting, accountings
from fedpriv.report.reading import growth, spent

STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))  # of the lines of one run, in their order
GROWTH = "ε₁, what the first round cost, is subtracted from ε; the first round is left out."


def growing(axes: Axes, frame: pd.DataFrame, panel: GrowthPanel) -> None:
    """Draw the panel: a colour a run, a dash pattern for each of its lines; what was not run is left out."""
    runs = list(dict.fromkeys(line.run for line in panel.lines))
    for number, line in enumerate(panel.lines):
        if spent(frame, line.run, line.spend).empty:
            continue
        # On a logarithmic axis there is no place for what did not grow yet.
        grown = growth(frame, line.run, line.spend).iloc[1:]
        grown = grown.where(grown > 0).dropna(how="all")
        before = [other.run for other in panel.lines[:number]].count(line.run)
        style = {"color": f"C{runs.index(line.run)}", "linestyle": STYLES[before % len(STYLES)]}
        band(axes, grown, (float(grown.min().min()) / 2, np.inf), label=line.label, **style)
    if axes.has_data():
        logarithmic(axes, "εₜ − ε₁")


def notes(frame: pd.DataFrame, declared: GrowthFigure) -> list[str]:
    """Return what the lines mean, and of which kind their ε are."""
    lines = [line for panel in declared.panels for line in panel.lines]
    spends = list(dict.fromkeys(line.spend for line in lines))
    drawn = pd.concat([spent(frame, line.run, line.spend) for line in lines])
    counted = f"ε: {'; '.join(map(str, spends))}."
    return [f"{GROWTH} {BANDS}", counted, *accountings(spends), *accounting(drawn)]
