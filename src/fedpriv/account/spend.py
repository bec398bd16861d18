"""One ε with everything that gives it meaning."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


def attacker_accuracy(epsilon: float | np.ndarray) -> float | np.ndarray:
    """Return 1/(1+e^−ε), the bound on a membership guess from a flat prior.

    Federated Learning with Bayesian Differential Privacy, eq. (1).
    """
    return 1.0 / (1.0 + np.exp(-np.asarray(epsilon, dtype=np.float64)))[()]


class Deltas(NamedTuple):
    """The δ at which each unit is counted, and at which other σ a run is, named as in a run's config."""

    delta: float  # of clients
    instance_delta: float
    recount: tuple[float, ...] = ()

    def of(self, unit: str) -> float:
        """Return the δ of rows about `unit`."""
        return self.instance_delta if unit == "instance" else self.delta


@dataclass(frozen=True)
class Spend:
    """An (ε, δ) and whose presence, against which neighbours, under which sampling, by which accountant."""

    epsilon: float
    delta: float
    unit: str
    relation: str
    sampling_law: str
    accountant: str
    accounting: str = ""  # who sees what: sequential, parallel, sum, upload; empty for the server's own noise
    composition: str = ""
    distance: str = ""
    right_term: str = ""
    sensitivity: str = ""
    kind: str = "guarantee"
    assumptions_met: bool = True

    @property
    def attacker_accuracy(self) -> float:
        """Return the accuracy that this ε leaves to a membership guess from a flat prior."""
        return float(attacker_accuracy(self.epsilon))

    @property
    def words(self) -> dict[str, str]:
        """Return what gives ε and δ their meaning, by name; what does not apply is empty."""
        kind = f"{self.kind}, not a guarantee" if self.kind == "estimate" else self.kind
        if math.isinf(self.epsilon):
            kind = "nothing, for some release is without a bound, or without noise"
        mismatch = "sampling mismatch" if self.sampling_law == "fixed" else "assumptions not met"
        return {
            "unit": self.unit,
            "relation": self.relation,
            "sampling law": self.sampling_law,
            "accounting": self.accounting,
            "accountant": self.accountant,
            "composition": self.composition,
            "distance": self.distance,
            "right term": self.right_term,
            "sensitivity": self.sensitivity,
            "kind": kind,
            "attacker accuracy": f"{self.attacker_accuracy:.6g}",
            "assumptions": "" if self.assumptions_met else mismatch,
        }

    def __str__(self) -> str:
        """Return all of it on one line; what does not apply is left out."""
        alone = ("kind", "assumptions")  # say by themselves what they are
        words = [text if name in alone else f"{name} {text}" for name, text in self.words.items() if text]
        return f"ε = {self.epsilon:.4g} at δ = {self.delta:g} ({', '.join(words)})"


@dataclass(frozen=True)
class Curve:
    """ε after every round of one view, by one accountant; the labels are those of `Spend`."""

    epsilon: np.ndarray  # [rounds]
    order: np.ndarray  # [rounds], the λ or Rényi order that gave it, NaN if there is none
    accountant: str
    relation: str
    composition: str = ""
    distance: str = ""
    right_term: str = ""
    sensitivity: str = ""
    kind: str = "guarantee"
    assumptions_met: bool = True
