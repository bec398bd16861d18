"""Audits of a trace alone, whoever trained: what a unit costs whose part is always as large as the bound.

Nothing is sampled: the mechanisms are those of the trace, and a pair of neighbours is written out in
full. `removed`: with somebody who always sends all that the bound allows, and without. `replaced`: who
sends the opposite instead. Everybody else sends nothing, or what the attacker knows. No ε below what one
pair costs holds for all.
"""

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd

from fedpriv.account import loss, pld
from fedpriv.account.check import checked_trace
from fedpriv.account.ledgers import ledger, statements
from fedpriv.account.rdp import gaussian_epsilon
from fedpriv.account.statement import PrivacyStatement
from fedpriv.account.views import Mechanism, View, planned_mechanism, views
from fedpriv.audit import clients
from fedpriv.audit.finding import ARITHMETIC, Finding, finding
from fedpriv.frozen import Deltas
from fedpriv.trace import SAMPLED

APART = {"removed": 1.0, "replaced": 2.0}  # of those who are drawn, in units of the bound


def pair_epsilon(name: str, mechanisms: Sequence[Mechanism], times: Sequence[int], delta: float) -> float:
    """Return a lower bound on ε of neighbours `removed` or `replaced`, of so many of each mechanism.

    Of Poisson, full and fixed cohorts: of the last, sums of m of n, only where somebody is `replaced`.
    """
    run = [(one, count) for one, count in zip(mechanisms, times, strict=True) if count]
    if any(one.noise_multiplier == 0 for one, _ in run):
        return math.inf
    together = math.hypot(
        *(APART[name] * math.sqrt(count) / one.noise_multiplier for one, count in run if rate_of(one) == 1)
    )
    drawn = [
        (planned_mechanism(rate_of(one), one.noise_multiplier), count)
        for one, count in run
        if rate_of(one) < 1
    ]
    if not drawn:  # all of it is one release, whose ε is known but for what its solver is off
        found = gaussian_epsilon(together, delta)
        return max(0.0, found - clients.SOLVED * (1 + found))
    whole = [(planned_mechanism(1.0, 1 / together * APART[name]), 1)] if together else []
    releases, counts = zip(*drawn, *whole, strict=True)
    steps = [clients.finest_width(one.sampling_rate, 1 / one.noise_multiplier) for one in releases]
    bound = clients.lower_bound if name == "removed" else replacement_bound
    return clients.refine_bound(releases, counts, delta, min(steps), bound)


def rate_of(one: Mechanism) -> float:
    """Return the chance of a unit to be in a release."""
    return one.sample / one.population if one.law == "fixed" else one.sampling_rate


def replacement_bound(
    releases: Sequence[Mechanism], times: Sequence[int], width: float, delta: float
) -> float:
    """Return a lower bound on ε of so many of each release, in which a unit sends the opposite."""
    found = [
        loss.replacement_loss_from_below(one.sampling_rate, one.noise_multiplier, width) for one in releases
    ]
    run = [(one, count) for (one, _), count in zip(found, times, strict=True)]
    over = sum(count * slack for (_, slack), count in zip(found, times, strict=True))
    return max(0.0, pld.lower_epsilon(run, delta) - over)


# Who sees what: sums with the noise of whoever adds them, the same with their size, or what a client sends.
SEEN = ("", "sized", "upload")


def audit_trace(trace: pd.DataFrame, deltas: Deltas, ignore: Collection[str] = ()) -> list[Finding]:
    """Return a lower bound beside every ε of a trace that one pair of neighbours says something about.

    Raises BadInput, as `ledger` does.
    """
    whole = checked_trace(trace, ignore)
    stated = statements(ledger(whole, deltas))
    return [found for view in views(whole, {}) for found in _of_view(view, stated, deltas.of(view.unit))]


def _of_view(view: View, stated: list[PrivacyStatement], delta: float) -> Iterator[Finding]:
    """Yield the findings about one view: one bound for each relation, beside each ε that is stated of it."""
    independent = view.mechanism == "gaussian" and view.law in SAMPLED
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
            bounds[name] = pair_epsilon(name, view.mechanisms, view.counts.sum(axis=0).tolist(), delta)
        yield finding(name, one, bounds[name], ARITHMETIC)
