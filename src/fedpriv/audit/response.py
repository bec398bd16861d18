"""Audits of randomised response: one bit, two clients that differ in some, one coin for a whole tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from fedpriv.account.randomized_response import exact_epsilon
from fedpriv.account.response_views import ONE_BIT, responds
from fedpriv.account.spend import Spend
from fedpriv.audit import bounds
from fedpriv.audit.finding import Finding, finding
from fedpriv.audit.known import Known
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.dpfl_bnn import flips
from fedpriv.streams import Streams

DRAWS = 20_000
OF_ONE_BIT = "client (that of one bit)"  # whose ε a paper states
# Of the bits of two clients one of so many differs: less than of any two that learn other classes.
APART = 100


def bits(known: Known) -> Iterator[Finding]:
    """Yield the bound of an attacker of one bit, whose answers the coins of the scheme itself flip."""
    stated = label(known)
    if stated is None or not hidden(known):
        return
    gamma, rounds = float(known.trace["gamma"].iloc[0]), len(known.trace)
    kept = best_count(rounds, gamma, stated.delta)
    streams = Streams(0, f"audit {known.identity}")
    answers = np.zeros(DRAWS, dtype=np.int64)
    for round in range(1, rounds + 1):
        context = RoundContext(round, rounds, 1, 1.0, np.ones(1), 1, (1,), streams)
        answers += ~flips(gamma, "coordinate", (DRAWS, 1), context)[:, 0]
    found = bounds.flipped(int((answers >= kept).sum()), DRAWS, rounds, kept, gamma, stated.delta)
    yield finding("bits", stated, found, f"no run, {DRAWS:,} transcripts", 0.95)


def uploads(known: Known) -> Iterator[Finding]:
    """Yield what two clients cost, against the ε of a single bit: by how many bits two of this run differed.

    In one round; where that was not measured they are taken to differ in one bit of a hundred, in all rounds.
    """
    stated = label(known)
    if stated is None or not hidden(known) or not (known.trace["flips"] == "coordinate").all():
        return
    gamma, rounds = float(known.trace["gamma"].iloc[0]), len(known.trace)
    # Between vectors of plus and minus one: each bit that differs adds 4 to the square.
    measured = round(float(known.trace["uploads_apart"].max()) ** 2 / 4)
    differ = measured or max(1, int(known.trace["noisy_bits"].iloc[0]) // APART)
    if measured:
        cost = f"1 run, in which one upload of two clients is {differ:,} bits apart"
    else:
        cost = f"no run, no transcripts; clients that differ in {differ:,} bits of a round"
    found = exact_epsilon(gamma, differ * (1 if measured else rounds), stated.delta)
    yield finding("uploads", stated, found, cost)._replace(kind="nominal", about=OF_ONE_BIT)


def tensors(known: Known) -> Iterator[Finding]:
    """Yield that one coin for a whole tensor hides nothing but its sign."""
    stated = label(known)
    if stated is not None and (known.trace["flips"] == "tensor").all():
        cost = "no run, no transcripts; one upload"
        yield finding("tensors", stated, math.inf, cost)._replace(kind="nominal", about=OF_ONE_BIT)


def label(known: Known) -> Spend | None:
    """Return the exact ε of one bit over all rounds, which is the one that the paper states of a client."""
    if not responds(known.trace):
        return None
    return next(known.stated(ONE_BIT, accounting="upload", accountant="exact"), None)


def hidden(known: Known) -> bool:
    """Return whether coins hide anything."""
    return 0 < float(known.trace["gamma"].iloc[0]) < 0.5


def best_count(rounds: int, gamma: float, delta: float) -> int:
    """Return how many answers must say so, for the largest bound that so many draws are expected to give."""
    counts = np.arange(rounds + 1)
    right = binom.sf(counts - 1, rounds, 0.5 + gamma)
    wrong = binom.logsf(counts - 1, rounds, 0.5 - gamma)
    return int(bounds.foreseen(right, wrong, DRAWS, delta).argmax())
