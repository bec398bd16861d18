"""The kinds of tables and figures that a paper's YAML may declare, by name."""

from fedpriv.report.declared_figures import (
    AttackerFigure,
    CurvesFigure,
    EpsilonsFigure,
    FigureSpec,
    GrowthFigure,
)
from fedpriv.report.declared_tables import (
    BudgetTable,
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
    "ranking": RankingTable,
}
FIGURES: dict[str, type[FigureSpec]] = {
    "curves": CurvesFigure,
    "epsilons": EpsilonsFigure,
    "growth": GrowthFigure,
    "attacker": AttackerFigure,
}
