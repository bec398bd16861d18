"""The columns of a trace, from the table in code."""

import math
from typing import Any

from fedpriv.trace import COLUMNS, MEASURED

HEAD = """\
# The columns of a trace

This page is generated from `fedpriv.trace` by `make docs`; do not edit it.

A row of `trace.parquet` is a round. Where a scheme does not fill a column in, it holds the value that says
so; a column without one is filled in by the loop in every round. What is measured ({measured}) differs
between two runs that are otherwise bit-identical.

| column | dtype | says | where a scheme says nothing |
|---|---|---|---|
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
    return HEAD.format(measured=", ".join(f"`{name}`" for name in MEASURED)) + "\n".join(rows) + "\n"
