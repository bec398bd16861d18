"""Audits of what clients randomise themselves: noise on uploads, and randomised response.

Labels of NbAFL, joint accounting, clipped means, uploads without a bound; one bit, two clients that
differ in several, one coin for a whole tensor.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import binom, chi2

from fedpriv.account.randomized_response import exact_epsilon
from fedpriv.account.releases import ONE_BIT
from fedpriv.account.statement import PrivacyStatement
from fedpriv.account.views import answers_at_random
from fedpriv.audit import bounds, clients
from fedpriv.audit.finding import ARITHMETIC, Finding, Known, finding
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.dpfl_bnn import flips
from fedpriv.streams import Streams

DRAWS = 20_000
ONE_BIT_LABEL = "client (that of one bit)"  # whose ε a paper states
# Of the bits of two clients one of so many differs: less than of any two that learn other classes.
APART = 100


def bits(known: Known) -> Iterator[Finding]:
    """Yield the bound of an attacker of one bit, whose answers the coins of the scheme itself flip."""
    stated = one_bit_label(known)
    if stated is None or not coins_hide(known):
        return
    gamma, rounds = float(known.trace["gamma"][0]), len(known.trace)
    # Of so many answers alike, that with the largest bound that so many draws are expected to give.
    counts = np.arange(rounds + 1)
    right, wrong = binom.sf(counts - 1, rounds, 0.5 + gamma), binom.logsf(counts - 1, rounds, 0.5 - gamma)
    kept = int(bounds.expected_bound(right, wrong, DRAWS, stated.delta).argmax())
    streams = Streams(0, f"audit {known.identity}")
    answers = np.zeros(DRAWS, dtype=np.int64)
    for round_number in range(1, rounds + 1):
        context = RoundContext(round_number, rounds, 1, 1.0, np.ones(1), 1, (1,), streams)
        answers += ~flips(gamma, "coordinate", (DRAWS, 1), context)[:, 0]
    lower = bounds.null_bound(int((answers >= kept).sum()), DRAWS, float(wrong[kept]), stated.delta)
    yield finding("bits", stated, lower, f"no run, {DRAWS:,} transcripts", 0.95)


def uploads(known: Known) -> Iterator[Finding]:
    """Yield what two clients cost, against the ε of a single bit: by how many bits two of this run differed.

    In one round; where that was not measured they are taken to differ in one bit of a hundred, in all rounds.
    """
    stated = one_bit_label(known)
    if stated is None or not coins_hide(known) or not (known.trace["flips"] == "coordinate").all():
        return
    gamma, rounds = float(known.trace["gamma"][0]), len(known.trace)
    # Between vectors of plus and minus one: each bit that differs adds 4 to the square.
    measured = round(float(known.trace["uploads_apart"].max()) ** 2 / 4)
    differ = measured or max(1, int(known.trace["noisy_bits"][0]) // APART)
    if measured:
        cost = f"1 run, in which one upload of two clients is {differ:,} bits apart"
    else:
        cost = f"{ARITHMETIC}; clients that differ in {differ:,} bits of a round"
    lower = exact_epsilon(gamma, differ * (1 if measured else rounds), stated.delta)
    yield finding("uploads", stated, lower, cost)._replace(kind="nominal", about=ONE_BIT_LABEL)


def tensors(known: Known) -> Iterator[Finding]:
    """Yield that one coin for a whole tensor hides nothing but its sign."""
    stated = one_bit_label(known)
    if stated is not None and (known.trace["flips"] == "tensor").all():
        cost = f"{ARITHMETIC}; one upload"
        yield finding("tensors", stated, math.inf, cost)._replace(kind="nominal", about=ONE_BIT_LABEL)


def one_bit_label(known: Known) -> PrivacyStatement | None:
    """Return the exact ε of one bit over all rounds, which is the one that the paper states of a client."""
    if not answers_at_random(known.trace):
        return None
    return next(known.stated(ONE_BIT, accounting="upload", accountant="exact"), None)


def coins_hide(known: Known) -> bool:
    """Return True where coins hide anything."""
    return 0 < float(known.trace["gamma"][0]) < 0.5


CLIENT = "client (label)"


def example(known: Known) -> Iterator[Finding]:
    """Yield what an example costs that moves a client's weights by 2C/n, as far as NbAFL takes it to move.

    Of the expected number of uploads of a client, each with the noise that the label scales.
    """
    stated = label(known)
    if stated is None:
        return
    rate, rounds = float(known.trace["sampling_rate"][0]), len(known.trace)
    sent = max(1, round(rounds * rate))
    scaling = known.scheme.get("scaling", "document")
    scale = {"document": rounds, "repository": rounds / 2}.get(scaling, rounds * rate)
    distance = stated.epsilon / (known.scheme["constant"] * scale)
    lower = bounds.witness(np.full(sent, distance), np.ones(sent), stated.delta)
    yield finding("example", stated, lower, f"{ARITHMETIC}; {sent} uploads")._replace(about="example (label)")


def neighbours(known: Known) -> Iterator[Finding]:
    """Yield what an example cost that was replaced: how far it moved every upload that its client sent."""
    stated, came = label(known), known.trace["neighbours_apart"] > 0
    distance, std = (known.trace[name][came] for name in ("neighbours_apart", "upload_noise_std"))
    if stated is None or not len(distance) or not (std > 0).all():
        return
    lower = bounds.witness(distance, std, stated.delta)
    far = f"{len(distance)} uploads, {distance.max():.3g} apart at most"
    cost = f"1 run, in which a client trained on both; {far}"
    yield finding("neighbours", stated, lower, cost)._replace(about="example (label)")


def client(known: Known) -> Iterator[Finding]:
    """Yield what two clients cost that were in this run, in the round in which they are farthest apart.

    Where every upload has the same noise. Where their distance was not measured it is at least by how much
    their norms differ.
    """
    stated, trace = label(known), known.trace
    if stated is None or known.scheme.get("scaling") != "paper" or not (trace["upload_noise_std"] > 0).all():
        return
    most, least = (np.minimum(trace[name], trace["upload_l2"]) for name in ("norm_max", "norm_min"))
    distance = np.where(trace["uploads_apart"] > 0, trace["uploads_apart"], most - least)
    std = trace["upload_noise_std"]
    worst = int(np.nanargmax(distance / std))
    lower = bounds.witness([distance[worst]], [std[worst]], stated.delta)
    cost = f"{ARITHMETIC}; one upload, {distance[worst]:.3g} apart"
    yield finding("client", stated, lower, cost)._replace(about=CLIENT)


def unbounded(known: Known) -> Iterator[Finding]:
    """Yield that noise on what nothing bounds protects nobody: a large enough update stands out of it."""
    trace, stated = known.trace, label(known) or budget(known)
    sent = (trace["upload_noise_std"] > 0) & np.isinf(trace["upload_l2"])
    summed = (trace["noise_std"] > 0) & np.isinf(trace["clip_l2"])
    if stated is not None and (sent | summed).any():
        yield finding("unbounded", stated, math.inf, f"{ARITHMETIC}; one release")._replace(about=CLIENT)


def clear(known: Known) -> Iterator[Finding]:
    """Yield that what is sent in the clear beside noisy numbers protects nobody either."""
    stated = label(known)
    if stated is not None and (known.trace["clear_values"] > 0).any():
        cost = f"{ARITHMETIC}; {int(known.trace['clear_values'].max()):,} numbers of one upload"
        yield finding("clear", stated, math.inf, cost)._replace(about=CLIENT)


def total(known: Known) -> Iterator[Finding]:
    """Yield what the sums of joint training tell of a client that takes its share of the noise along.

    One round and the norm of its noise alone: with n shares the square is n·s²χ²_d, without the client that
    of n − 1. Both tails are exact; the client is drawn with probability q. Topped up, the noise is the same.
    """
    trace = known.trace
    shares = int(np.median(trace["cohort_size"]))
    if (trace["noise_shares"] == 0).any() or trace["topped_up"].any() or shares < 2:
        return
    for stated in known.stated("client", accounting="sum", accountant="moments", sensitivity="C"):
        rate = float(trace["sampling_rate"][0])
        at = known.parameters + math.sqrt(2 * known.parameters) * np.linspace(-5, 40, 2000)
        without, with_it = (
            chi2.logsf(at * shares / (shares - 1), known.parameters),
            chi2.sf(at, known.parameters),
        )
        # What is asked is P[above | maybe there] − δ over P[above | not there].
        hits = rate * with_it + (1 - rate) * np.exp(without) - stated.delta
        with np.errstate(divide="ignore", invalid="ignore"):
            epsilons = np.where((hits > 0) & (without > -600), np.log(hits) - without, 0.0)
        cost = f"{ARITHMETIC}; the norm of one sum of {shares} uploads"
        yield finding("sum", stated, max(0.0, float(epsilons.max())), cost)


def single(known: Known) -> Iterator[Finding]:
    """Yield what the server of joint training knows, which receives every upload by itself."""
    trace = known.trace
    if (trace["noise_shares"] == 0).any():
        return
    std, bound = (trace[name] for name in ("instance_noise_std", "clip_l2"))
    sent = max(1, round(float(trace["sampling_rate"].sum())))
    for stated in known.stated("client", accounting="sum", accountant="moments", sensitivity="C"):
        lower = bounds.witness(bound[:sent], std[:sent], stated.delta)
        yield finding("single", stated, lower, f"{ARITHMETIC}; {sent} uploads")


def batch_examples(known: Known) -> Iterator[Finding]:
    """Yield what an example costs that moves a clipped mean to the other side of the ball, 2C away.

    Where single examples are not clipped: C is then what is counted, and not what one example can do.
    """
    view = known.view("instance", "parallel")
    rates = {release.sampling_rate for release in view.releases} if view else set[float]()
    if view is None or "C" in view.certified or len(rates) > 1:
        return
    with np.errstate(divide="ignore"):
        each = 2 / np.array([release.noise_multiplier for release in view.releases])
    moved = np.repeat(each, view.counts.sum(axis=0))
    for stated in known.stated("instance", accounting="parallel", accountant="moments", sensitivity="C"):
        lower = clients.removal_epsilon(view.releases[0].sampling_rate, moved, stated.delta)
        yield finding("batches", stated, lower, f"{ARITHMETIC}; {len(moved):,} gradients")


def label(known: Known) -> PrivacyStatement | None:
    """Return the ε on the label of NbAFL, at the δ that its constant stands for."""
    if known.scheme.get("name") != "nbafl":
        return None
    delta = min(1.25 * math.exp(-(known.scheme["constant"] ** 2) / 2), 0.999)
    return nominal_statement(known.scheme["epsilon"], delta, "label")


def budget(known: Known) -> PrivacyStatement | None:
    """Return the budget of global DP, which its rounds are counted by."""
    if not (settings := known.scheme.get("budget")):
        return None
    return nominal_statement(settings["epsilon"], settings["delta"], settings.get("accountant", "moments"))


def nominal_statement(epsilon: float, delta: float, accountant: str) -> PrivacyStatement:
    """Return an ε that somebody says there is."""
    return PrivacyStatement(epsilon, delta, "client", "add_remove", "", accountant, kind="nominal")
