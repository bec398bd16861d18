"""A dry run from its rounds to a finding."""

from typing import NamedTuple

import numpy as np
import torch

from fedpriv.audit import bounds
from fedpriv.audit.dry.attacks import ATTACKS, LOUD, Sight, Statement, canaries, statement
from fedpriv.audit.dry.checks import ALPHA, NOISE, Seen, check_runs, histogram, probe_round
from fedpriv.audit.dry.rounds import CLIENTS, AttackedMechanism, Site, declared_bound
from fedpriv.audit.finding import Finding
from fedpriv.progress import progress
from fedpriv.streams import Streams

EMPTY = 100  # axes that nobody has
ANSWERING, BITS = 40, 100  # clients that send bits, and how many each
SAME = 1e-9  # multipliers that differ by less, relatively, are one
SLOWER = 10  # so many times fewer transcripts are made where every client draws noise of its own


class Transcripts(NamedTuple):
    """What an attacker sees in dry runs, and the faults that probes find in the first."""

    seen: Seen
    inside: np.ndarray  # scores with the canary
    outside: np.ndarray  # and without
    multipliers: np.ndarray  # [runs, T], of the noise that hides a canary
    faults: dict[str, str]  # by the name of the probe


class DryRun(NamedTuple):
    """One dry run of T rounds."""

    sights: list[Sight]
    came: np.ndarray  # [T, population], how often each was drawn
    faults: dict[str, str]

    def of_each_round(self, name: str) -> np.ndarray:
        """One field of the sights, of each round."""
        return np.array([getattr(sight, name) for sight in self.sights])


def audit_mechanism(
    mechanism: AttackedMechanism, delta: float, least: int, confidence: float = 0.95, seed: int = 0
) -> Finding:
    """Return the finding of dry runs about the tightest guarantee that the mechanism's facts state."""
    stated = statement(Site(mechanism, CLIENTS, CLIENTS + EMPTY), delta)
    ran = transcripts(mechanism, stated, least, seed)
    faults = ran.faults | check_runs(ran.seen)
    lower = lower_bound(ran, stated, delta, confidence, wrong=not faults.keys().isdisjoint(NOISE))
    return Finding(
        audit="dry_run",
        about=f"{stated.about} of {mechanism.scheme.name} ({stated.accountant})",
        kind="guarantee",
        epsilon=stated.epsilon,
        delta=delta,
        lower_bound=lower,
        confidence=confidence,
        cost=f"{len(ran.inside):,} transcripts with the client, no training",
        broken="; ".join(faults.values()),
    )


def transcripts(mechanism: AttackedMechanism, stated: Statement, least: int, seed: int = 0) -> Transcripts:
    """Return at least so many transcripts with the canary, of as many dry runs as it takes."""
    bits = stated.attack == "bit"
    site = Site(mechanism, ANSWERING, BITS) if bits else Site(mechanism, CLIENTS, CLIENTS + EMPTY)
    if site.gradient() and not site.of_examples:
        least = -(-least // SLOWER)
    times = -(-least // (ANSWERING * BITS // 2 if bits else CLIENTS))
    seen = Seen.of_nothing(site)
    attack, inside, outside, multipliers, faults = ATTACKS[stated.attack], [], [], [], {}
    with progress(f"dry run of {mechanism.scheme.name}", 0, times, unit="run") as report:
        for time in range(times):
            run = dry_run(site, stated, Streams(seed, f"dry run {time}"), probing=time == 0)
            noise, multiplier = run.of_each_round("noise"), run.of_each_round("multiplier")
            for scores, name in ((inside, "inside"), (outside, "outside")):
                scores.append(attack.score(mechanism.plan, run.of_each_round(name), multiplier))
            multipliers.append(multiplier)
            faults = run.faults | faults
            drawn = np.concatenate([sight.drawn.ravel() for sight in run.sights])
            seen = Seen(
                site,
                powers=np.vstack([seen.powers, (noise**2).sum(axis=1)]),
                cells=seen.cells + histogram(drawn),
                numbers=seen.numbers + noise.T @ noise,
                rounds=seen.rounds + noise @ noise.T,
                sizes=np.vstack([seen.sizes, run.came.sum(axis=1)]),
                came=seen.came + run.came.sum(axis=0),
            )
            report({"run": time + 1})
    scores = (np.concatenate(inside), np.concatenate(outside))
    return Transcripts(seen, *scores, np.array(multipliers), faults)


def dry_run(site: Site, stated: Statement, streams: Streams, probing: bool) -> DryRun:
    """Sights of one dry run, and with `probing` the faults that probes find in its rounds."""
    attack, population, rounds = ATTACKS[stated.attack], site.population, site.mechanism.plan.rounds
    rows = canaries(site, stated.attack, streams.numpy("directions"))
    memory, faults = site.mechanism.scheme.memory(site.dimension), dict[str, str]()
    facts = site.play(torch.zeros(1, site.dimension), np.zeros(1, int), 1, memory, streams).facts
    sights, rng, came = [], streams.numpy("looks"), np.zeros((rounds, population))
    for round in range(1, rounds + 1):
        ids = site.draw(round, streams)
        np.add.at(came[round - 1], ids, 1.0)
        if came[round - 1].max(initial=0.0) > 1:
            faults.setdefault("twice", f"a client is drawn more than once in round {round}")
        if probing and stated.attack != "bit":  # nothing bounds a bit, or needs to
            faults = probe_round(site, stated, round, memory, streams) | faults
        ids = np.arange(population) if stated.always else ids
        norm = 1.0  # of a bit; else far more than the bound of the round before
        if stated.attack != "bit":
            norm = LOUD * declared_bound(facts, stated.attack, site.of_examples)
            norm *= site.expected if site.of_examples else 1.0
        played = site.play(rows[ids] * norm, ids, round, memory, streams)
        memory, facts = played.memory, played.facts
        sights.append(attack.see(site, ids, played, rng))
    return DryRun(sights, came, faults)


def lower_bound(ran: Transcripts, stated: Statement, delta: float, confidence: float, wrong: bool) -> float:
    """Return the lower bound of an attacker who knows how the score is distributed without the canary.

    If the noise is `wrong`, or not the same in all rounds, nobody knows that: then both sides are sampled,
    and the better of two readings counts, each with half of the risk.
    """
    multiplier, trials = float(np.median(ran.multipliers)), len(ran.inside)
    plan = ran.seen.site.mechanism.plan._replace(noise_multiplier=multiplier)
    known = ATTACKS[stated.attack].scores(stated, plan)
    if not wrong and float(np.ptp(ran.multipliers)) <= SAME * multiplier:
        threshold, log_null = known.threshold(trials, delta)
        hits = int((ran.inside >= threshold).sum())
        return bounds.null_bound(hits, trials, log_null, delta, confidence + ALPHA)
    each = (1 + confidence) / 2
    rare = known.values[min(len(known.values) - 1, int((known.outside > 1 / len(ran.outside)).sum()))]
    middle = known.values[int((known.outside > 1 - known.inside).sum())]
    return max(
        bounds.threshold_bound(ran.inside, ran.outside, rare, delta, each),
        bounds.gaussian_reading(ran.inside, ran.outside, middle, delta, each),
    )
