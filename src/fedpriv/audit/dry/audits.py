"""A dry run from its rounds to a finding."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedpriv.audit import bounds
from fedpriv.audit.dry.attacks import (
    ATTACKS,
    LOUD,
    TITLES,
    Design,
    Sight,
    Statement,
    design,
    statement,
)
from fedpriv.audit.dry.checks import (
    ALPHA,
    EACH,
    NOISE,
    Seen,
    check_runs,
    coincidences,
    histogram,
    memory_fault,
    probe_round,
)
from fedpriv.audit.dry.rounds import CLIENTS, AttackedMechanism, Site, declared_bound, zero_rows
from fedpriv.audit.finding import Finding
from fedpriv.progress import progress
from fedpriv.streams import Streams
from fedpriv.trace import MECHANISMS

EMPTY = 100  # directions that nobody has
ANSWERING, BITS = 40, 100  # clients that send bits, and how many each
SAME = 1e-9  # multipliers that differ by less, relatively, are one
SLOWER = 10  # so many times fewer transcripts are made where every client draws noise of its own


class Transcripts(NamedTuple):
    """What an attacker sees in dry runs, and what was found in them beside."""

    seen: Seen
    multipliers: np.ndarray  # [runs, T], of the noise that hides a canary
    found: dict[str, str]  # by the probes: what is not as stated, by the name of the probe
    known: bool  # whether the facts say how noise is distributed


class Dry(NamedTuple):
    """One dry run of T rounds."""

    inside: np.ndarray  # scores
    outside: np.ndarray
    noise: np.ndarray  # [T, d], over σ
    cells: np.ndarray  # how many single numbers of noise fell where
    ends: tuple[float, float]  # the least and the most of them
    ties: np.ndarray  # how many came again in their round, and how many should
    multipliers: np.ndarray  # [T]
    came: np.ndarray  # [T, population], how often each was drawn
    found: dict[str, str]


class DryRun(NamedTuple):
    """What one dry run shows, before anything is made of it."""

    sights: list[Sight]  # of each round
    came: np.ndarray  # [T, population]
    directions: Design
    found: dict[str, str]
    facts: dict[str, Any]  # of the last round


def audit_mechanism(
    mechanism: AttackedMechanism, delta: float, wanted: int, confidence: float = 0.95, seed: int = 0
) -> Finding:
    """Return the finding of dry runs about the tightest guarantee that the mechanism's facts state."""
    said = statement(Site(mechanism, CLIENTS, CLIENTS + EMPTY), delta)
    ran = transcripts(mechanism, said, wanted, seed)
    of_memory = {"kept": memory_fault(ran.seen.site, said, EACH)} if said.attack in ("sum", "turns") else {}
    of_chance = {name: text for name, text in check_runs(ran.seen).items() if ran.known or name not in NOISE}
    found = {name: text for name, text in (ran.found | of_memory | of_chance).items() if text}
    wrong = not ran.known or found.keys() & {*NOISE, "noise", "repeatable"} != set()
    lower = lower_bound(ran, said, delta, confidence, wrong)
    return Finding(
        audit="dry_run",
        about=f"{said.about} in {TITLES[said.attack]} of {mechanism.scheme.name} ({said.accountant})",
        kind="guarantee",
        epsilon=said.epsilon,
        delta=delta,
        lower_bound=lower,
        confidence=confidence,
        cost=f"{len(ran.seen.inside):,} transcripts with the client, no training",
        broken="; ".join(found.values()),
    )


