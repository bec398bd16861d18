"""What audits found beside what is stated: a line for every ε that an audit has something to say about."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fedpriv.audit.finding import THREATS, Finding
from fedpriv.audit.finished import broken_guarantees
from fedpriv.paper.cells import titled
from fedpriv.paper.tables import AuditsTable, Line
from fedpriv.report import numbers
from fedpriv.report.audits import findings
from fedpriv.report.notes import footnotes, stand_ins
from fedpriv.report.reading import present
from fedpriv.report.render import Table
from fedpriv.report.tables.long import as_frame

COLUMNS = ["table", "row", "run", "seed", *Finding._fields, "verdict"]
HOW = (
    "Lower bound: after the last round. No smaller ε holds, at the confidence, or by arithmetic for known "
    "neighbours. Of several seeds means, and in how many the stated ε is refuted. An estimate that is "
    "refuted is too small for the client in question; a guarantee would be an error of this suite."
)


class Refuted(RuntimeError):
    """A guarantee that an audit refutes: an error of whoever stated it, so that nothing is printed."""


def audits_table(frame: pd.DataFrame, declared: AuditsTable, name: str) -> Table:
    """Return a line for every run and ε that is audited; a refuted guarantee is the error that names it."""
    found = {line: by_seed(frame, line, declared) for line in declared.lines if present(frame, line.run)}
    every = [(line, seed, one) for line, seeds in found.items() for seed, one in seeds]
    for line, seed, one in every:
        if broken_guarantees([one]):
            raise Refuted(f"{line.run} seed {seed}: refuted: {one}")
    lines = [
        {
            "table": name,
            "row": line.label,
            "run": line.run,
            "seed": seed,
            "verdict": one.verdict,
            **one._asdict(),
        }
        for line, seed, one in every
    ]
    missing = [line.run for line in declared.lines if line not in found]
    used = frame.loc[frame["run"].isin([line.run for line in found])]
    shown = [cells for line, seeds in found.items() for cells in shown_lines(line, [one for _, one in seeds])]
    shown = shown or [{("", "Run"): "not run: " + ", ".join(missing)}]
    threats = [
        f"{audit.replace('_', ' ')}: {threat}"
        for audit, threat in THREATS.items()
        if any(one.audit == audit for _, _, one in every)
    ]
    notes = [*declared.notes, HOW, *threats, *footnotes(used, missing)]
    long = pd.DataFrame(lines, columns=COLUMNS)
    return Table(name, titled(declared) + stand_ins(used), long, as_frame(shown), notes)


def by_seed(frame: pd.DataFrame, line: Line, declared: AuditsTable) -> list[tuple[int, Finding]]:
    """Return what was found about a run, with the seed that it was found at."""
    return [
        (seed, one)
        for seed, several in findings(frame, line.run).items()
        for one in several
        if one.audit in (declared.audits or THREATS)
    ]


def shown_lines(line: Line, every: list[Finding]) -> Iterator[dict[tuple[str, str], str]]:
    """Yield the finished text of a run: a line for each ε and audit, over seeds."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in every:
        alike.setdefault((one.audit, one.about), []).append(one)
    for (audit, about), seeds in alike.items():
        refuted = sum(one.refuted for one in seeds)
        verdict = "refuted" if refuted else "not refuted"
        several = f" ({refuted} of {len(seeds)} seeds)" if 0 < refuted < len(seeds) else ""
        sure = f"{100 * seeds[0].confidence:g} %" if seeds[0].confidence < 1 else "arithmetic"
        epsilons = [one.epsilon for one in seeds]
        yield {
            ("", "Run"): line.label,
            ("Stated", "whose ε"): about,
            ("Stated", "kind"): seeds[0].kind,
            ("Stated", "ε"): numbers.epsilon(epsilons),
            ("Stated", "δ"): numbers.delta(seeds[0].delta),
            ("Audit", "name"): audit.replace("_", " "),
            ("Audit", "lower bound"): shown(seeds),
            ("Audit", "confidence"): sure,
            ("Audit", "verdict"): verdict + several,
            ("Audit", "cost"): seeds[0].cost,
        }


def shown(seeds: list[Finding]) -> str:
    """Return the mean of lower bounds over seeds, rounded down."""
    mean = float(np.mean([one.lower_bound for one in seeds]))
    return "∞" if np.isinf(mean) else numbers.epsilon([np.floor(100 * mean) / 100 if mean >= 0.1 else mean])
