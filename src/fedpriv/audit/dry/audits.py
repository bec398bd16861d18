"""A dry run from its rounds to a finding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedpriv.audit import bounds
from fedpriv.audit.dry.attacks import ATTACKS, LOUD, Design, design
from fedpriv.audit.dry.checks import ALPHA, EACH, NOISE, Seen, checked
from fedpriv.audit.dry.mechanisms import CLIENTS, Mechanism
from fedpriv.audit.dry.probes import kept, probed
from fedpriv.audit.dry.rounds import Site, declared_bound, nothing
from fedpriv.audit.dry.statements import TITLES, Statement, statement
from fedpriv.audit.finding import Finding
from fedpriv.progress import progress
from fedpriv.streams import Streams

EMPTY = 100  # directions that nobody has
ANSWERING, BITS = 40, 100  # clients that send bits, and how many each
SAME = 1e-9  # multipliers that differ by less, relatively, are one
SLOWER = 10  # so many times fewer transcripts are made where every client draws noise of its own


class Transcripts(NamedTuple):
    """What an attacker sees in dry runs, and what was found in them beside."""

    seen: Seen
    multipliers: np.ndarray  # [runs, T], of the noise that hides a canary
    found: dict[str, str]  # by the probes: what is not as stated, by the name of the probe


class Dry(NamedTuple):
    """One dry run of T rounds."""

    inside: np.ndarray  # scores
    outside: np.ndarray
    noise: np.ndarray  # [T, d], over σ
    sums: float  # of it
    multipliers: np.ndarray  # [T]
    came: np.ndarray  # [T, population], how often each was drawn
    found: dict[str, str]


def audited(
    mechanism: Mechanism, delta: float, wanted: int, confidence: float = 0.95, seed: int = 0
) -> Finding:
    """Return what dry runs say of the tightest guarantee that the mechanism's facts state."""
    said = statement(Site(mechanism, CLIENTS, CLIENTS + EMPTY), delta)
    ran = transcripts(mechanism, said, wanted, seed)
    of_memory = {"kept": kept(ran.seen.site, said, EACH)} if said.attack == "sum" else {}
    found = {name: text for name, text in (ran.found | of_memory | checked(ran.seen)).items() if text}
    lower = lower_bound(ran, said, delta, confidence, found.keys() & {*NOISE, "noise", "repeatable"} != set())
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


def transcripts(mechanism: Mechanism, said: Statement, wanted: int, seed: int = 0) -> Transcripts:
    """Return at least so many transcripts with the canary, of as many dry runs as it takes."""
    bits = said.attack == "bit"
    site = Site(mechanism, ANSWERING, BITS) if bits else Site(mechanism, CLIENTS, CLIENTS + EMPTY)
    if site.gradient(mechanism.scheme) and not site.of_examples:
        wanted = -(-wanted // SLOWER)
    each = ANSWERING * BITS // 2 if bits else CLIENTS
    times, rounds = -(-wanted // each), mechanism.plan.rounds
    gram, shared = np.zeros((site.dimension, site.dimension)), np.zeros((rounds, rounds))
    together, apart, before = np.zeros((rounds, rounds)), np.zeros(rounds), np.zeros((rounds, site.dimension))
    ran: list[Dry] = []
    with progress(f"dry run of {mechanism.scheme.name}", 0, times, unit="run") as report:
        for time in range(times):
            one = dry_run(
                site, said, Streams(seed, f"dry run {time}"), turned=time % 2 == 1, probing=time == 0
            )
            gram += one.noise.T @ one.noise
            together += one.noise @ one.noise.T
            apart += (before * one.noise).sum(axis=1)
            shared += one.came @ one.came.T
            before = one.noise
            ran.append(one._replace(noise=(one.noise**2).sum(axis=1), came=one.came.sum(axis=1)))
            report({"run": time + 1})
    inside, outside, powers, sums, multipliers, sizes = (
        np.array([getattr(one, name) for one in ran])
        for name in ("inside", "outside", "noise", "sums", "multipliers", "came")
    )
    seen = Seen(site, inside.ravel(), outside.ravel(), powers, sums, gram, together, apart, sizes, shared)
    return Transcripts(seen, multipliers, ran[0].found)


def dry_run(site: Site, said: Statement, streams: Streams, turned: bool, probing: bool) -> Dry:
    """Return what is seen in one dry run, and with `probing` what the probes of its rounds have found."""
    attack, plan = ATTACKS[said.attack], site.mechanism.plan
    population, rounds = site.population, range(1, plan.rounds + 1)
    directions = design(said.attack, population, site.dimension, streams.numpy("directions"), turned)
    memory, found = site.mechanism.scheme.memory(site.dimension), dict[str, str]()
    facts, sights = site.play(nothing(1, site.dimension), np.zeros(1, int), 1, memory, streams).facts, []
    came = np.zeros((plan.rounds, population))
    for round in rounds:
        ids = site.draw(round, streams)
        np.add.at(came[round - 1], ids, 1.0)
        if probing and said.attack != "bit":  # nothing bounds a bit, or needs to
            found = probed(site, said, round, memory, streams) | found
        ids = np.arange(population) if said.always else ids
        played = site.play(loud(site, said, directions, ids, facts), ids, round, memory, streams)
        memory, facts = played.memory, played.facts
        sights.append(attack.see(site, directions, ids, played))
    multipliers = np.array([one.multiplier for one in sights])
    sides = attack.sides(directions, np.array([one.seen for one in sights]))
    inside, outside = (attack.score(plan, side, multipliers) for side in sides)
    if (came > 1).any():
        found["twice"] = (
            f"a client is drawn more than once in round {1 + int((came > 1).any(axis=1).argmax())}"
        )
    noise = np.array([one.noise for one in sights])
    return Dry(inside, outside, noise, float(noise.sum()), multipliers, came, found)


def loud(site: Site, said: Statement, directions: Design, ids: np.ndarray, facts: dict[str, float]):
    """Return what canaries send: bits, or far more than the bound of the round before."""
    if said.attack == "bit":
        return directions.rows(ids, 1.0)
    bound = declared_bound(facts, said.attack, site.of_examples)
    return directions.rows(ids, LOUD * bound * (site.expected if site.of_examples else 1.0))


def lower_bound(ran: Transcripts, said: Statement, delta: float, confidence: float, wrong: bool) -> float:
    """Return the lower bound of an attacker who knows how the score is distributed without the canary.

    If the noise is `wrong`, or not the same in all rounds, nobody knows that: then both sides are sampled,
    and the better of two readings counts, each with half of the risk.
    """
    seen, multiplier = ran.seen, float(np.median(ran.multipliers))
    known = ATTACKS[said.attack].scores(said, seen.site.mechanism.plan._replace(noise_multiplier=multiplier))
    trials = len(seen.inside)
    if not wrong and float(np.ptp(ran.multipliers)) <= SAME * multiplier:
        threshold, log_null = known.threshold(trials, delta)
        hits = int((seen.inside >= threshold).sum())
        return bounds.against_null(hits, trials, log_null, delta, confidence + ALPHA)
    each = (1 + confidence) / 2
    rare = known.values[min(len(known.values) - 1, int((known.outside > 1 / len(seen.outside)).sum()))]
    middle = known.values[int((known.outside > 1 - known.inside).sum())]
    return max(
        bounds.thresholded(seen.inside, seen.outside, rare, delta, each),
        bounds.gaussian_reading(seen.inside, seen.outside, middle, delta, each),
    )
