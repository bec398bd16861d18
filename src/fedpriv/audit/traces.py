"""Audits of a trace alone, whoever trained: what a unit costs whose part is always as large as the bound.

Nothing is sampled: the mechanisms are those of the trace, and a pair of neighbours is written out in full.
No ε below what one pair costs holds for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account.complete import complete
from fedpriv.account.ledgers import ledger, spends
from fedpriv.account.spend import Spend
from fedpriv.account.view import View
from fedpriv.account.views import views
from fedpriv.audit import worst
from fedpriv.audit.finding import Finding, finding
from fedpriv.frozen import Deltas

if TYPE_CHECKING:
    import pandas as pd

COST = "no run, no transcripts"
# Who sees what: sums with the noise of whoever adds them, the same with their size, or what a client sends.
SEEN = ("", "sized", "upload")


def audited(trace: pd.DataFrame, deltas: Deltas, ignore: Collection[str] = ()) -> list[Finding]:
    """Return a lower bound beside every ε of a trace that one pair of neighbours says something about.

    Raises BadInput, as `ledger` does.
    """
    stated = spends(ledger(trace, deltas, ignore=ignore))
    whole = views(complete(trace, ignore), {})
    return [found for view in whole for found in _of_view(view, stated, deltas.of(view.unit))]


def _of_view(view: View, stated: list[Spend], delta: float) -> Iterator[Finding]:
    """Yield the findings about one view: one bound for each relation, beside each ε that is stated of it."""
    independent = view.mechanism == "gaussian" and view.law != "spaced"
    if view.accounting not in SEEN or "C" not in view.certified or not independent:
        return
    bounds: dict[str, float] = {}
    for one in stated:
        ours = (one.unit, one.accounting, one.sampling_law) == (view.unit, view.accounting, view.law)
        # Of a cohort of fixed size nobody is taken away.
        if not ours or not 0 < one.epsilon < np.inf or (view.law, one.sensitivity) == ("fixed", "C"):
            continue
        name = "removed" if one.sensitivity == "C" else "replaced"
        if name not in bounds:
            bounds[name] = worst.epsilon(name, view.mechanisms, view.counts.sum(axis=0).tolist(), delta)
        yield finding(name, one, bounds[name], COST)
