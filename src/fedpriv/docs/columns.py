"""The columns of a trace and of a paper's results, from the tables in code."""

import math
from typing import Any

from fedpriv.docs.markdown import head, line
from fedpriv.report.collect import RUNS
from fedpriv.trace import COLUMNS, MEASURED, MECHANISMS, PARTICIPATION, Column

HEAD = """\
# The columns of a trace

This page is generated from `fedpriv.trace` by `make docs`; do not edit it.

A row of `trace.parquet` is a round. Where a scheme does not fill a column in, it holds the value that says
so; a column without one is filled in by the loop in every round. What is measured ({measured}) differs
between two runs that are otherwise bit-identical.

"""

OWN = """
## Columns that not every trace has

"""

RESULTS = """
## The results of a paper

Three tables stand in `results/<preset>/<paper>/`, joined by `run`, `seed` and `round`. A row of
`rounds.parquet` is a round: `run`, `seed` and the columns above. A row of `epsilons.parquet` is an ε of a
round: `run`, `seed` and the columns of a ledger ([accounting.md](accounting.md)). A row of `runs.parquet` is
a run and seed:

"""


def shown(default: Any) -> str:
    """Return a default as the table shows it."""
    if default is None:
        return ""
    if default == "":
        return "empty"
    return "∞" if default == math.inf else f"`{str(default).lower()}`"


def page() -> str:
    """Return docs/trace.md."""
    said, where = ["column", "dtype", "says"], "where a scheme says nothing"
    own = {f"mechanism `{name}`": one.columns for name, one in MECHANISMS.own.items()}
    not_all = {"cohorts `spaced`": PARTICIPATION} | own
    parts = [
        HEAD.format(measured=", ".join(f"`{name}`" for name in MEASURED)),
        head([*said, where]),
        *(line([*told(name, one), shown(one.default)]) for name, one in COLUMNS.items()),
        OWN,
        head([*said, where, "where"]),
        *(
            line([*told(name, one), shown(one.default), of])
            for of, columns in not_all.items()
            for name, one in columns.items()
        ),
        RESULTS,
        head(said),
        *(line(told(name, one)) for name, one in RUNS.items()),
    ]
    return "".join(parts)


def told(name: str, column: Column) -> list[str]:
    """Return what every table says of a column."""
    return [f"`{name}`", column.dtype, column.meaning]
