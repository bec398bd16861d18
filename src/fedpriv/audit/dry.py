"""A dry run: the sampler, the clipping, the sum and the noise that a run has, of canaries and nothing else.

Every client is a canary. Each has a direction of its own and sends ten times the bound along it; directions
that nobody has show the noise alone. What is released along different directions is independent, so that a
dry run of N clients is N transcripts with the canary. No data, no model, no training: what is audited is the
code that a round calls, not a copy of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from fedpriv.account.pld import epsilon
from fedpriv.account.ranges import check
from fedpriv.audit import bounds
from fedpriv.audit.finding import Finding
from fedpriv.audit.likelihood import Plan, Scores, score, scores
from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import CohortLaw, Full, Poisson
from fedpriv.schemes import ClientDP, GlobalDP, Scheme
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.global_dp import Budget
from fedpriv.streams import Streams

CLIENTS = 400  # of a dry run: more make its rounds slower, fewer its start
EMPTY = 100  # directions that nobody has
LOUD = 10.0  # norm of what a canary sends, in units of the bound
ALPHA, CHECKS = 1e-4, 3  # how often a check of the noise is wrong, and how many there are: confidence pays


class Mechanism(NamedTuple):
    """A scheme, by what law its clients come, and the rounds that its account says there are."""

    scheme: Scheme
    law: CohortLaw
    plan: Plan


def client_dp(plan: Plan, delta: float) -> Scheme:
    """Return client-level privacy as the account has it."""
    return ClientDP(clip_l2=1.0, noise_multiplier=plan.noise_multiplier)


def global_dp(plan: Plan, delta: float) -> Scheme:
    """Return the same with a budget, which has no say here."""
    budget = Budget(epsilon=1.0, delta=delta)
    return GlobalDP(clip=1.0, noise_multiplier=plan.noise_multiplier, budget=budget)


def released(plan: Plan, delta: float) -> Scheme:
    """Return what the released code does: its clipping bounds nothing, and it counts as if it did."""
    return global_dp(plan, delta).model_copy(update={"clipping": "released"})


MECHANISMS: dict[str, Callable[[Plan, float], Scheme]] = {
    "client_dp": client_dp,
    "global_dp": global_dp,
    "global_dp_released": released,
}


class Transcripts(NamedTuple):
    """What an attacker sees in `n` transcripts with the canary and `m` without."""

    inside: np.ndarray  # scores [n]
    outside: np.ndarray  # scores [m]
    powers: np.ndarray  # [runs, T], sums of squares of `EMPTY` numbers that are noise alone, over σ²
    together: np.ndarray  # [T, T], sums over directions of products of the noise of two rounds


def named(mechanism: str, plan: Plan, delta: float) -> Mechanism:
    """Return a mechanism by name; an unknown one, or a plan that cannot be, is BadInput."""
    if mechanism not in MECHANISMS:
        raise BadInput(f"--mechanism: found {mechanism}, allowed: {', '.join(MECHANISMS)}")
    plan.checked()
    check(delta=delta)
    law = Full() if plan.sampling_rate == 1 else Poisson(rate=plan.sampling_rate)
    return Mechanism(MECHANISMS[mechanism](plan, delta), law, plan)


def release(mechanism: Mechanism, round: int, canaries: int, directions: int, streams: Streams) -> np.ndarray:
    """Return the noisy sum of a round `[directions]` in units of the bound, as the server makes it."""
    import torch

    scheme, law, plan = mechanism
    ids = law.draw(canaries, streams.numpy("cohort", round))
    rows = torch.zeros(len(ids), directions)
    rows[torch.arange(len(ids)), torch.from_numpy(ids)] = LOUD
    expected = law.expected(canaries)
    context = RoundContext(
        number=round,
        rounds=plan.rounds,
        population=canaries,
        expected=expected,
        examples=np.ones(len(ids), dtype=np.int64),
        fewest=1,
        tensors=(directions,),
        streams=streams,
        law=law,
    )
    bounded, _ = scheme.bound(rows, context)
    sent, _ = scheme.release(bounded, rows, context)
    mean, _ = scheme.combine(sent, context)
    return mean.double().numpy() * expected


def transcripts(mechanism: Mechanism, wanted: int, seed: int = 0) -> Transcripts:
    """Return at least so many transcripts with the canary, of as many dry runs as it takes."""
    plan = mechanism.plan
    canaries = min(CLIENTS, wanted)
    times = -(-wanted // canaries)
    inside, outside = np.zeros((times, canaries)), np.zeros((times, EMPTY))
    powers, together = np.zeros((times, plan.rounds)), np.zeros((plan.rounds, plan.rounds))
    for time in range(times):
        streams = Streams(seed, f"dry run {time}")
        noise = np.empty((plan.rounds, EMPTY))
        for round in range(plan.rounds):
            seen = release(mechanism, round + 1, canaries, canaries + EMPTY, streams)
            found = score(plan, seen)
            inside[time] += found[:canaries]
            outside[time] += found[canaries:]
            noise[round] = seen[canaries:] / plan.noise_multiplier
        powers[time] = (noise**2).sum(axis=1)
        together += noise @ noise.T
    return Transcripts(inside.ravel(), outside.ravel(), powers, together)


def broken(seen: Transcripts) -> str:
    """Return what of the noise is not as stated, or the empty string; wrong `CHECKS` times in 1/`ALPHA`."""
    total, numbers = float(seen.powers.sum()), seen.powers.size * EMPTY
    if 2 * min(chi2.sf(total, numbers), chi2.cdf(total, numbers)) < ALPHA:
        return f"the noise has {total / numbers:.4g} times the variance that is stated"
    # Of noise whose level is the same in all rounds these are standard normal.
    levels = norm.ppf(chi2.cdf(seen.powers, EMPTY))
    if chi2.sf(float((levels**2).sum()), levels.size) < ALPHA:
        return "the level of the noise changes from round to round, as if with the number of those who came"
    runs, rounds = seen.powers.shape
    if rounds > 1:
        # Of independent noise each is nearly standard normal.
        apart = np.abs(np.triu(seen.together, 1)) / math.sqrt(runs * EMPTY)
        first, second = np.unravel_index(int(apart.argmax()), apart.shape)
        if apart[first, second] > norm.isf(ALPHA / (rounds * (rounds - 1))):
            return f"the noise of round {first + 1} comes again in round {second + 1}"
    return ""


def lower_bound(seen: Transcripts, known: Scores, delta: float, confidence: float, wrong: str) -> float:
    """Return the lower bound of an attacker who knows how the score is distributed without the canary.

    If the noise is `wrong` nobody knows that: then both sides are sampled, and the better of two readings
    counts, each with half of the risk.
    """
    trials = len(seen.inside)
    if not wrong:
        threshold, log_null = known.threshold(trials, delta)
        hits = int((seen.inside >= threshold).sum())
        return bounds.against_null(hits, trials, log_null, delta, confidence + CHECKS * ALPHA)
    each = (1 + confidence) / 2
    rare = known.values[min(len(known.values) - 1, int((known.outside > 1 / len(seen.outside)).sum()))]
    middle = known.values[int((known.outside > 1 - known.inside).sum())]
    return max(
        bounds.thresholded(seen.inside, seen.outside, rare, delta, each),
        bounds.gaussian_reading(seen.inside, seen.outside, middle, delta, each),
    )


def audited(
    mechanism: Mechanism, delta: float, wanted: int, confidence: float = 0.95, seed: int = 0
) -> Finding:
    """Return what dry runs say of the ε that the tightest accountant states of the mechanism."""
    plan = mechanism.plan
    stated = epsilon(**plan._asdict(), delta=delta)
    seen = transcripts(mechanism, wanted, seed)
    wrong = broken(seen)
    found = lower_bound(seen, scores(plan), delta, confidence, wrong)
    return Finding(
        audit="dry_run",
        about=f"a client in the sums of {mechanism.scheme.name} (pld)",
        kind="guarantee",
        epsilon=stated,
        delta=delta,
        lower_bound=found,
        confidence=confidence,
        cost=f"{len(seen.inside):,} transcripts with the client, no training",
        broken=wrong,
    )
