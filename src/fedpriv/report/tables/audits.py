"""The table of audits: the lower bounds that attacks put under what is stated of a run."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from fedpriv.account.statement import kind_of
from fedpriv.audit.finding import THREATS, Finding, broken_guarantees
from fedpriv.paper.tables import AuditsTable, LabelledRun
from fedpriv.report import numbers
from fedpriv.report.lines import STATISTIC, Line
from fedpriv.report.notes import printed_table
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results
from fedpriv.report.sample import Sample

ABOUT = ("audit", "about", "kind", "epsilon_status", "delta", "confidence", "verdict", "cost")
AUDIT_COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, *ABOUT]
HOW = (
    "Lower bound: after the last round. No smaller ε holds, at the confidence, or by arithmetic for known "
    "neighbours. Of several seeds means, and in how many the stated ε is refuted. An estimate that is "
    "refuted is too small for the client in question; a guarantee would be an error of this suite."
)

Seeds = Sequence[Finding]  # of one audit about one ε


class Refuted(RuntimeError):
    """A guarantee that an audit refutes: an error of whoever stated it, so that nothing is printed."""


def audits_table(results: Results, declared: AuditsTable, name: str) -> PrintedTable:
    """Return a line for every run and ε that is audited; a refuted guarantee is the error that names it."""
    every = [(line, seeds) for line in declared.lines for seeds in findings_by_epsilon(results, line.run)]
    audits = {seeds[0].audit for _, seeds in every}
    return printed_table(
        results,
        declared,
        name,
        columns=AUDIT_COLUMNS,
        lines=[number for line, seeds in every for number in tidy_lines(line, seeds)],
        display=[shown_line(line, seeds) for line, seeds in every]
        or [{"Run": f"nothing to audit was run: {', '.join(declared.runs())}"}],
        notes=[HOW],
        details=[f"{audit_title(audit)}: {threat}" for audit, threat in THREATS.items() if audit in audits],
    )


def findings_by_epsilon(results: Results, run: str) -> list[Seeds]:
    """Return the findings of each audit about every ε of a run, over seeds; of what was not run none."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    by_seed = results.run(run).findings() if results.has(run) else {}
    for seed, findings in by_seed.items():
        if wrong := broken_guarantees(findings):
            raise Refuted(f"{run} seed {seed}: refuted: {wrong[0]}")
        for finding in findings:
            alike.setdefault((finding.audit, finding.about), []).append(finding)
    return list(alike.values())


def tidy_lines(line: LabelledRun, seeds: Seeds) -> Iterator[Line]:
    """Yield the stated ε and its lower bound for machines."""
    first = seeds[0]
    about = {name: getattr(first, name) for name in ABOUT if hasattr(first, name)}
    about |= {"kind": kind_of(first.kind), "epsilon_status": first.kind, "verdict": audit_verdict(seeds)}
    about["run"] = line.run
    for quantity in ("epsilon", "lower_bound"):
        values = pd.Series([getattr(finding, quantity) for finding in seeds], dtype=float)
        yield Line(line.label, f"{audit_title(first.audit)}: {first.about}", quantity, Sample(values), about)


def shown_line(line: LabelledRun, seeds: Seeds) -> dict[str, str]:
    """Return the cells of one line."""
    first = seeds[0]
    whose = first.about.replace("instance (", "example (").replace("(label)", "(nominal ε)")
    lower = float(np.mean([finding.lower_bound for finding in seeds]))
    return {
        "Run": line.label,
        "Stated whose ε": whose,
        "Stated kind": first.kind,
        "Stated ε": numbers.epsilon_of_seeds([finding.epsilon for finding in seeds], first.kind),
        "Stated δ": numbers.delta(first.delta),
        "Audit name": audit_title(first.audit),
        # Rounded down.
        "Audit lower bound": numbers.size([np.floor(100 * lower) / 100 if lower >= 0.1 else lower]),
        "Audit confidence": first.sure,
        "Audit verdict": audit_verdict(seeds),
        "Audit cost": first.cost,
    }


def audit_verdict(seeds: Seeds) -> str:
    """Verdict on the stated ε, and in how many seeds where they do not agree."""
    refuted = sum(finding.refuted for finding in seeds)
    several = f" ({refuted} of {len(seeds)} seeds)" if 0 < refuted < len(seeds) else ""
    return ("refuted" if refuted else "not refuted") + several


def audit_title(audit: str) -> str:
    """Return an audit as it is printed."""
    return audit.replace("_", " ")
