"""Audits of a trace alone, whoever trained: what a unit costs whose part is always as large as the bound.

Nothing is sampled: the mechanisms are those of the trace, and a pair of neighbours is written out in
full. `removed`: with somebody who always sends all that the bound allows, and without. `replaced`: who
sends the opposite instead. Everybody else sends nothing, or what the attacker knows. No ε below what one
pair costs holds for all.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cache, partial

import numpy as np
import pandas as pd

from fedpriv.account import loss, pld
from fedpriv.account.check import checked_trace
from fedpriv.account.ledgers import ledger, statements
from fedpriv.account.releases import Release, planned_release
from fedpriv.account.statement import PrivacyStatement
from fedpriv.account.views import View, views
from fedpriv.audit import clients
from fedpriv.audit.finding import ARITHMETIC, Finding, finding
from fedpriv.frozen import Deltas
from fedpriv.trace import SAMPLED

APART = {"removed": 1.0, "replaced": 2.0}  # of those who are drawn, in units of the bound


def pair_epsilon(name: str, releases: Sequence[Release], times: Sequence[int], delta: float) -> float:
    """Return a lower bound on ε of neighbours `removed` or `replaced`, of so many of each release.

    Of Poisson, full and fixed cohorts: of the last, sums of m of n, only where somebody is `replaced`.
    """
    run = [(release, count) for release, count in zip(releases, times, strict=True) if count]
    if any(release.noise_multiplier == 0 for release, _ in run):
        return math.inf
    together = math.hypot(
        *(
            APART[name] * math.sqrt(count) / release.noise_multiplier
            for release, count in run
            if release.share == 1
        )
    )
    drawn = [
        (planned_release(release.share, release.noise_multiplier), count)
        for release, count in run
        if release.share < 1
    ]
    if not drawn:
        return clients.gaussian_bound(together, delta)
    whole = [(planned_release(1.0, 1 / together * APART[name]), 1)] if together else []
    releases, counts = zip(*drawn, *whole, strict=True)
    steps = [
        clients.finest_width(release.sampling_rate, 1 / release.noise_multiplier) for release in releases
    ]
    return clients.refine_bound(releases, counts, delta, min(steps), BOUNDS[name])


def replacement_bound(releases: Sequence[Release], times: Sequence[int], width: float, delta: float) -> float:
    """Return a lower bound on ε of so many of each release, in which a unit sends the opposite."""
    losses = [
        loss.replacement_loss_from_below(release.sampling_rate, release.noise_multiplier, width)
        for release in releases
    ]
    run = [(below, count) for (below, _), count in zip(losses, times, strict=True)]
    over = sum(count * slack for (_, slack), count in zip(losses, times, strict=True))
    return max(0.0, pld.lower_epsilon(run, delta) - over)


BOUNDS = {"removed": clients.lower_bound, "replaced": replacement_bound}
# Who sees what: sums with the noise of whoever adds them, the same with their size, or what a client sends.
SEEN = ("", "sized", "upload")


def audit_trace(trace: pd.DataFrame, deltas: Deltas, ignore: Collection[str] = ()) -> list[Finding]:
    """Return a lower bound beside every ε of a trace that one pair of neighbours says something about.

    Raises BadInput, as `ledger` does.
    """
    whole = checked_trace(trace, ignore)
    stated = statements(ledger(whole, deltas))
    return [
        finding for view in views(whole, {}) for finding in view_findings(view, stated, deltas.of(view.unit))
    ]


def view_findings(view: View, stated: list[PrivacyStatement], delta: float) -> Iterator[Finding]:
    """Yield the findings about one view: one bound for each relation, beside each ε that is stated of it."""
    independent = view.mechanism == "gaussian" and view.law in SAMPLED
    if view.accounting not in SEEN or "C" not in view.certified or not independent:
        return
    bound = cache(partial(neighbours_epsilon, view, delta))  # several ε are of one relation
    ours = (view.unit, view.accounting, view.law)
    for statement in stated:
        counted = (statement.unit, statement.accounting, statement.sampling_law)
        # Of a cohort of fixed size nobody is taken away.
        removable = (view.law, statement.sensitivity) != ("fixed", "C")
        if counted == ours and removable and 0 < statement.epsilon < np.inf:
            name = "removed" if statement.sensitivity == "C" else "replaced"
            yield finding(name, statement, bound(name), ARITHMETIC)


def neighbours_epsilon(view: View, delta: float, name: str) -> float:
    """Return a lower bound on ε of the neighbours `removed` or `replaced` of a view."""
    times = view.counts.sum(axis=0).tolist()
    lower = pair_epsilon(name, view.releases, times, delta)
    if view.law != "fixed":
        return lower
    # Where all others send the opposite too, the sum is that, or 2C from it.
    apart = [release._replace(noise_multiplier=release.multiplier("2C")) for release in view.releases]
    return max(lower, pair_epsilon("removed", apart, times, delta))
