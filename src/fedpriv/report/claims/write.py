"""The claims of a paper and their verdicts, as one table: measured numbers, test, what follows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from fedpriv.account.spend import legend
from fedpriv.paper.cells import TableSpec, accuracy_tables
from fedpriv.paper.claims import Claim
from fedpriv.report import render
from fedpriv.report.claims.judge import COUNTS, OUTCOMES, SOUNDNESS, judge
from fedpriv.report.claims.outcomes import outcomes
from fedpriv.report.claims.yardstick import STANDING
from fedpriv.report.notes import footnotes, stand_ins
from fedpriv.report.results import Results

WIDTHS = r"lp{0.3\linewidth}p{0.16\linewidth}p{0.12\linewidth}llll"  # of the columns in LaTeX
COLUMNS = [
    *("id", "place", "claim", "verdict", "outcome", "soundness", "measured", "test", "reason"),
    *("cells", "decided", *COUNTS.values()),
]


def write(
    results: Results, claims: Sequence[Claim], tables: Mapping[str, TableSpec], stem: Path
) -> list[Path]:
    """Judge claims about these tables; write `stem`.csv, .md and .tex."""
    return render.write(claims_table(results, claims, tables), stem)


def claims_table(results: Results, claims: Sequence[Claim], tables: Mapping[str, TableSpec]) -> render.Table:
    """Return a line a claim; the notes say what a verdict means."""
    rows = accuracy_tables(tables)
    lines = [judge(claim, list(outcomes(results, claim, rows))) for claim in claims]
    tidy = pd.DataFrame(lines, columns=COLUMNS)
    display = pd.DataFrame(
        {("", "No."): [str(number) for number in range(1, len(lines) + 1)]}
        | {("", name.capitalize()): tidy[name] for name in ("claim", "place", "verdict")}
        | {("Cells", "decided"): [f"{line['decided']} of {line['cells']}" for line in lines]}
        | {("Cells", name): tidy[name].astype(str) for name in ("hold", "fail", "undecided")}
    )
    details = [
        f"Tested: {line['test']}. Measured: {line['measured']}."
        + (f" Unsound: {line['reason']}" if line["reason"] else "")
        for line in lines
    ]
    meanings = [f"{verdict}: {meaning}." for verdict, meaning in {**OUTCOMES, **SOUNDNESS}.items()]
    said = legend(*details)
    notes = [*([f"ε {said}."] if said else []), *meanings, STANDING, *footnotes(results)]
    return render.Table(
        *("claims", "Claims and verdicts" + stand_ins(results.runs), tidy, display, notes, details, WIDTHS),
        printed=True,
    )
