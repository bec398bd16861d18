"""Tables of ε: what every accountant counts of runs, and the lower bounds that audits put under it."""

from collections.abc import Sequence

import numpy as np

from fedpriv.account.statement import attacker_accuracy, kind_of, mark_epsilon
from fedpriv.audit.finding import THREATS, Finding, broken_guarantees
from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.paper.tables import AuditsTable, EpsilonsTable, LabelledRun
from fedpriv.report import numbers
from fedpriv.report.notes import LEVELS, RELATIONS, accountings, printed_table
from fedpriv.report.numbers import STATISTIC, Number, selector_words
from fedpriv.report.reading import MEANING, epsilon_at, ledger_rows, meaning
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, rows_of
from fedpriv.report.tables.accuracy import ReadCell, read_cells, reading_notes

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
    display, lines, audits = [], list[Number](), set[str]()
    for line in (line for line in declared.lines if results.has(line.run)):
        # What was found about every ε of a run, over seeds.
        alike: dict[tuple[str, str], list[Finding]] = {}
        for seed, several in results.findings(line.run).items():
            if wrong := broken_guarantees(several):
                raise Refuted(f"{line.run} seed {seed}: refuted: {wrong[0]}")
            for finding in several:
                alike.setdefault((finding.audit, finding.about), []).append(finding)
        for (audit, about), seeds in alike.items():
            audits.add(audit)
            display.append(shown_line(line, seeds))
            known = seeds[0]._asdict() | {"kind": kind_of(seeds[0].kind), "epsilon_status": seeds[0].kind}
            known |= {"verdict": audit_verdict(seeds)}
            meant = {name: known[name] for name in ABOUT}
            key = {"row": line.label, "run": line.run, "column": f"{audit_title(audit)}: {about}"}
            for quantity in ("epsilon", "lower_bound"):
                sample = [getattr(finding, quantity) for finding in seeds]
                lines.append({**key, **meant, "quantity": quantity, "sample": sample})
    return printed_table(
        results,
        declared,
        name,
        columns=AUDIT_COLUMNS,
        lines=lines,
        display=display or [{"Run": f"nothing to audit was run: {', '.join(declared.runs())}"}],
        notes=[HOW],
        details=[f"{audit_title(audit)}: {threat}" for audit, threat in THREATS.items() if audit in audits],
    )


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


OF_EPSILON = ("run", "delta", *SELECTOR_COLUMNS, *MEANING)
EPSILONS_TABLE_COLUMNS = ["table", "row", "column", "quantity", *STATISTIC, *OF_EPSILON]
CELLS = "Cells: ε, and in brackets the accuracy (%) of a membership attack that it leaves, uniform prior."
MATCHING = "A fair comparison has equal sensitivity: remove_sum goes with C, remove_mean with 2C."


def epsilons_table(results: Results, declared: EpsilonsTable, name: str) -> PrintedTable:
    """Return a line for every way of counting, a column for every place where the table was read."""
    of = declared.of
    base = read_cells(results, of)
    places = [place for place in base if place.ran and place.column in of.columns]
    heads = []
    for place in places:  # below a row's label, or the N and δ of its one run
        heading = place.row.label
        if not heading:
            delta = rows_of(results.epsilons, place.cell.run)["delta"].iloc[0]
            heading = f"N = {place.facts['clients']:,}, δ = {numbers.delta(delta)}"
        at = numbers.round_range(place.read["round"])
        heads.append(f"{heading} {of.columns[place.column].label}, round {at}")

    # A way of counting that no run here has is no line, unless there is no other.
    counted = {
        selector: [epsilon_numbers(results, place, selector) for place in places]
        for selector in declared.accountants
    }
    counted = {selector: cells for selector, cells in counted.items() if any(cells)} or counted
    both, display = any(row.budgets for row in of.rows), []
    for selector, cells in counted.items():
        lines = [line for some in cells for line in some if line["unit"] != "none"]
        header = {"ε counted by": str(selector)}
        statuses = sorted({line["epsilon_status"] for line in lines}) or [selector.kind]
        if len(statuses) > 1:  # the marks say which ε has which
            statuses = [mark_epsilon(status, status) for status in statuses]
        header["Status"] = "; ".join(statuses)
        header["Neighbours"] = ", ".join(
            RELATIONS[relation] for relation in sorted({line["relation"] for line in lines})
        )
        if both:  # whose ε it is, at which δ
            header["Level"] = ", ".join(LEVELS[unit] for unit in sorted({line["unit"] for line in lines}))
            deltas = sorted({line["delta"] for line in lines}, reverse=True)
            header["δ"] = ", ".join(map(numbers.delta, deltas))
        words = {name: text or numbers.NONE for name, text in header.items()}
        display.append(words | dict(zip(heads, map(cell, cells), strict=True)))
    by_place = zip(*counted.values(), strict=True)
    return printed_table(
        results,
        declared,
        name,
        columns=EPSILONS_TABLE_COLUMNS,
        lines=[line for ways in by_place for some in ways for line in some],
        display=display,
        notes=[CELLS, MATCHING],
        details=[*accountings(counted), *reading_notes(of, base)],
    )


def epsilon_numbers(results: Results, place: ReadCell, selector: EpsilonSelector) -> list[Number]:
    """Return an ε, and what it leaves to an attacker, at the rounds of `place`; nothing if not counted."""
    run = place.cell.run
    rows = ledger_rows(results, run, selector)
    if rows.empty:
        return []
    epsilons = epsilon_at(results, run, selector, place.read["round"])
    key = {"row": place.row.key, "column": place.column, "run": run}
    key |= selector_words(selector) | meaning(rows, "delta")
    return [
        key | {"quantity": "epsilon", "sample": epsilons},
        key | {"quantity": "attacker_accuracy", "sample": epsilons.map(attacker_accuracy)},
    ]


def cell(lines: Sequence[Number]) -> str:
    """Return ε and what it leaves to an attacker."""
    if not lines:
        return numbers.NONE
    text = numbers.epsilon_of_seeds(lines[0]["sample"], lines[0]["epsilon_status"])
    if text == numbers.NONE:
        return text
    return f"{text} ({numbers.attacker(float(attacker_accuracy(lines[0]['sample'].mean())))})"
