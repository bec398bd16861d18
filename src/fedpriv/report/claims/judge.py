"""Which way every case of a claim stands, and the verdict that follows.

A cell *holds* if the whole 95 % interval over seeds of its margins is at or above zero, *leans* if only the
mean is, and *fails* otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedpriv.paper.claims import Claim
from fedpriv.report.claims.margins import Outcome
from fedpriv.report.claims.words import sentence
from fedpriv.report.numbers import interval

VERDICTS = {
    "reproduced": "every cell that the claim is about was run and holds (a claim about some cell: one holds)",
    "partly": "some cells hold or lean but not all hold, or not all were run",
    "not reproduced": "no cell that was run holds or leans",
    "unsound": "every cell holds numerically, but the statement is false; the reason is given",
    "not run": "no cell was run",
}
STANDING = (
    "A cell holds if the whole 95 % Student-t interval over seeds of what is tested is on the claimed side, "
    "leans if only the mean is, fails otherwise."
)
ROUNDING = 1e-12  # of float arithmetic: an equality holds


def standing(margins: np.ndarray) -> str:
    """Return whether a cell holds, leans or fails; with one seed it can at best lean."""
    found = interval(margins)
    if found.low >= -ROUNDING:
        return "hold"
    return "lean" if found.mean >= -ROUNDING else "fail"


def judge(claim: Claim, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the line of one claim: counts of its cells and the verdict that follows from them."""
    found = [standing(outcome.margins) for outcome in outcomes if outcome.margins is not None]
    counts = {standing: found.count(standing) for standing in ("hold", "lean", "fail")}
    numbers = verdict(counts, len(outcomes), claim.check.needs)
    false = bool(claim.unsound) and numbers == "reproduced"
    return {
        "id": claim.id,
        "place": claim.place,
        "claim": claim.text,
        "verdict": "unsound" if false else numbers,
        "numbers": numbers,
        "measured": "; ".join(f"{outcome.cell}: {outcome.measured}" for outcome in outcomes),
        "test": sentence(claim.check),
        "reason": claim.unsound,
        "cells": len(outcomes),
        "run": len(found),
    } | counts


def verdict(counts: Mapping[str, int], cells: int, needs: str) -> str:
    """Return what the cells say, as `VERDICTS` defines it."""
    run = sum(counts.values())
    if not run:
        return "not run"
    if counts["hold"] == cells or (needs == "some" and counts["hold"]):
        return "reproduced"
    return "partly" if counts["hold"] or counts["lean"] else "not reproduced"
