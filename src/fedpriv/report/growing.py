"""A panel of how ε grows: by how much it exceeds its first value, against round, on a logarithmic axis."""

import pandas as pd
from matplotlib.axes import Axes

from fedpriv.report.declared_figures import GrowthFigure, GrowthPanel
from fedpriv.report.every_epsilon import logarithmic
from fedpriv.report.footnotes import accounting, accountings
from fedpriv.report.reading import growth, spent

STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))  # of the lines of one run, in their order
RANGE = "Lines: means over seeds; bands: from the least to the greatest."
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
        (mean,) = axes.plot(grown.index.to_numpy(), grown.mean(axis=1), label=line.label, **style)
        # An interval that reaches down to zero would take up the whole axis.
        ends = grown.min(axis=1), grown.max(axis=1)
        axes.fill_between(grown.index.to_numpy(), *ends, color=mean.get_color(), alpha=0.2, linewidth=0)
    if axes.has_data():
        logarithmic(axes, "εₜ − ε₁")


def notes(frame: pd.DataFrame, declared: GrowthFigure) -> list[str]:
    """Return what the lines mean, and of which kind their ε are."""
    lines = [line for panel in declared.panels for line in panel.lines]
    spends = list(dict.fromkeys(line.spend for line in lines))
    drawn = pd.concat([spent(frame, line.run, line.spend) for line in lines])
    counted = f"ε: {'; '.join(map(str, spends))}."
    return [f"{GROWTH} {RANGE}", counted, *accountings(spends), *accounting(drawn)]
