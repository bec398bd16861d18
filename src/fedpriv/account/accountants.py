"""The accountants by name; to add one, write its file and its line here."""

from collections.abc import Callable
from typing import NamedTuple

from fedpriv.account import bayesian, moments, pld, rdp
from fedpriv.account.spend import Curve
from fedpriv.account.view import View
from fedpriv.registry import Registry


class Accountant(NamedTuple):
    """How ε is counted, and of which mechanisms: of any other it has nothing to say, and no row."""

    # (view of a trace, δ) -> ε after every round, one curve for each way of counting.
    curves: Callable[[View, float], list[Curve]]
    mechanisms: tuple[str, ...] = ("gaussian",)  # of `fedpriv.trace.MECHANISMS`


ACCOUNTANTS: Registry[Accountant] = Registry(
    "accountants",
    Accountant,
    {
        "moments": Accountant(moments.curves),
        "rdp": Accountant(rdp.curves),
        "pld": Accountant(pld.curves),
        "bayesian": Accountant(bayesian.curves),
    },
)
