"""What an audit knows of a finished run, and what it finds.

A finding is a lower bound beside the ε that is stated, with all that gives it meaning. Each audit is a
function of what is known of a run (trace, sampled distances, ledger; no torch), which yields a finding
for every ε that it has something to say about. To add one, write it, its line here, and who attacks.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedpriv.account.check import Trace
from fedpriv.account.ledgers import LEDGER, statements
from fedpriv.account.statement import PrivacyStatement, mark_epsilon
from fedpriv.account.views import View, views
from fedpriv.streams import Streams

# Beyond this share of a stated ε a lower bound refutes it: accountants round ε up, and by less.
ROUNDING = 1e-6
ARITHMETIC = "no run, no transcripts"  # the cost of what nothing is sampled for


def how_counted(statement: Any) -> str:
    """How an ε is counted, of a `PrivacyStatement` or the labels of one, in the words of the ledger."""
    words = (
        statement.accounting,
        statement.accountant,
        statement.composition,
        statement.distance,
        statement.sensitivity,
    )
    return " ".join(filter(None, words))


class Finding(NamedTuple):
    """A lower bound on an ε that is stated at δ.

    `confidence` 1: by arithmetic, nothing is sampled; 0: an estimate, which refutes nothing.
    """

    audit: str  # one of `THREATS`
    about: str  # whose ε: of which client, example or bit, and how it is counted
    kind: str  # what the stated ε is: its status
    epsilon: float  # stated
    delta: float
    lower_bound: float
    confidence: float
    cost: str  # in runs and transcripts
    broken: str = ""  # what is not as stated, where that alone refutes it
    attacked: tuple[str, ...] = ()  # of a dry run: the parts of the mechanism that were looked at
    not_attacked: tuple[str, ...] = ()  # and those that were not, and why

    @property
    def refuted(self) -> bool:
        """True where the stated ε does not hold, at the confidence."""
        if self.broken:
            return True
        beyond = self.lower_bound > self.epsilon * (1 + ROUNDING) and not math.isinf(self.epsilon)
        return bool(beyond and self.confidence > 0)

    @property
    def verdict(self) -> str:
        """Return refuted, or not refuted: an audit never proves an ε."""
        return "refuted" if self.refuted else "not refuted"

    @property
    def stated(self) -> str:
        """Return the stated ε with its mark."""
        return mark_epsilon(f"{self.epsilon:.4g}", self.kind)

    @property
    def sure(self) -> str:
        """Confidence of the lower bound, in words."""
        return {0.0: "estimate", 1.0: "arithmetic"}.get(self.confidence, f"{100 * self.confidence:g} %")

    @property
    def threat(self) -> str:
        """Attacker and means, in one sentence."""
        return THREATS[self.audit]

    @property
    def scope(self) -> str:
        """Parts of a mechanism that were attacked, and those that were not, in one sentence."""
        left = "; ".join(self.not_attacked) or "nothing"
        return f"Attacked: {', '.join(self.attacked)}. Not attacked: {left}."

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data; what was attacked only of a dry run, which says it."""
        fields = self._asdict() if self.attacked else {name: getattr(self, name) for name in STORED}
        return fields | {"refuted": self.refuted, "verdict": self.verdict, "threat": self.threat}

    def __str__(self) -> str:
        """Return all of it on one line."""
        broken = f"; {self.broken}" if self.broken else ""
        return (
            f"{self.about}: {self.kind} ε = {self.stated} at δ = {self.delta:g}, "
            f"lower bound {self.lower_bound:.4g} ({self.sure}): {self.verdict}{broken} "
            f"({self.audit.replace('_', ' ')}; {self.cost})"
        )


# The columns of a finding about a run.
STORED = [name for name in Finding._fields if name not in ("attacked", "not_attacked")]


def counting_text(statement: PrivacyStatement) -> str:
    """Owner of the ε, and how it is counted."""
    return f"{statement.unit} ({how_counted(statement)})"


def finding(
    audit: str, stated: PrivacyStatement, lower: float, cost: str, confidence: float = 1.0
) -> Finding:
    """Return the finding about an ε of a ledger; what rests on something that is not so is no guarantee."""
    return Finding(
        audit, counting_text(stated), stated.status, stated.epsilon, stated.delta, lower, confidence, cost
    )