def transcripts(mechanism: AttackedMechanism, said: Statement, wanted: int, seed: int = 0) -> Transcripts:
    """Return at least so many transcripts with the canary, of as many dry runs as it takes."""
    bits = said.attack == "bit"
    site = Site(mechanism, ANSWERING, BITS) if bits else Site(mechanism, CLIENTS, CLIENTS + EMPTY)
    if site.gradient(mechanism.scheme) and not site.of_examples:
        wanted = -(-wanted // SLOWER)
    each = ANSWERING * BITS // 2 if bits else CLIENTS
    times, rounds = -(-wanted // each), mechanism.plan.rounds
    gram, shared = np.zeros((site.dimension, site.dimension)), np.zeros((rounds, rounds))
    company = np.zeros((site.population, site.population))
    together, apart, before = np.zeros((rounds, rounds)), np.zeros(rounds), np.zeros((rounds, site.dimension))
    ran: list[Dry] = []
    with progress(f"dry run of {mechanism.scheme.name}", 0, times, unit="run") as report:
        first = dry_run(site, said, Streams(seed, "dry run before all"), turned=False, probing=False)
        known = decoded(said, first, rounds)
        whiten = None  # `[T, T]`: the inverse root of the noise's covariance makes rounds independent
        if said.attack == "turns":
            noise = of_each_round(first, "noise")
            covariance = noise @ noise.T / noise.shape[1] if known is None else known @ known.T
            whiten = np.linalg.inv(np.linalg.cholesky(covariance))
        for time in range(times):
            streams = Streams(seed, f"dry run {time}")
            shown = dry_run(site, said, streams, turned=time % 2 == 1, probing=time == 0)
            one = score_run(site, said, shown, whiten)
            gram += one.noise.T @ one.noise
            together += one.noise @ one.noise.T
            apart += (before * one.noise).sum(axis=1)
            shared += one.came @ one.came.T
            company += one.came.T @ one.came
            before = one.noise
            ran.append(one._replace(noise=(one.noise**2).sum(axis=1), came=one.came.sum(axis=1)))
            report({"run": time + 1})
    inside, outside, powers, cells, ends, ties, multipliers, sizes = (
        np.array([getattr(one, name) for one in ran])
        for name in ("inside", "outside", "noise", "cells", "ends", "ties", "multipliers", "came")
    )
    law = cells.sum(axis=0), np.array([ends.min(), ends.max()]), ties.sum(axis=0)
    noise = powers, *law, gram, together, apart
    seen = Seen(site, inside.ravel(), outside.ravel(), *noise, sizes, shared, company)
    return Transcripts(seen, multipliers, ran[0].found, known is not None)


def decoded(said: Statement, one: DryRun, rounds: int) -> np.ndarray | None:
    """Matrix W `[T, m]` by which noise is correlated as the facts say; None: they do not say."""
    if said.mechanism == "gaussian" or said.attack != "turns":
        return np.eye(rounds)
    decoder = MECHANISMS[said.mechanism].decoder
    return decoder(one.facts, rounds) if decoder else None


def dry_run(site: Site, said: Statement, streams: Streams, turned: bool, probing: bool) -> DryRun:
    """Sights of one dry run, and with `probing` the results of probes in its rounds."""
    attack, plan = ATTACKS[said.attack], site.mechanism.plan
    population, rounds = site.population, range(1, plan.rounds + 1)
    directions = design(said.attack, population, site.dimension, streams.numpy("directions"), turned)
    memory, found = site.mechanism.scheme.memory(site.dimension), dict[str, str]()
    facts, sights = site.play(zero_rows(1, site.dimension), np.zeros(1, int), 1, memory, streams).facts, []
    rng = streams.numpy("looks")
    came = np.zeros((plan.rounds, population))
    for round in rounds:
        ids = site.draw(round, streams)
        np.add.at(came[round - 1], ids, 1.0)
        if probing and said.attack != "bit":  # nothing bounds a bit, or needs to
            found = probe_round(site, said, round, memory, streams) | found
        ids = np.arange(population) if said.always else ids
        norm = 1.0  # of a bit; else far more than the bound of the round before
        if said.attack != "bit":
            norm = LOUD * declared_bound(facts, said.attack, site.of_examples)
            norm *= site.expected if site.of_examples else 1.0
        played = site.play(directions.rows(ids, norm), ids, round, memory, streams)
        memory, facts = played.memory, played.facts
        sights.append(attack.see(site, directions, ids, played, rng))
    if (came > 1).any():
        found["twice"] = (
            f"a client is drawn more than once in round {1 + int((came > 1).any(axis=1).argmax())}"
        )
    found |= turn_faults(came, site.mechanism.law.facts(population, plan.rounds))
    return DryRun(sights, came, directions, found, facts)


def of_each_round(one: DryRun, name: str) -> np.ndarray:
    """One field of the sights, of each round."""
    return np.array([getattr(sight, name) for sight in one.sights])


def score_run(site: Site, said: Statement, one: DryRun, whiten: np.ndarray | None) -> Dry:
    """Return the scores of a dry run, and its noise as the checks look at it.

    `whiten` `[T, T]` makes the noise of rounds independent; who comes is known, unless an ε counts on
    sampling.
    """
    attack, plan, population = ATTACKS[said.attack], site.mechanism.plan, site.population
    seen, noise, multipliers = (of_each_round(one, name) for name in ("seen", "noise", "multiplier"))
    came, drawn = one.came, np.concatenate([sight.drawn.ravel() for sight in one.sights])
    if whiten is not None:
        sampled = said.sampling_law in ("poisson", "fixed") and not MECHANISMS[said.mechanism].decoder
        pattern = np.full_like(came, plan.sampling_rate) if sampled else came
        seen, noise, came = whiten @ seen, whiten @ noise, whiten @ pattern
        drawn = noise
    sides = attack.sides(one.directions, seen)
    inside, outside = (
        attack.score(plan, side, multipliers, came[:, np.arange(side.shape[-1]) % population])
        for side in sides
    )
    ties = np.sum([coincidences(sight.drawn, sight.grain) for sight in one.sights], axis=0)
    law = histogram(drawn), (drawn.min(initial=0.0), drawn.max(initial=0.0)), ties
    return Dry(inside, outside, noise, *law, multipliers, one.came, one.found)


def turn_faults(came: np.ndarray, facts: dict[str, Any]) -> dict[str, str]:
    """Faults: a client comes more often than is written down `[T, population]`, or sooner again."""
    if not facts:
        return {}
    often, apart = int(came.sum(axis=0).max()), facts["rounds_apart"]
    gaps = [np.diff(np.flatnonzero(one)).min(initial=apart) for one in came.T]
    found: dict[str, str] = {}
    if often > facts["participations"]:
        found["participations"] = f"a client comes in {often} rounds"
    if min(gaps) < apart:
        found["rounds apart"] = f"a client comes again after {min(gaps)} rounds"
    return found


def lower_bound(ran: Transcripts, said: Statement, delta: float, confidence: float, wrong: bool) -> float:
    """Return the lower bound of an attacker who knows how the score is distributed without the canary.

    If the noise is `wrong`, or not the same in all rounds, nobody knows that: then both sides are sampled,
    and the better of two readings counts, each with half of the risk.
    """
    seen, multiplier = ran.seen, float(np.median(ran.multipliers))
    plan = seen.site.mechanism.plan._replace(noise_multiplier=multiplier)
    known = ATTACKS[said.attack].scores(said, plan, delta)
    trials = len(seen.inside)
    if not wrong and float(np.ptp(ran.multipliers)) <= SAME * multiplier:
        threshold, log_null = known.threshold(trials, delta)
        hits = int((seen.inside >= threshold).sum())
        return bounds.null_bound(hits, trials, log_null, delta, confidence + ALPHA)
    each = (1 + confidence) / 2
    rare = known.values[min(len(known.values) - 1, int((known.outside > 1 / len(seen.outside)).sum()))]
    middle = known.values[int((known.outside > 1 - known.inside).sum())]
    return max(
        bounds.threshold_bound(seen.inside, seen.outside, rare, delta, each),
        bounds.gaussian_reading(seen.inside, seen.outside, middle, delta, each),
    )
