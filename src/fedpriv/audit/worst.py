"""What the worst neighbours of a Gaussian sum cost, written out in full: lower bounds, nothing sampled.

`removed`: with somebody who always sends all that the bound allows, and without. `replaced`: who sends the
opposite instead. Everybody else sends nothing, or what the attacker knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedpriv.account import composition, loss
from fedpriv.account.events import Mechanism, planned
from fedpriv.audit import gaussian, individual

APART = {"removed": 1.0, "replaced": 2.0}  # of those who are drawn, in units of the bound


def epsilon(name: str, mechanisms: Sequence[Mechanism], times: Sequence[int], delta: float) -> float:
    """Return a lower bound on ε of neighbours `removed` or `replaced`, of so many of each mechanism.

    Of Poisson, full and fixed cohorts: of the last, sums of m of n, only where somebody is `replaced`.
    """
    run = [(one, count) for one, count in zip(mechanisms, times, strict=True) if count]
    if any(one.noise_multiplier == 0 for one, _ in run):
        return math.inf
    together = math.hypot(
        *(APART[name] * math.sqrt(count) / one.noise_multiplier for one, count in run if rate_of(one) == 1)
    )
    drawn = [(planned(rate_of(one), one.noise_multiplier), count) for one, count in run if rate_of(one) < 1]
    if not drawn:  # all of it is one release, whose ε is known but for what its solver is off
        found = gaussian.epsilon(together, delta)
        return max(0.0, found - individual.SOLVED * (1 + found))
    whole = [(planned(1.0, 1 / together * APART[name]), 1)] if together else []
    releases, counts = zip(*drawn, *whole, strict=True)
    steps = [individual.finest(one.sampling_rate, 1 / one.noise_multiplier) for one in releases]
    bound = individual.lower if name == "removed" else replaced
    return individual.refined(releases, counts, delta, min(steps), bound)


def rate_of(one: Mechanism) -> float:
    """Return the chance of a unit to be in a release."""
    return one.sample / one.population if one.law == "fixed" else one.sampling_rate


def replaced(releases: Sequence[Mechanism], times: Sequence[int], width: float, delta: float) -> float:
    """Return a lower bound on ε of so many of each release, in which a unit sends the opposite."""
    found = [loss.below_replaced(one.sampling_rate, one.noise_multiplier, width) for one in releases]
    run = [(one, count) for (one, _), count in zip(found, times, strict=True)]
    over = sum(count * slack for (_, slack), count in zip(found, times, strict=True))
    return max(0.0, composition.lower(run, delta) - over)
