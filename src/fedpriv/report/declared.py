"""The kinds of tables and figures that a paper's YAML may declare, by name."""

from fedpriv.paper.cells import Rows, TableSpec
from fedpriv.paper.tables import RunsTable, SpendsTable
from fedpriv.report.declared_figures import (
    AttackerFigure,
    CurvesFigure,
    DivergenceFigure,
    EpsilonsFigure,
    FigureSpec,
    GrowthFigure,
    SweepFigure,
)

TABLES: dict[str, type[TableSpec]] = {
    "accuracy": Rows,
    "spends": SpendsTable,
    "runs": RunsTable,
}
FIGURES: dict[str, type[FigureSpec]] = {
    "curves": CurvesFigure,
    "epsilons": EpsilonsFigure,
    "growth": GrowthFigure,
    "attacker": AttackerFigure,
    "divergence": DivergenceFigure,
    "sweep": SweepFigure,
}
