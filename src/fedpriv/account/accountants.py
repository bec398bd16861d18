"""The accountants by name; to add one, write its file and its line here."""

from collections.abc import Callable

from fedpriv.account import bayesian, moments, pld, rdp
from fedpriv.account.spend import Curve
from fedpriv.account.view import View
from fedpriv.registry import Registry

# (view of a trace, δ) -> ε after every round, one curve for each way of counting.
Accountant = Callable[[View, float], list[Curve]]

ACCOUNTANTS: Registry[Accountant] = Registry(
    "accountants",
    Callable,
    {
        "moments": moments.curves,
        "rdp": rdp.curves,
        "pld": pld.curves,
        "bayesian": bayesian.curves,
    },
)
