"""Audits of noise that clients add themselves: labels of NbAFL, joint accounting, clipped means, no bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import chi2

from fedpriv.account.spend import Spend
from fedpriv.audit import gaussian, individual
from fedpriv.audit.finding import Finding, finding
from fedpriv.audit.known import Known

ARITHMETIC = "no run, no transcripts"
CLIENT = "client (label)"


def example(known: Known) -> Iterator[Finding]:
    """Yield what an example costs that moves a client's weights by 2C/n, as far as NbAFL takes it to move.

    Of the expected number of uploads of a client, each with the noise that the label scales.
    """
    stated = label(known)
    if stated is None:
        return
    first, rounds = known.trace.iloc[0], len(known.trace)
    sent = max(1, round(rounds * float(first["sampling_rate"])))
    scaling = known.scheme.get("scaling", "document")
    scale = {"document": rounds, "repository": rounds / 2}.get(scaling, rounds * first["sampling_rate"])
    apart = stated.epsilon / (known.scheme["constant"] * float(scale))
    found = gaussian.witness(np.full(sent, apart), np.ones(sent), stated.delta)
    yield finding("example", stated, found, f"{ARITHMETIC}; {sent} uploads")._replace(about="example (label)")


def neighbours(known: Known) -> Iterator[Finding]:
    """Yield what an example cost that was replaced: how far it moved every upload that its client sent."""
    stated, came = label(known), known.trace.loc[known.trace["neighbours_apart"] > 0]
    apart, std = (came[name].to_numpy() for name in ("neighbours_apart", "upload_noise_std"))
    if stated is None or not len(apart) or not (std > 0).all():
        return
    found = gaussian.witness(apart, std, stated.delta)
    cost = f"1 run, in which a client trained on both; {len(apart)} uploads, {apart.max():.3g} apart at most"
    yield finding("neighbours", stated, found, cost)._replace(about="example (label)")


def client(known: Known) -> Iterator[Finding]:
    """Yield what two clients cost that were in this run, in the round in which they are farthest apart.

    Where every upload has the same noise. Where their distance was not measured it is at least by how much
    their norms differ.
    """
    stated, trace = label(known), known.trace
    if stated is None or known.scheme.get("scaling") != "paper" or not (trace["upload_noise_std"] > 0).all():
        return
    norms = [trace[name].clip(upper=trace["upload_l2"]) for name in ("norm_max", "norm_min")]
    apart = trace["uploads_apart"].where(trace["uploads_apart"] > 0, norms[0] - norms[1])
    worst = int((apart / trace["upload_noise_std"]).argmax())
    found = gaussian.witness([apart.iloc[worst]], [trace["upload_noise_std"].iloc[worst]], stated.delta)
    cost = f"{ARITHMETIC}; one upload, {apart.iloc[worst]:.3g} apart"
    yield finding("client", stated, found, cost)._replace(about=CLIENT)


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
    shares = int(trace["cohort_size"].median())
    if (trace["noise_shares"] == 0).any() or trace["topped_up"].any() or shares < 2:
        return
    for stated in known.stated("client", accounting="sum", accountant="moments", sensitivity="C"):
        rate = float(trace["sampling_rate"].iloc[0])
        at = known.parameters + math.sqrt(2 * known.parameters) * np.linspace(-5, 40, 2000)
        without, with_it = (
            chi2.logsf(at * shares / (shares - 1), known.parameters),
            chi2.sf(at, known.parameters),
        )
        # What is asked is P[above | maybe there] − δ over P[above | not there].
        hits = rate * with_it + (1 - rate) * np.exp(without) - stated.delta
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where((hits > 0) & (without > -600), np.log(hits) - without, 0.0)
        cost = f"{ARITHMETIC}; the norm of one sum of {shares} uploads"
        yield finding("sum", stated, max(0.0, float(found.max())), cost)


def single(known: Known) -> Iterator[Finding]:
    """Yield what the server of joint training knows, which receives every upload by itself."""
    trace = known.trace
    if (trace["noise_shares"] == 0).any():
        return
    std, bound = (trace[name].to_numpy(dtype=np.float64) for name in ("instance_noise_std", "clip_l2"))
    sent = max(1, round(float(trace["sampling_rate"].sum())))
    for stated in known.stated("client", accounting="sum", accountant="moments", sensitivity="C"):
        found = gaussian.witness(bound[:sent], std[:sent], stated.delta)
        yield finding("single", stated, found, f"{ARITHMETIC}; {sent} uploads")


def batches(known: Known) -> Iterator[Finding]:
    """Yield what an example costs that moves a clipped mean to the other side of the ball, 2C away.

    Where single examples are not clipped: C is then what is counted, and not what one example can do.
    """
    view = known.view("instance", "parallel")
    if view is None or "C" in view.certified or len({one.sampling_rate for one in view.mechanisms}) > 1:
        return
    with np.errstate(divide="ignore"):
        each = 2 / np.array([one.noise_multiplier for one in view.mechanisms])
    moved = np.repeat(each, view.counts.sum(axis=0))
    for stated in known.stated("instance", accounting="parallel", accountant="moments", sensitivity="C"):
        found = individual.epsilon(view.mechanisms[0].sampling_rate, moved, stated.delta)
        yield finding("batches", stated, found, f"{ARITHMETIC}; {len(moved):,} gradients")


def label(known: Known) -> Spend | None:
    """Return the ε on the label of NbAFL, at the δ that its constant stands for."""
    if known.scheme.get("name") != "nbafl":
        return None
    delta = min(1.25 * math.exp(-(known.scheme["constant"] ** 2) / 2), 0.999)
    return labelled(known.scheme["epsilon"], delta, "label")


def budget(known: Known) -> Spend | None:
    """Return the budget of global DP, which its rounds are counted by."""
    found: dict[str, Any] | None = known.scheme.get("budget")
    return labelled(found["epsilon"], found["delta"], found.get("accountant", "moments")) if found else None


def labelled(epsilon: float, delta: float, accountant: str) -> Spend:
    """Return an ε that somebody says there is."""
    return Spend(epsilon, delta, "client", "add_remove", "", accountant, kind="nominal")
