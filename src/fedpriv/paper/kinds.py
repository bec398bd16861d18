"""The kinds of tables and figures that a paper may declare, by name."""

from fedpriv.paper.cells import AccuracyTable, TableSpec
from fedpriv.paper.figures import (
    AttackerFigure,
    AuditsFigure,
    DivergenceFigure,
    FigureSpec,
    RoundsFigure,
    SweepFigure,
)
from fedpriv.paper.tables import AccountsTable, AuditsTable, RunsTable, SpendsTable

TABLES: dict[str, type[TableSpec]] = {
    "accuracy": AccuracyTable,
    "spends": SpendsTable,
    "runs": RunsTable,
    "accounts": AccountsTable,
    "audits": AuditsTable,
}
FIGURES: dict[str, type[FigureSpec]] = {
    "rounds": RoundsFigure,
    "attacker": AttackerFigure,
    "divergence": DivergenceFigure,
    "sweep": SweepFigure,
    "audits": AuditsFigure,
}
