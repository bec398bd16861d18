from fedpriv.paper.cells import BASELINE, Baseline, Cell, Column, Row, Rows, TableSpec, with_cells  # noqa: F401  # moved
