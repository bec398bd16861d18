"""From traces to ε. Nothing in here trains and nothing in here needs torch.

What is public:

- `ledger`: ε after every round of a trace, by every accountant; `statements`: what it says of the last round.
- `epsilon`, `calibrate`, `affordable_rounds`: before a run, what a plan costs, the noise and the rounds that
  an ε allows.
- `ACCOUNT_VERSION`: which version of the accounting this is, as every ledger says.
- `PrivacyStatement`: one ε with everything that gives it meaning; `Deltas`: δ by the unit that it is for.
- `ACCOUNTANTS`: the accountants by name.
"""

from fedpriv.account.ledgers import ACCOUNTANTS, LEDGER, Accountant, ledger, statements
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
