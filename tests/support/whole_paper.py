"""A paper that declares one of everything about two runs, and the same with other texts in it."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from fedpriv.paper.paper import Paper

COLUMNS = {
    "dp": {"label": "DP", "spend": "moments C"},
    "bdp": {"label": "BDP", "spend": "bayesian product remove_mean"},
}
PRINTED = {"accuracy": 0.45, "epsilon": 6.0, "delta": 1e-3}
ROWS = [
    {
        "label": label,
        "clients": 100,
        "baseline": {"run": "n100_none", "accuracy": 0.97},
        "run": "n100_dp",
        "published": {"dp": PRINTED, "bdp": PRINTED},
    }
    for label in ("A row", "Another row")
]
LINES = {"lines": {"n100_none": "No noise", "n100_dp": "Noise"}}
TABLES = {
    "cells": {
        **{"kind": "accuracy", "title": "Cells", "place": "table of cells", "heading": "Setting"},
        **{"columns": COLUMNS, "rows": ROWS},
    },
    "counted": {"kind": "spends", "of": "cells", "title": "Counted", "spends": ["moments C", "pld C"]},
    "each": {
        "kind": "runs",
        "title": "Each run",
        "place": "ours, each",
        "lines": [{"run": "n100_none", "label": "One"}, {"run": "n100_dp", "label": "Two"}],
        "columns": [
            "accuracy_last",
            {"name": "epsilon", "group": "A group", "label": "An ε", "spend": "moments C"},
        ],
        "infinite": "It means this.",
    },
}
FIGURES = {
    "rounds": {
        "kind": "rounds",
        "title": "Rounds",
        "place": "figure of rounds",
        **LINES,
        "panels": {"": {"title": "A panel", "published": {"In print": 0.5}, "budgets": {"Spent": 4.0}}},
        "budgets": {"Spent": {"line": "n100_dp", "spend": "moments C"}},
    },
    "epsilons": {
        **{"kind": "rounds", "title": "Every ε", "quantity": "epsilon", "lines": {"n100_dp": "Its noise"}},
        **{"spends": {"One way": "moments C", "Another way": "pld C"}, "panels": {"": "Only panel"}},
    },
}
CHECK = {"check": "accuracy(run) >= 0.5", "cases": {"A case": {"run": "n100_dp"}}}
PAPER = {
    "paper": "whole",
    "title": "A whole paper",
    "authors": ["First Last", "A team"],
    "year": 2000,
    "url": "https://example.org/whole",
    "runs": {"n100_none": {}, "n100_dp": {}},
    "tables": TABLES,
    "figures": FIGURES,
    "claims": [
        {"id": "it", "place": "section", "text": "A claim.", "unsound": "A reason."} | CHECK,
    ],
    "notes": ["A note of the paper."],
}
# Texts that are none: names of what is declared or computed elsewhere. All others are anybody's.
NAMES = {
    *(
        "Paper.paper",
        "Paper.url",
        "Paper.runs key",
        "Paper.defaults",
    ),
    *("Paper.parts", "Paper.table_defaults", "Paper.tables key", "Paper.figures key", "Claim.id"),
    *("AccuracyTable.kind", "AccuracyTable.columns key", "Row.run", "Row.runs", "Row.published key"),
    *(
        "Row.budgets key",
        "AccuracyColumn.spends key",
        "Baseline.run",
        "SpendsTable.kind",
        "RunsTable.kind",
        "LabelledRun.run",
    ),
    *("RunsTable.match", "RunsTable.reference", "RunsTable.keys", "RunColumn.name", "RoundsFigure.kind"),
    *("RoundsFigure.quantity", "RoundsFigure.run", "RoundsFigure.lines key", "RoundsFigure.panels key"),
    "BudgetLine.line",
    *("SpendSelector.accountant", "SpendSelector.composition", "SpendSelector.distance"),
    *("SpendSelector.sensitivity", "SpendSelector.accounting"),
    *(
        "Claim.needs",
        "Claim.tables",
        "Claim.labels",
        "Claim.elsewhere",
        "Claim.check",
        "Claim.cases run",
        "Claim.cases run key",
    ),
}


def walked(value: Any, place: str, found: Callable[[str, str], str]) -> Any:
    """Return a declared value as plain data, every text that is said replaced by what `found` makes of it."""
    if isinstance(value, BaseModel):
        kind = type(value).__name__
        return {
            name: walked(getattr(value, name), f"{kind}.{name}", found) for name in type(value).model_fields
        }
    if isinstance(value, dict):
        return {
            walked(key, f"{place} key", found): walked(
                one, f"{place} run" if place == "Claim.cases" else place, found
            )
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [walked(one, place, found) for one in value]
    return found(place, value) if isinstance(value, str) and value and place not in NAMES else value


def texts() -> dict[str, str]:
    """Return every text of the paper that anybody may write, and the key that it stands under."""
    found: dict[str, str] = {}

    def noted(place: str, text: str) -> str:
        found.setdefault(text, place)
        return text

    walked(Paper.model_validate(PAPER), "", noted)
    return found


def with_texts(others: dict[str, str]) -> Paper:
    """Return the paper with other texts in the place of its own."""
    return Paper.model_validate(walked(Paper.model_validate(PAPER), "", lambda _, text: others[text]))
