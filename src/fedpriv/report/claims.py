"""Verdicts on a paper's claims: measured numbers, the test used, and what follows.

Every check gives margins by seed, a margin of at least zero meaning that the claim holds. A cell *holds* if
the whole 95 % interval over seeds is at or above zero, *leans* if only the mean is, and *fails* otherwise.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.frozen import parse
from fedpriv.report import render
from fedpriv.report.check import Outcome
from fedpriv.report.claim import Claim
from fedpriv.report.collect import load
from fedpriv.report.declared import TABLES
from fedpriv.report.footnotes import footnotes, stand_ins
from fedpriv.report.interval import interval
from fedpriv.report.rows import TableSpec, with_cells

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
WIDTHS = r"lp{0.34\linewidth}p{0.18\linewidth}lllll"  # of the columns in LaTeX
COLUMNS = [
    *("id", "place", "claim", "verdict", "numbers", "measured", "test", "reason"),
    *("cells", "run", "hold", "lean", "fail"),
]


def write(runs: Path, declared: Mapping[str, Any], stem: Path) -> list[Path]:
    """Judge the claims among `declared` (keys tables and claims); write `stem`.csv, .md and .tex."""
    frame = load(runs)
    claims = [parse(Claim.model_validate, claim, "claims") for claim in declared["claims"]]
    tables = {name: TABLES[table["kind"]].model_validate(table) for name, table in declared["tables"].items()}
    return render.write(claims_table(frame, claims, tables), stem)


def claims_table(
    frame: pd.DataFrame, claims: Sequence[Claim], tables: Mapping[str, TableSpec]
) -> render.Table:
    """Return a line a claim; the notes say what a verdict means."""
    rows = with_cells(tables)
    lines = [judge(claim, list(claim.check.outcomes(frame, rows))) for claim in claims]
    tidy = pd.DataFrame(lines, columns=COLUMNS)
    display = pd.DataFrame(
        {
            ("", "No."): [str(number) for number in range(1, len(lines) + 1)],
            ("", "Claim"): tidy["claim"],
            ("", "Place"): tidy["place"],
            ("", "Verdict"): tidy["verdict"],
            ("Cells", "in all"): tidy["cells"].astype(str),
            ("Cells", "hold"): tidy["hold"].astype(str),
            ("Cells", "lean"): tidy["lean"].astype(str),
            ("Cells", "fail"): tidy["fail"].astype(str),
        }
    )
    details = [
        f"Tested: {line['test']}. Measured: {line['measured']}."
        + (f" Unsound: {line['reason']}" if line["reason"] else "")
        for line in lines
    ]
    meanings = [f"{verdict}: {meaning}." for verdict, meaning in VERDICTS.items()]
    notes = [*meanings, STANDING, *footnotes(frame)]
    return render.Table(
        "claims", "Claims and verdicts" + stand_ins(frame), tidy, display, notes, details, WIDTHS
    )


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
        "test": claim.check.sentence(),
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
