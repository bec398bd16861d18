"""What an audit found: a lower bound beside the ε that is stated, and all that gives it meaning."""

from __future__ import annotations

import math
from typing import NamedTuple

# Beyond this share of a stated ε a lower bound refutes it: accountants round ε up, and by less.
ROUNDING = 1e-6


class Finding(NamedTuple):
    """A lower bound (`confidence` 1: by arithmetic, nothing is sampled) on an ε that is stated at δ."""

    audit: str  # one of `THREATS`
    about: str  # whose ε: of which client, example or bit, and how it is counted
    kind: str  # of the stated ε: guarantee, estimate, label
    epsilon: float  # stated
    delta: float
    lower_bound: float
    confidence: float
    cost: str  # in runs and transcripts
    broken: str = ""  # what is not as stated, where that alone refutes it

    @property
    def refuted(self) -> bool:
        """Return whether the stated ε does not hold, at the confidence."""
        if self.broken:
            return True
        return self.lower_bound > self.epsilon * (1 + ROUNDING) and not math.isinf(self.epsilon)

    @property
    def verdict(self) -> str:
        """Return refuted, or not refuted: an audit never proves an ε."""
        return "refuted" if self.refuted else "not refuted"

    @property
    def threat(self) -> str:
        """Return who attacks, and with what, in one sentence."""
        return THREATS[self.audit]

    def __str__(self) -> str:
        """Return all of it on one line."""
        sure = "by arithmetic" if self.confidence == 1 else f"at {100 * self.confidence:g} %"
        broken = f"; {self.broken}" if self.broken else ""
        return (
            f"{self.about}: {self.kind} ε = {self.epsilon:.4g} at δ = {self.delta:g}, "
            f"lower bound {self.lower_bound:.4g} {sure}: {self.verdict}{broken} "
            f"({self.audit.replace('_', ' ')}; {self.cost})"
        )


# Audit -> who attacks, and with what.
THREATS = {
    "dry_run": (
        "An attacker who sees every noisy sum, knows everything but one client's coins and the noise, and has "
        "chosen that client's update."
    ),
    "canaries": (
        "An attacker who sees every noisy sum of one training run and has put clients into it whose updates "
        "are random directions."
    ),
    "followed": (
        "An attacker who sees every noisy sum and knows every update, and asks whether one real client, whose "
        "updates were as far from zero as they were in this run, takes part."
    ),
    "outlier": (
        "An attacker who sees every noisy sum, and asks whether a client takes part whose updates are always as "
        "large as the bound lets them be: whoever wants to can send such updates."
    ),
    "bits": "An attacker who sees every upload of a client, and asks which of two opposite values one bit has.",
    "uploads": (
        "An attacker who sees every upload of a client, and asks which of two clients it is that differ in "
        "every bit that is flipped."
    ),
    "tensors": "An attacker who sees one upload, and asks which of two vectors it is, neither the other's opposite.",
    "example": (
        "An attacker who sees every upload of a client, and asks which of two data sets it has that differ in "
        "one example and drive its weights as far apart as they can go."
    ),
    "client": "An attacker who sees every upload, and asks which of two clients sends it.",
    "sum": (
        "An attacker who sees every sum of noisy uploads and knows the others' gradients, and asks whether one "
        "client takes part that sends its noise, too."
    ),
    "unbounded": (
        "An attacker who sees one noisy sum, and asks whether a client takes part whose update is as large as "
        "it likes: nothing bounds it."
    ),
    "batches": (
        "An attacker who sees one noisy gradient, and asks whether an example is in its batch that turns the "
        "clipped mean of the batch round."
    ),
}
