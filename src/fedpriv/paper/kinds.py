"""The kinds of tables and figures that a paper may declare, by name."""

from fedpriv.paper.cells import AccuracyTable, TableSpec
from fedpriv.paper.figures import AttackerFigure, DivergenceFigure, FigureSpec, RoundsFigure, SweepFigure
from fedpriv.paper.readings import PairsFigure, ReadingsTable
from fedpriv.paper.tables import AccountsTable, RunsTable, SpendsTable

TABLES: dict[str, type[TableSpec]] = {
    "accuracy": AccuracyTable,
    "spends": SpendsTable,
    "runs": RunsTable,
    "readings": ReadingsTable,
    "accounts": AccountsTable,
}
FIGURES: dict[str, type[FigureSpec]] = {
    "rounds": RoundsFigure,
    "attacker": AttackerFigure,
    "divergence": DivergenceFigure,
    "sweep": SweepFigure,
    "pairs": PairsFigure,
}