def broken_guarantees(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that refute a guarantee: one of them is an error of the suite, not a result."""
    return [finding for finding in findings if finding.refuted and finding.kind == "guarantee"]


# Audit -> who attacks, and with what.
THREATS = {
    "dry_run": (
        "An attacker who sees every noisy sum, knows all except one client's sampling and the noise, and has "
        "chosen that client's update."
    ),
    "canaries": (
        "An attacker who sees every noisy sum of one training run, knows what everybody else sent, and has "
        "put clients into it whose updates are random directions."
    ),
    "final_model": (
        "An attacker who sees nothing but the model at the end of one training run, and has put clients into "
        "it whose updates are random directions: what it learns is estimated so, and not bounded."
    ),
    "removed": (
        "An attacker who sees every release of a trace, knows what all others sent, and asks whether one "
        "takes part whose part is always as large as the bound lets it be."
    ),
    "replaced": (
        "An attacker who sees every release of a trace, knows what all others sent, and asks which of two "
        "takes part, whose parts are always opposite and as large as the bound lets them be."
    ),
    "followed": (
        "An attacker who sees every noisy sum, knows every update, and asks whether one real client, whose "
        "updates were as far from zero as they were in this run, takes part."
    ),
    "outlier": (
        "An attacker who sees every noisy sum, and asks whether a client takes part whose updates are always "
        "as large as the bound lets them be: whoever wants to can send such updates."
    ),
    "frequency": (
        "An attacker who sees every noisy sum and asks about a client chosen at random among those that were "
        "followed: the estimate may fail for some of them, as long as that is rarer than δ."
    ),
    "bits": "An attacker who sees every upload of a client, and asks which of two values one bit has.",
    "uploads": (
        "An attacker who sees every upload of a client, and asks which of two clients it is, who differ in "
        "more bits than one."
    ),
    "tensors": (
        "An attacker who sees one upload, and asks which of two vectors it is, neither the other's opposite."
    ),
    "example": (
        "An attacker who sees every upload of a client, and asks which of two data sets it has, of which one "
        "example drives its weights as far apart as it is taken to."
    ),
    "neighbours": (
        "An attacker who sees every upload of a client, and asks which of two data sets it has, of which one "
        "example differs: a client of this run trained on both, with the same randomness."
    ),
    "client": "An attacker who sees every upload, and asks which of two clients sends it.",
    "clear": "An attacker who sees the numbers of an upload that are sent without noise.",
    "single": (
        "The server, which receives every upload by itself, and asks whether a client sent what it did, or "
        "noise alone."
    ),
    "sum": (
        "An attacker who sees a sum of noisy uploads and knows the others' gradients, and asks whether one "
        "client takes part that sends its noise, too."
    ),
    "unbounded": (
        "An attacker who sees one release, and asks whether a client takes part whose update is as large "
        "as it likes: nothing bounds it."
    ),
    "batches": (
        "An attacker who sees one noisy gradient, and asks whether an example is in its batch that turns the "
        "clipped mean of the batch round."
    ),
}


@dataclass(frozen=True)
class Known:
    """A run: what happened, how far clients were, what it cost, how it was set."""

    trace: Trace
    distances: dict[str, np.ndarray]
    statements: list[PrivacyStatement]  # at the last round
    scheme: Mapping[str, Any]  # its config
    parameters: int
    identity: str

    @cached_property
    def views(self) -> list[View]:
        """Return every view of the trace, whose distances are checked."""
        return views(self.trace, self.distances)

    def view(self, unit: str, accounting: str = "") -> View | None:
        """Return the view of the trace that is so called; the one whose assumptions hold, of two.

        None where clients are not sampled by coins, or noise is not independent.
        """
        namesakes = [
            view
            for view in self.views
            if (view.unit, view.accounting) == (unit, accounting)
            and view.law in ("poisson", "full")
            and view.mechanism == "gaussian"
        ]
        return namesakes[-1] if namesakes else None

    def stated(self, unit: str, **labels: str) -> Iterator[PrivacyStatement]:
        """Yield the finite ε of a unit that have these values, in the order of the ledger."""
        for statement in self.statements:
            alike = all(getattr(statement, name) == value for name, value in labels.items())
            if statement.unit == unit and alike and 0 < statement.epsilon < np.inf:
                yield statement

    def rng(self, name: str) -> np.random.Generator:
        """Return the generator of an audit of this run: the same whenever it is repeated."""
        return Streams(0, self.identity).numpy(f"audit {name}")


def known_run(directory: Path) -> Known:
    """Facts of an accounted run directory, with its distances if there are any.

    Raises BadInput naming what is missing or corrupt.
    """
    from fedpriv.account.runs import run_trace  # an audit of a plain trace has no need of pyarrow
    from fedpriv.store.rundir import RunDir

    run = RunDir(directory)
    facts, trace, ledger = run.summary, run_trace(run), run.ledger(LEDGER)
    return Known(
        trace,
        run.distances() if run.sources[-1].exists() else {},
        statements(ledger),
        facts.get("config", {}).get("scheme", {}),
        int(facts.get("parameters", 0)),
        str(facts.get("identity", "")),
    )
