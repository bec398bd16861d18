"""The accountants by name; to add one, write its file and its line here."""

from collections.abc import Callable

from fedpriv.account import bayesian, moments, pld, rdp
from fedpriv.account.spend import Curve
from fedpriv.account.view import View

# (view of a trace, δ) -> ε after every round, one curve for each way of counting.
Accountant = Callable[[View, float], list[Curve]]

ACCOUNTANTS: dict[str, Accountant] = {
    "moments": moments.curves,
    "rdp": rdp.curves,
    "pld": pld.curves,
    "bayesian": bayesian.curves,
}
