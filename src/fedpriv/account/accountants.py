"""The accountants by name; to add one, write its file and its line here."""

from collections.abc import Callable
from typing import NamedTuple

from fedpriv.account import bayesian, matrix, moments, pld, rdp
from fedpriv.account.spend import Curve
from fedpriv.account.view import View
from fedpriv.registry import Registry


class Accountant(NamedTuple):
    """How ε is counted, of which mechanisms and by which sampling: of any other it has no row."""

    # (view of a trace, δ) -> ε after every round, one curve for each way of counting.
    curves: Callable[[View, float], list[Curve]]
    mechanisms: tuple[str, ...] = ("gaussian",)  # of `fedpriv.trace.MECHANISMS`
    laws: tuple[str, ...] = ("poisson", "fixed", "full", "seen")  # how units get into a release
    # ε of a plan, from keywords sampling_rate, noise_multiplier, rounds, delta, and what else it may be told
    plan: Callable[..., float] | None = None
    planned_law: str = "poisson"  # that a plan has, at a rate below 1

    def counts(self, view: View) -> bool:
        """Return whether it has anything to say of a view."""
        return view.mechanism in self.mechanisms and view.law in self.laws


ACCOUNTANTS: Registry[Accountant] = Registry(
    "accountants",
    Accountant,
    {
        "moments": Accountant(moments.curves, plan=moments.epsilon),
        "rdp": Accountant(rdp.curves, plan=rdp.epsilon),
        "pld": Accountant(pld.curves, plan=pld.epsilon),
        "bayesian": Accountant(bayesian.curves),
        "matrix": Accountant(
            matrix.curves,
            ("correlated_gaussian", "gaussian"),
            ("poisson", "fixed", "full", "spaced"),
            matrix.epsilon,
            "spaced",
        ),
    },
)
