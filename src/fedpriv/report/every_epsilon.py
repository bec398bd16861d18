"""A panel of ε against round: guarantees solid, estimates dashed, equal markers for equal sensitivity."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fedpriv.paper.spends import Choice
from fedpriv.report.cells import delta
from fedpriv.report.declared_figures import EpsilonPanel, EpsilonsFigure
from fedpriv.report.footnotes import ESTIMATE, accountings
from fedpriv.report.reading import spent

COLOURS = {
    **{"moments": "C0", "rdp": "C1", "pld": "C2", "product": "C3", "hoelder": "C4", "panel": "C5"},
    **{"exact": "C0", "rdp_tight": "C2", "theorem": "C3"},
}
# Lines with the same marker measure against the same sensitivity, so they may be compared.
MARKERS = {
    **{"C": "", "remove_sum": "", "2C": "o", "remove_mean": "o", "pairwise": "^"},
    **{"bit": "", "bits": "s", "all": "D"},
}
LINES = "Means over seeds; solid a guarantee, dashed an estimate; the same marker, the same sensitivity."


def every_epsilon(axes: Axes, frame: pd.DataFrame, panel: EpsilonPanel) -> None:
    """Draw a line for every spend of the panel's run that its ledger holds: the mean over seeds."""
    for spend in panel.spends:
        rows = spent(frame, panel.run, spend)
        if rows.empty:
            continue
        seeds = rows.pivot(index="round", columns="seed", values="epsilon")
        axes.plot(
            seeds.index.to_numpy(),
            seeds.to_numpy().mean(axis=1),
            label=label(spend),
            color=COLOURS[spend.composition or spend.accountant],
            linestyle="--" if spend.kind == "estimate" else "-",
            marker=MARKERS[spend.distance or spend.sensitivity],
            markevery=max(1, len(seeds) // 8),
            alpha=0.9,
        )
    if not axes.has_data():
        return
    for mark in panel.published:
        axes.axhline(mark.value, color="#707070", linewidth=0.5, linestyle=(0, (4, 3)))
        axes.annotate(mark.label, (1.015, mark.value), xycoords=("axes fraction", "data"), fontsize=6)
    logarithmic(axes, "ε")


def logarithmic(axes: Axes, label: str) -> None:
    """Let `axes` show an ε against round on a logarithmic axis with plain numbers."""
    axes.set(xlabel="Round", ylabel=label, yscale="log", xlim=(0, axes.dataLim.xmax))
    low, high = axes.get_ylim()
    # Over more than two decades there is no place for more than the powers of ten.
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:g}" if value < 1e5 else delta(value))
    )


def label(spend: Choice) -> str:
    """Return what the legend says of a spend."""
    return f"{spend}{' (estimate)' if spend.kind == 'estimate' else ''}"


def notes(frame: pd.DataFrame, declared: EpsilonsFigure) -> list[str]:
    """Return what the lines mean."""
    spends = [spend for panel in declared.panels for spend in panel.spends]
    estimates = [ESTIMATE] if any(spend.kind == "estimate" for spend in spends) else []
    return [LINES, *accountings(spends), *estimates]
