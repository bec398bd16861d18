"""The accountants: how ε is counted, and what of. To add one, write its file and its line here.

An accountant says what it is: whether its ε is a guarantee, which mechanisms and sampling laws it can
count, and by which words a paper asks for one of its ε. What counts is named by its import path, and
loaded when it counts: papers and the command line read what accountants are, and import nothing more.

>>> ACCOUNTANTS["bayesian"].kind, ACCOUNTANTS["exact"].sensitivities
('estimate', ('bit',))
>>> [name for name, accountant in ACCOUNTANTS.items() if "2C" in accountant.sensitivities][:3]
['moments', 'rdp', 'pld']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from fedpriv.registry import Registry
from fedpriv.trace import DISTANCES, SAMPLED

if TYPE_CHECKING:
    from fedpriv.account.statement import Curve
    from fedpriv.account.views import View

Function = Callable[..., Any]


@dataclass(frozen=True)
class Accountant:
    """How ε is counted, of which mechanisms and by which sampling: of any other it has no row.

    A function is itself, or its import path, `module:name`.
    """

    # (view of a trace, δ) -> ε after every round, one curve for each way of counting.
    curves: Callable[[View, float], list[Curve]] | str
    mechanisms: tuple[str, ...] = ("gaussian",)  # of `fedpriv.trace.MECHANISMS`
    laws: tuple[str, ...] = SAMPLED  # how units get into a release
    # ε of a plan, from keywords sampling_rate, noise_multiplier, rounds, delta, and what else it may be told
    plan: Callable[..., float] | str | None = None
    planned_law: str = "poisson"  # that a plan has, at a rate below 1
    assumes: str = ""  # what a plan does, in a sentence for who asks at a terminal
    kind: Literal["guarantee", "estimate"] = "guarantee"
    # What tells its ε of one view apart: how far apart neighbours are, or in how many bits; or, of an
    # estimate, how rounds are composed and which distance was sampled.
    sensitivities: tuple[str, ...] = ("C", "2C")
    compositions: tuple[str, ...] = ()
    distances: tuple[str, ...] = ()

    def can_count(self, view: View) -> bool:
        """Return True for a view that it can count."""
        apart = not self.sensitivities or not view.relations.keys().isdisjoint(self.sensitivities)
        return view.mechanism in self.mechanisms and view.law in self.laws and apart

    def count(self, view: View, delta: float) -> list[Curve]:
        """Return ε at δ after every round of a view, one curve for each way of counting."""
        return loaded(self.curves)(view, delta)

    def planned(self, **plan: Any) -> float:
        """Return ε of a plan."""
        assert self.plan
        return loaded(self.plan)(**plan)

    @property
    def settings(self) -> list[str]:
        """Keywords of its plans beside those of every plan."""
        parameters = signature(loaded(self.plan)).parameters if self.plan else ()
        return [name for name in parameters if name not in PLAN]


PLAN = ("sampling_rate", "noise_multiplier", "rounds", "delta")  # of every plan


def loaded(function: Function | str) -> Function:
    """Return a function that is named by its import path."""
    return resolve_name(function) if isinstance(function, str) else function


ACCOUNTANTS: Registry[Accountant] = Registry(
    "accountants",
    Accountant,
    {
        "moments": Accountant("fedpriv.account.moments:curves", plan="fedpriv.account.moments:epsilon"),
        "rdp": Accountant(
            "fedpriv.account.rdp:curves",
            mechanisms=("gaussian", "randomized_response"),
            plan="fedpriv.account.rdp:epsilon",
            sensitivities=("C", "2C", "bit", "bits", "all"),
        ),
        "pld": Accountant(
            "fedpriv.account.pld:curves",
            laws=("poisson", "fixed", "full"),
            plan="fedpriv.account.pld:epsilon",
        ),
        "bayesian": Accountant(
            "fedpriv.account.bayesian:curves",
            kind="estimate",
            sensitivities=(),
            compositions=("product", "hoelder", "panel"),
            distances=tuple(DISTANCES),
        ),
        "exact": Accountant(
            "fedpriv.account.randomized_response:exact_curves",
            mechanisms=("randomized_response",),
            sensitivities=("bit",),
        ),
        "theorem": Accountant(
            "fedpriv.account.randomized_response:theorem_curves",
            mechanisms=("randomized_response",),
            sensitivities=("bit",),
        ),
    },
)
