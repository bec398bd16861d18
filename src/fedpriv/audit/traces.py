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
    run = [
        (release.share, release.noise_multiplier, count)
        for release, count in zip(releases, times, strict=True)
        if count
    ]
    if any(noise == 0 for _, noise, _ in run):
        return math.inf
    together = math.hypot(
        *(APART[name] * math.sqrt(count) / noise for rate, noise, count in run if rate == 1)
    )
    drawn = [(planned_release(rate, noise), count) for rate, noise, count in run if rate < 1]
    if not drawn:  # all of it is one release, whose ε is known but for what its solver is off
        epsilon = gaussian_epsilon(together, delta)
        return max(0.0, epsilon - clients.SOLVED * (1 + epsilon))
    whole = [(planned_release(1.0, 1 / together * APART[name]), 1)] if together else []
    releases, counts = zip(*drawn, *whole, strict=True)
    steps = [
        clients.finest_width(release.sampling_rate, 1 / release.noise_multiplier) for release in releases
    ]
    bound = clients.lower_bound if name == "removed" else replacement_bound
    return clients.refine_bound(releases, counts, delta, min(steps), bound)


def replacement_bound(releases: Sequence[Release], times: Sequence[int], width: float, delta: float) -> float:
    """Return a lower bound on ε of so many of each release, in which a unit sends the opposite."""
    losses = [
        loss.replacement_loss_from_below(release.sampling_rate, release.noise_multiplier, width)
        for release in releases
    ]
    run = [(below, count) for (below, _), count in zip(losses, times, strict=True)]
    over = sum(count * slack for (_, slack), count in zip(losses, times, strict=True))
    return max(0.0, pld.lower_epsilon(run, delta) - over)


# Who sees what: sums with the noise of whoever adds them, the same with their size, or what a client sends.
SEEN = ("", "sized", "upload")


def audit_trace(trace: pd.DataFrame, deltas: Deltas, ignore: Collection[str] = ()) -> list[Finding]:
    """Return a lower bound beside every ε of a trace that one pair of neighbours says something about.

    Raises BadInput, as `ledger` does.
    """
    whole = checked_trace(trace, ignore)
    stated = statements(ledger(whole, deltas))
    return [finding for view in views(whole, {}) for finding in _of_view(view, stated, deltas.of(view.unit))]


def _of_view(view: View, stated: list[PrivacyStatement], delta: float) -> Iterator[Finding]:
    """Yield the findings about one view: one bound for each relation, beside each ε that is stated of it."""
    independent = view.mechanism == "gaussian" and view.law in SAMPLED
    if view.accounting not in SEEN or "C" not in view.certified or not independent:
        return
    bounds: dict[str, float] = {}
    ours = (view.unit, view.accounting, view.law)
    for statement in stated:
        counted = (statement.unit, statement.accounting, statement.sampling_law)
        # Of a cohort of fixed size nobody is taken away.
        removable = (view.law, statement.sensitivity) != ("fixed", "C")
        if counted != ours or not removable or not 0 < statement.epsilon < np.inf:
            continue
        name = "removed" if statement.sensitivity == "C" else "replaced"
        if name not in bounds:
            times = view.counts.sum(axis=0).tolist()
            bounds[name] = pair_epsilon(name, view.releases, times, delta)
            if view.law == "fixed":  # where all others send the opposite too, the sum is that, or 2C from it
                apart = [one._replace(noise_multiplier=one.multiplier("2C")) for one in view.releases]
                bounds[name] = max(bounds[name], pair_epsilon("removed", apart, times, delta))
        yield finding(name, statement, bounds[name], ARITHMETIC)
