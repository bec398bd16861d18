"""The kinds of tables and figures that a paper's YAML may declare, by name."""

from fedpriv.report.declared_figures import (
    AttackerFigure,
    CurvesFigure,
    DivergenceFigure,
    EpsilonsFigure,
    FigureSpec,
    GrowthFigure,
    SweepFigure,
)
from fedpriv.report.declared_runs import AblationTable, GammasTable, LabelsTable, UploadsTable
from fedpriv.report.declared_tables import (
    BudgetTable,
    GridTable,
    JointSpendsTable,
    JointTable,
    RankingTable,
    SpendsTable,
)
from fedpriv.report.rows import TableSpec

TABLES: dict[str, type[TableSpec]] = {
    "budget": BudgetTable,
    "spends": SpendsTable,
    "joint": JointTable,
    "joint_spends": JointSpendsTable,
    "grid": GridTable,
    "gammas": GammasTable,
    "labels": LabelsTable,
    "uploads": UploadsTable,
    "ablation": AblationTable,
    "ranking": RankingTable,
}
FIGURES: dict[str, type[FigureSpec]] = {
    "curves": CurvesFigure,
    "epsilons": EpsilonsFigure,
    "growth": GrowthFigure,
    "attacker": AttackerFigure,
    "divergence": DivergenceFigure,
    "sweep": SweepFigure,
}
