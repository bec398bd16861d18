"""From traces to ε. Nothing in here trains and nothing in here needs torch.

What is public, each loaded when it is first asked for:

- `ledger`: ε after every round of a trace, by every accountant; `statements`: what it says of the last round.
- `epsilon`, `calibrate`, `affordable_rounds`: before a run, what a plan costs, the noise and the rounds that
  an ε allows.
- `ACCOUNT_VERSION`: which version of the accounting this is, as every ledger says.
- `PrivacyStatement`: one ε with everything that gives it meaning; `Deltas`: δ by the unit that it is for.
- `ACCOUNTANTS`: the accountants by name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedpriv.account.accountants import ACCOUNTANTS, Accountant
    from fedpriv.account.ledgers import LEDGER, ledger, statements
    from fedpriv.account.plans import affordable_rounds, calibrate, epsilon
    from fedpriv.account.statement import PrivacyStatement
    from fedpriv.frozen import ACCOUNT_VERSION, Deltas

__all__ = [
    "ACCOUNTANTS",
    "ACCOUNT_VERSION",
    "LEDGER",
    "Accountant",
    "Deltas",
    "PrivacyStatement",
    "affordable_rounds",
    "calibrate",
    "epsilon",
    "ledger",
    "statements",
]
_MODULES = {
    "fedpriv.account.accountants": ("ACCOUNTANTS", "Accountant"),
    "fedpriv.account.ledgers": ("LEDGER", "ledger", "statements"),
    "fedpriv.account.plans": ("affordable_rounds", "calibrate", "epsilon"),
    "fedpriv.account.statement": ("PrivacyStatement",),
    "fedpriv.frozen": ("ACCOUNT_VERSION", "Deltas"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
