"""What audits found beside what is stated: a line for every ε that an audit has something to say about."""

from collections.abc import Iterator, Sequence

import numpy as np

from fedpriv.audit.finding import THREATS, Finding, broken_guarantees
from fedpriv.paper.cells import titled
from fedpriv.paper.tables import AuditsTable, Line
from fedpriv.report import numbers
from fedpriv.report.notes import footnotes, stand_ins
from fedpriv.report.render import Table
from fedpriv.report.results import Results
from fedpriv.report.tables.long import STATISTIC, Number, display_frame, tidy

WORDS = {"instance (": "example (", "(label)": "(nominal ε)"}
ABOUT = ("audit", "about", "kind", "delta", "confidence", "verdict", "cost")
COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, *ABOUT]
HOW = (
    "Lower bound: after the last round. No smaller ε holds, at the confidence, or by arithmetic for known "
    "neighbours. Of several seeds means, and in how many the stated ε is refuted. An estimate that is "
    "refuted is too small for the client in question; a guarantee would be an error of this suite."
)

Seeds = Sequence[Finding]  # of one audit about one ε


class Refuted(RuntimeError):
    """A guarantee that an audit refutes: an error of whoever stated it, so that nothing is printed."""


def audits_table(results: Results, declared: AuditsTable, name: str) -> Table:
    """Return a line for every run and ε that is audited; a refuted guarantee is the error that names it."""
    there = [line for line in declared.lines if results.has(line.run)]
    missing = [line.run for line in declared.lines if line not in there]
    found = [(line, seeds) for line in there for seeds in run_findings(results, line)]
    used = results.of(*(line.run for line in there))
    shown = [shown_line(line, seeds) for line, seeds in found]
    shown = shown or [{("", "Run"): f"nothing to audit was run: {', '.join(missing)}"}]
    said = {seeds[0].audit for _, seeds in found}
    threats = [f"{words(audit)}: {threat}" for audit, threat in THREATS.items() if audit in said]
    notes = [HOW, *threats, *footnotes(used, missing)]
    long = tidy(name, COLUMNS, [number for line, seeds in found for number in line_numbers(line, seeds)])
    return Table(name, titled(declared) + stand_ins(used.runs), long, display_frame(shown), notes)


def run_findings(results: Results, line: Line) -> Iterator[Seeds]:
    """Yield what was found about every ε of a run, over seeds."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for seed, several in results.findings(line.run).items():
        if wrong := broken_guarantees(several):
            raise Refuted(f"{line.run} seed {seed}: refuted: {wrong[0]}")
        for one in several:
            alike.setdefault((one.audit, one.about), []).append(one)
    yield from alike.values()


def line_numbers(line: Line, seeds: Seeds) -> Iterator[Number]:
    """Yield what is stated and what was found, each with all that gives it meaning."""
    first = seeds[0]
    key = {"row": line.label, "run": line.run, "column": f"{words(first.audit)}: {first.about}"}
    about = {name: getattr(first, name) for name in ABOUT} | {"verdict": verdict(seeds)}
    for quantity in ("epsilon", "lower_bound"):
        sample = [getattr(one, quantity) for one in seeds]
        yield {**key, **about, "quantity": quantity, "sample": sample}


def shown_line(line: Line, seeds: Seeds) -> dict[tuple[str, str], str]:
    """Return the cells of one line."""
    first = seeds[0]
    lower = float(np.mean([one.lower_bound for one in seeds]))
    return {
        ("", "Run"): line.label,
        ("Stated", "whose ε"): readable(first.about),
        ("Stated", "kind"): first.kind,
        ("Stated", "ε"): numbers.epsilon([one.epsilon for one in seeds], first.kind),
        ("Stated", "δ"): numbers.delta(first.delta),
        ("Audit", "name"): words(first.audit),
        # Rounded down.
        ("Audit", "lower bound"): numbers.size([np.floor(100 * lower) / 100 if lower >= 0.1 else lower]),
        ("Audit", "confidence"): first.sure,
        ("Audit", "verdict"): verdict(seeds),
        ("Audit", "cost"): first.cost,
    }


def readable(stated: str) -> str:
    """Return what a finding says of an ε as readers call it."""
    for ours, theirs in WORDS.items():
        stated = stated.replace(ours, theirs)
    return stated


def verdict(seeds: Seeds) -> str:
    """Return whether the stated ε is refuted, and in how many seeds where they do not agree."""
    refuted = sum(one.refuted for one in seeds)
    several = f" ({refuted} of {len(seeds)} seeds)" if 0 < refuted < len(seeds) else ""
    return ("refuted" if refuted else "not refuted") + several


def words(audit: str) -> str:
    """Return an audit as it is printed."""
    return audit.replace("_", " ")
