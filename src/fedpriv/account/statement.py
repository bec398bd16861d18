"""One ε with everything that gives it meaning."""

import math
from dataclasses import dataclass

import numpy as np

NO_GUARANTEE = "not a guarantee"
# What an ε is counted to be -> what it is.
STATUSES = {
    "guarantee": "guarantee",
    "estimate": "estimate",
    "counterfactual": f"{NO_GUARANTEE}: the run did not clip at this bound",
    "nominal": "nominal",  # somebody says so
}
# Assumptions that fail, as a ledger and a status name them; the notes of a table say what each means.
PRIVATE_NORM = "the clipping norm is a private statistic"
FIXED = "cohorts have a fixed size"
LEAST_UNKNOWN = "the noise of clients that did not come is not known"
SIZE_SEEN = "the number of participants leaks"
OTHER_DENOMINATOR = "the sum has another denominator"
SAME_FLIPS = "the other bits of the tensor flip together"
SAME_CLIENT = "the client that holds an example stays the same"
MEAN_CLIPPED = "one example may move a clipped mean by 2C"
SAME_NOISE = "runs of one name and seed draw the same noise"
NO_TERM = "so few equal distances have no confidence term"

MARKS = {"†": "not a guarantee", "‡": "an estimate, never a guarantee"}


def attacker_accuracy(epsilon: float | np.ndarray) -> float | np.ndarray:
    """Return 1/(1+e^−ε), the bound on a membership guess from a uniform prior.

    Federated Learning with Bayesian Differential Privacy, eq. (1).
    """
    return 1.0 / (1.0 + np.exp(-np.asarray(epsilon, dtype=np.float64)))[()]


def status(kind: str, violation: str = "") -> str:
    """Status of an ε of this kind, in one word, and the assumption that fails where one does.

    `guarantee` is said of nothing else than a guarantee whose assumptions all hold.
    """
    if kind == "guarantee" and violation:
        return f"{NO_GUARANTEE}: {violation}"
    word = STATUSES[kind]
    return f"{word}: {violation}" if violation and NO_GUARANTEE not in word else word


def kind_of(status: str) -> str:
    """Return the kind of the ε that has this status."""
    kinds = {word: kind for kind, word in STATUSES.items()}
    return kinds.get(status) or kinds.get(status.partition(":")[0], "guarantee")  # one that fails


def mark_epsilon(epsilon: str, status: str) -> str:
    """Return an ε of this status as it is printed everywhere: a mark of `MARKS` behind all but a guarantee.

    Nothing, or ∞, says no number that could be taken for one.
    """
    if status == "guarantee" or epsilon in ("", "—", "∞", "inf", "nan"):
        return epsilon
    return f"{epsilon}{'‡' if status.startswith('estimate') else '†'}"


def legend(*texts: str) -> str:
    """Meanings of the marks in some texts; empty where there is none."""
    return "; ".join(f"{sign}: {meaning}" for sign, meaning in MARKS.items() if sign in "".join(texts))


@dataclass(frozen=True)
class PrivacyStatement:
    """An (ε, δ) and whose presence, against which neighbours, under which sampling, by which accountant.

    >>> statement = str(PrivacyStatement(2.0, 1e-5, "client", "add_remove", "poisson", "moments"))
    >>> statement.split(" (")[0], "guarantee" in statement.split(", ")
    ('ε = 2 at δ = 1e-05', True)
    >>> PrivacyStatement(2.0, 1e-5, "client", "add_remove", "poisson", "bayesian", kind="estimate").status
    'estimate'
    """

    epsilon: float
    delta: float
    unit: str
    relation: str
    sampling_law: str
    accountant: str
    accounting: str = ""  # who sees what: sequential, parallel, sum, upload; empty for the server's own noise
    composition: str = ""
    distance: str = ""
    sensitivity: str = ""
    kind: str = "guarantee"
    violation: str = ""  # the assumption that fails; empty if all hold
    population: int | None = None  # how many units there are, where somebody says so

    @property
    def note(self) -> str:
        """Return why an ε that is right means nothing at its δ; empty where it does, or nobody knows n."""
        if not self.population or self.delta < 1 / self.population:
            return ""
        most = f"1/n = {1 / self.population:.3g} (n = {self.population:,} {self.unit}s)"
        return f"δ = {self.delta:g} is not below {most}: whoever publishes one of them, at random, keeps it"

    @property
    def assumptions_met(self) -> bool:
        """True where all holds that the ε assumes."""
        return not self.violation

    @property
    def status(self) -> str:
        """Status of the ε: a guarantee, none and why, an estimate, or nominal."""
        return status(self.kind, self.violation)

    @property
    def attacker_accuracy(self) -> float:
        """Return the accuracy that this ε leaves to a membership guess from a uniform prior."""
        return float(attacker_accuracy(self.epsilon))

    @property
    def words(self) -> dict[str, str]:
        """Words that give ε and δ their meaning, by name; what does not apply is empty."""
        status = self.status.replace("estimate", f"estimate, {NO_GUARANTEE}")
        if math.isinf(self.epsilon):
            status = "nothing, for some release is without a bound, or without noise"
        return {
            "unit": self.unit,
            "relation": self.relation,
            "sampling law": self.sampling_law,
            "accounting": self.accounting,
            "accountant": self.accountant,
            "composition": self.composition,
            "distance": self.distance,
            "sensitivity": self.sensitivity,
            "status": status,
            "attacker accuracy": f"{self.attacker_accuracy:.6g}",
        }

    @property
    def shown(self) -> str:
        """Return the ε with its mark."""
        return mark_epsilon(f"{self.epsilon:.4g}", self.status)

    def __str__(self) -> str:
        """Return all of it on one line; what does not apply is left out."""
        words = [text if name == "status" else f"{name} {text}" for name, text in self.words.items() if text]
        note = f"; {self.note}" if self.note else ""
        return f"ε = {self.shown} at δ = {self.delta:g} ({', '.join(words)}){note}"


@dataclass(frozen=True)
class Curve:
    """ε after every round of one view, by one accountant; the labels are those of `PrivacyStatement`."""

    epsilon: np.ndarray  # [rounds]
    order: np.ndarray  # [rounds], the λ or Rényi order that gave it, NaN if there is none
    accountant: str
    relation: str
    composition: str = ""
    distance: str = ""
    sensitivity: str = ""
    kind: str = "guarantee"
    violation: str | np.ndarray = ""  # the assumption that fails, or that of each round; empty if all hold
