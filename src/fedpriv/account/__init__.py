"""From traces to ε. Nothing in here trains and nothing in here needs torch.

`ACCOUNTANTS` are the accountants by name; to add one, write its file and its line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account import bayesian, moments, pld, rdp
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd

# (trace, sampled distances, δ) -> ε after every round, one curve for each way of counting.
Accountant = Callable[["pd.DataFrame", Mapping[str, np.ndarray], float], list[Curve]]

ACCOUNTANTS: dict[str, Accountant] = {
    "moments": moments.curves,
    "rdp": rdp.curves,
    "pld": pld.curves,
    "bayesian": bayesian.curves,
}
