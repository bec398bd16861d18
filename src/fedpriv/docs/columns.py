"""The columns of a trace and of a paper's results, from the tables in code."""

import math
from typing import Any

from fedpriv.report.collect import RUNS
from fedpriv.trace import COLUMNS, MEASURED, MECHANISMS, PARTICIPATION

HEAD = """\
# The columns of a trace

This page is generated from `fedpriv.trace` by `make docs`; do not edit it.

A row of `trace.parquet` is a round. Where a scheme does not fill a column in, it holds the value that says
so; a column without one is filled in by the loop in every round. What is measured ({measured}) differs
between two runs that are otherwise bit-identical.

| column | dtype | says | where a scheme says nothing |
|---|---|---|---|
"""

OWN = """
## Columns that not every trace has

| column | dtype | says | where a scheme says nothing | where |
|---|---|---|---|---|
"""

RESULTS = """
## The results of a paper

Three tables stand in `results/<preset>/<paper>/`, joined by `run`, `seed` and `round`. A row of
`rounds.parquet` is a round: `run`, `seed` and the columns above. A row of `epsilons.parquet` is an ε of a
round: `run`, `seed` and the columns of a ledger ([accounting.md](accounting.md)). A row of `runs.parquet` is
a run and seed:

| column | dtype | says |
|---|---|---|
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
    rows = (
        f"| `{name}` | {column.dtype} | {column.meaning} | {shown(column.default)} |"
        for name, column in COLUMNS.items()
    )
    own = {f"mechanism `{name}`": one.columns for name, one in MECHANISMS.own.items()}
    not_all = (
        f"| `{name}` | {column.dtype} | {column.meaning} | {shown(column.default)} | {where} |"
        for where, columns in ({"cohorts `spaced`": PARTICIPATION} | own).items()
        for name, column in columns.items()
    )
    of_run = (f"| `{name}` | {column.dtype} | {column.meaning} |" for name, column in RUNS.items())
    head = HEAD.format(measured=", ".join(f"`{name}`" for name in MEASURED))
    return (
        head + "\n".join(rows) + "\n" + OWN + "\n".join(not_all) + "\n" + RESULTS + "\n".join(of_run) + "\n"
    )
