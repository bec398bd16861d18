"""Audits of the noise that a server adds to a sum of clients: guarantees, and the Bayesian estimate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedpriv.account.spend import Spend
from fedpriv.account.view import View
from fedpriv.audit import bounds, individual
from fedpriv.audit.finding import Finding, finding
from fedpriv.audit.known import Known
from fedpriv.audit.likelihood import Plan, score, scores

MOST = 100  # clients of whom each is accounted by itself
DRAWS = 20_000  # of a client and a transcript


def outlier(known: Known) -> Iterator[Finding]:
    """Yield what a client costs whose updates are always as large as they may be: exact for such a client."""
    view = known.view("client")
    if not view or "C" not in view.certified:
        return
    bound = np.where(np.isfinite(view.samples.bound), view.samples.bound, 0.0)
    moved = individual.standardised(view, bound[:, None])[:, 0]
    stated = attacked(known)
    if not stated:
        return
    # The δ of clients is one in a ledger: what one of them costs is one number.
    found = individual.epsilon(rate_of(view), moved, stated[0].delta)
    for one in stated:
        yield finding("outlier", one, found, "no run, no transcripts")


def followed(known: Known) -> Iterator[Finding]:
    """Yield what the followed client costs that costs most, and how many of them cost more than is stated.

    Where nobody was followed, what a client costs that is in every round as near as the nearest sampled one.
    """
    view = known.view("client")
    moved = seen(view) if view else None
    if view is None or moved is None:
        return
    stated = list(estimates(known))
    if not stated:
        return
    # Who moves a sum most costs most, or nearly: of very many only those are looked at.
    most = moved[:, np.argsort(-np.square(moved).sum(axis=0), kind="stable")[:MOST]]
    each = [individual.epsilon(rate_of(view), column, stated[0].delta) for column in most.T]
    for one in stated:
        over = sum(value > one.epsilon for value in each)
        who = f"{over} of {moved.shape[1]} clients followed cost more"
        if panel(view) is None:
            who = "a client always as near zero as the nearest that was sampled"
        yield finding("followed", one, max(each), f"no run, no transcripts; {who}")


def frequency(known: Known) -> Iterator[Finding]:
    """Yield the ε that the loss exceeds with probability δ, over clients that were followed and transcripts.

    That is what the Bayesian estimate says of itself: it may fail for some clients, if they are rare.
    """
    view = known.view("client")
    moved = seen(view) if view else None
    if view is None or moved is None or panel(view) is None or np.isinf(moved).any():
        return
    stated = list(estimates(known))
    if not stated:
        return
    drawn = individual.losses(rate_of(view), moved, DRAWS, known.rng("frequency"))
    found = individual.quantile_low(drawn, stated[0].delta, 0.95)
    for one in stated:
        yield finding("frequency", one, found, f"no run, {DRAWS:,} transcripts", 0.95)


def canaries(known: Known) -> Iterator[Finding]:
    """Yield what the canaries of a run show: the Gaussian reading at a threshold that is fixed beforehand.

    Sound where the trade-off is near that of a Gaussian, as that of many rounds is.
    """
    shown, coins = (known.distances.get(f"canary_{name}") for name in ("seen", "included"))
    view, stated = known.view("client"), attacked(known)
    if view is None or shown is None or coins is None or not stated:
        return
    plan = Plan(rate_of(view), float(known.trace["noise_multiplier"].min()), len(known.trace))
    law = scores(plan)
    middle = float(law.values[int((law.outside > 1 - law.inside).sum())])
    found, there = score(plan, shown).sum(axis=0), coins[0] > 0
    if there.all() or not there.any():
        return
    cost = f"1 run, {there.sum():,} canaries in it and {(~there).sum():,} outside"
    lower = bounds.gaussian_reading(found[there], found[~there], middle, stated[0].delta)
    for one in stated:
        yield finding("canaries", one, lower, cost, 0.95)


def final_model(known: Known) -> Iterator[Finding]:
    """Yield what the last model alone shows of a run's canaries: an estimate, its interval's lower end.

    Of the canaries that took part. Its law is known only without them, so that it bounds nothing.
    """
    cosines, coins = (known.distances.get(f"canary_{name}") for name in ("cosines", "included"))
    stated = attacked(known)
    if cosines is None or coins is None or not stated:
        return
    there = coins[0] > 0
    if there.sum() < 2:
        return
    _, low = bounds.one_shot(cosines[0, there], known.parameters, stated[0].delta)
    for one in stated:
        yield finding("final_model", one, low, f"1 run, {there.sum():,} canaries in it", 0.0)


def seen(view: View) -> np.ndarray | None:
    """Return by how many standard deviations followed clients moved each round `[T, p]`; None: unknown.

    Of means over those present it is: without a client they have another denominator.
    """
    if view.apart != "remove_sum":
        return None
    distances = panel(view)
    if distances is None:
        sampled = view.samples.distances.get("remove_sum")
        if sampled is None or not sampled.size:
            return None
        distances = np.fmin.reduce(sampled[:, 0, 0], axis=-1)[:, None]
    return individual.standardised(view, np.nan_to_num(distances))


def panel(view: View) -> np.ndarray | None:
    """Return the distances of the clients that were followed `[T, p]`; None if nobody was."""
    found = view.samples.panels.get("remove_sum")
    return None if found is None or not found.shape[1] else found


def rate_of(view: View) -> float:
    """Return the least rate of any round: at a smaller one a client costs less."""
    return float(view.samples.sampling_rate.min())


def attacked(known: Known) -> list[Spend]:
    """Return every ε that is about clients in sums: the guarantee, where one moves it by C, and estimates."""
    guarantee = known.stated("client", accounting="", accountant="moments", sensitivity="C")
    return [*guarantee, *estimates(known)]


def estimates(known: Known) -> Iterator[Spend]:
    """Yield the Bayesian estimates of clients that are held against adding and removing one."""
    return known.stated("client", accounting="", accountant="bayesian", distance="remove_sum")
