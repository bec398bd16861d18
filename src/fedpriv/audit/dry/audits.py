"""A dry run from its rounds to a finding."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import ndtr

from fedpriv.audit import bounds
from fedpriv.audit.dry import cohorts, kept
from fedpriv.audit.dry.attacks import ATTACKS, LOUD, Statement, canaries, statement
from fedpriv.audit.dry.normals import PAIRS, TESTS, Numbers, Suspicion, rarest, spread_pvalue, steps_beneath
from fedpriv.audit.dry.probes import ProbedRound, faults_of, hostile
from fedpriv.audit.dry.rounds import CLIENTS, AttackedMechanism, Site, declared_bound, declared_std
from fedpriv.audit.finding import Finding
from fedpriv.progress import progress
from fedpriv.schemes.base import VERBS, Scheme
from fedpriv.streams import Streams
from fedpriv.trace import Facts

EMPTY = 100  # axes that nobody has
ANSWERING, BITS = 40, 100  # clients that send bits, and how many each
SAME = 1e-9  # multipliers that differ by less, relatively, are one
SLOWER = 10  # so many times fewer transcripts are made where every client draws noise of its own
LOOKS = 300  # rounds in which somebody looks at what is kept, in whole runs: each is four rounds more
ALPHA = 1e-3  # how often one of all tests of a sound mechanism is wrong: confidence pays
EXACT = 1e-6  # of what float32 has added up, in the units of its largest part
# Where one of these faults is, nobody knows how scores are distributed without the canary.
NOISE = {*TESTS, "uploads", "steps", "repeatable", "noise", "run"}


class DryRun(NamedTuple):
    """One dry run of T rounds: what an attacker makes of it, and what is tested."""

    inside: np.ndarray  # scores with the canary
    outside: np.ndarray  # and without
    multipliers: np.ndarray  # [T], of the noise that hides a canary
    noise: np.ndarray  # [T, d], over σ
    drawn: np.ndarray  # [m], single numbers of it, as they were drawn
    uploads: np.ndarray  # the noise of single uploads, each as one standard normal
    came: np.ndarray  # [T, population], how often each was drawn
    moved: np.ndarray  # [T, K], what a client moves the numbers by that are kept; empty if nobody looked
    kept: np.ndarray  # [T, K], their noise, in clients
    stated: np.ndarray  # [T], what a fact states of that noise


class Transcripts(NamedTuple):
    """Dry runs of a site, and what else was looked at once."""

    site: Site
    runs: list[DryRun]
    faults: dict[str, str]  # that probes find, by their names
    totals: np.ndarray  # [T, d], sums of hostile uploads, over σ
    again: np.ndarray  # [1, T, population], who comes in one more run

    def field(self, name: str) -> np.ndarray:
        """One field of all runs `[R, ...]`."""
        return np.array([getattr(run, name) for run in self.runs])

    def field_of_looks(self, name: str) -> np.ndarray:
        """One field of those runs in which somebody looked at what is kept `[L, ...]`."""
        return np.array([getattr(run, name) for run in self.runs if len(run.kept)])

    @property
    def inside(self) -> np.ndarray:
        """Scores of all transcripts with the canary."""
        return self.field("inside").ravel()

    @property
    def outside(self) -> np.ndarray:
        """Scores of all transcripts without it."""
        return self.field("outside").ravel()


def audit_mechanism(
    mechanism: AttackedMechanism, delta: float, least: int, confidence: float = 0.95, seed: int = 0
) -> Finding:
    """Return the finding of dry runs about the tightest guarantee that the mechanism's facts state."""
    stated = statement(Site(mechanism, CLIENTS, CLIENTS + EMPTY), delta)
    ran = transcripts(mechanism, stated, least, seed)
    faults = ran.faults | faults_of_runs(ran, ALPHA)
    return Finding(
        audit="dry_run",
        about=f"{stated.about} of {mechanism.scheme.name} ({stated.accountant})",
        kind="guarantee",
        epsilon=stated.epsilon,
        delta=delta,
        lower_bound=lower_bound(
            ran,
            stated,
            delta,
            confidence,
            wrong=not mechanism.law_known or not faults.keys().isdisjoint(NOISE),
        ),
        confidence=confidence,
        cost=f"{len(ran.inside):,} transcripts with the client, no training",
        broken="; ".join(faults.values()),
        attacked=attacked(ran),
        not_attacked=tuple(not_attacked(ran)),
    )


def transcripts(mechanism: AttackedMechanism, stated: Statement, least: int, seed: int = 0) -> Transcripts:
    """Return at least so many transcripts with the canary, of as many dry runs as it takes."""
    sizes = (ANSWERING, BITS) if stated.attack == "bit" else (CLIENTS, CLIENTS + EMPTY)
    site = Site(mechanism, *sizes, sees_uploads=stated.attack != "sum")
    if site.gradient() and not site.rows_are_examples:
        least = -(-least // SLOWER)
    rounds, first = mechanism.plan.rounds, Streams(seed, "dry run 0")
    watch = kept.Watch(site, stated) if looks_at_kept(site) else None
    runs = [dry_run(site, stated, first, watch)]
    times = -(-least // max(1, len(runs[0].inside)))
    with progress(f"dry run of {mechanism.scheme.name}", 1, times, unit="run") as report:
        for time in range(1, times):
            looking = watch if time * rounds < LOOKS else None
            runs.append(dry_run(site, stated, Streams(seed, f"dry run {time}"), looking))
            report({"run": time + 1})
    others = Streams(seed, "dry run of others")
    again = [attendance(site, site.draw(round_number, others)) for round_number in range(1, rounds + 1)]
    return Transcripts(site, runs, *probed(site, stated, first), np.array([again]))


def attendance(site: Site, ids: np.ndarray) -> np.ndarray:
    """How often each of the population is among those who were drawn."""
    return np.bincount(ids, minlength=site.population).astype(np.uint8)


def dry_run(site: Site, stated: Statement, streams: Streams, watch: kept.Watch | None) -> DryRun:
    """One dry run of the attack on what is stated; who watches looks at what is kept."""
    attack, mechanism = ATTACKS[stated.attack], site.mechanism
    rows, rng = canaries(site, stated.attack, streams.numpy("directions")), streams.numpy("looks")
    memory = mechanism.scheme.memory(site.dimension)
    facts = site.play(torch.zeros(1, site.dimension), np.zeros(1, int), 1, memory, streams).facts
    sights, came, looks, stated_of_kept = [], [], [], []
    for round_number in range(1, mechanism.plan.rounds + 1):
        ids = site.draw(round_number, streams)
        came.append(attendance(site, ids))
        if watch:
            looks.append(watch.look(round_number, memory, streams))
        ids = np.arange(site.population) if stated.always else ids
        norm = loud_norm(site, stated, facts)
        played = site.play(rows[ids] * norm, ids, round_number, memory, streams)
        memory, facts = played.memory, played.facts
        sights.append(attack.see(site, ids, played, rng))
        stated_of_kept.append(facts[kept.STATED])
    inside, outside, noise, multipliers = (
        np.array([getattr(sight, name) for sight in sights])
        for name in ("inside", "outside", "noise", "multiplier")
    )
    drawn, uploads = (
        np.concatenate([getattr(sight, name).ravel() for sight in sights]) for name in ("drawn", "uploads")
    )
    return DryRun(
        inside=attack.score(mechanism.plan, inside, multipliers),
        outside=attack.score(mechanism.plan, outside, multipliers),
        multipliers=multipliers,
        noise=noise.astype(np.float32),
        drawn=drawn.astype(np.float32),
        uploads=uploads,
        came=np.array(came),
        moved=np.array([moved for moved, _ in looks]),
        kept=np.array([noise_kept for _, noise_kept in looks]),
        stated=np.array(stated_of_kept),
    )


def loud_norm(site: Site, stated: Statement, facts: Facts) -> float:
    """Norm of what a canary sends: of a bit 1, else far more than the bound of the round before."""
    if stated.attack == "bit":
        return 1.0
    bound = declared_bound(facts, stated.attack, site.rows_are_examples)
    return LOUD * bound * (site.expected if site.rows_are_examples else 1.0)


def overrides(scheme: Scheme, verb: str) -> bool:
    """Return True where a scheme has a verb of its own."""
    return getattr(type(scheme), verb) is not getattr(Scheme, verb)


def looks_at_kept(site: Site) -> bool:
    """Return True where what is remembered is a release of its own: not of what is seen anyway."""
    return overrides(site.mechanism.scheme, "remember") and not site.sees_uploads


def probed(site: Site, stated: Statement, streams: Streams) -> tuple[dict[str, str], np.ndarray]:
    """Faults that probes find in the rounds of one run, by their names, and their noisy sums over σ `[T, k]`.

    What is kept until then is that of a run in which a client is silent.
    """
    memory, faults, totals = site.mechanism.scheme.memory(site.dimension), dict[str, str](), []
    for round_number in range(1, site.mechanism.plan.rounds + 1):
        silent = site.play(torch.zeros(1, site.dimension), np.zeros(1, int), round_number, memory, streams)
        rows = hostile(site, stated, silent.facts, streams, round_number)
        played = site.play(rows, np.arange(len(rows)), round_number, memory, streams)
        faults = faults_of(ProbedRound(site, stated, round_number, memory, streams, rows, played)) | faults
        totals.append(played.total.numpy() / (declared_std(played.facts, len(played.clean)) or 1.0))
        memory = silent.memory
    return faults, np.array(totals)


def faults_of_runs(ran: Transcripts, alpha: float) -> dict[str, str]:
    """Faults of many rounds, by the names of tests, which are all together wrong in α of dry runs at most."""
    tests = list(suspicions(ran))
    return {name: fault for name, (pvalue, fault) in tests if pvalue < alpha / len(tests)}


def suspicions(ran: Transcripts) -> Iterator[tuple[str, Suspicion]]:
    """Yield each fault that there may be of noise and cohorts, by its name."""
    site, noise, known = ran.site, noise_numbers(ran), ran.site.mechanism.law_known
    if not np.isfinite(noise.raw).all():
        yield "law", Suspicion(0.0, "the noise is not normal: some of its numbers are none")
        return
    for name, test in (TESTS if known else PAIRS).items():
        yield name, test(noise)
    if known and noise.drawn is None:
        yield "steps", steps_beneath(noise, ran.totals)
    if site.sees_uploads:
        yield "uploads", upload_variance(np.concatenate([run.uploads for run in ran.runs]))
    yield from cohorts.suspicions(site.mechanism.law, ran.field("came"), ran.again)
    if known and looks_at_kept(site):
        looked = ran.field_of_looks("kept")
        yield from kept.suspicions(
            kept.names_of(site.mechanism.scheme.memory(site.dimension)),
            ran.field_of_looks("moved"),
            looked,
            ran.field_of_looks("stated"),
            noise.numbers[: len(looked)],
        )


def noise_numbers(ran: Transcripts) -> Numbers:
    """Return the noise of all runs; where it is of single uploads, and not of sums, as it was drawn, too."""
    raw, drawn = ran.field("noise"), [run.drawn for run in ran.runs]
    size, shortest = raw.shape[2], min(map(len, drawn))
    return Numbers(
        raw,
        exact=EXACT * (1 + 1 / float(np.median(ran.field("multipliers")))),
        tensors=(size - size // 2, size // 2),
        drawn=None if len(drawn[0]) == raw[0].size else np.array([row[:shortest] for row in drawn]),
    )


def upload_variance(scores: np.ndarray) -> Suspicion:
    """Fault: one upload, or all, have another share of noise than is stated."""
    return rarest(
        [
            (2 * ndtr(-np.abs(scores)), lambda _: "an upload has another variance than is stated"),
            (
                spread_pvalue(np.square(scores).sum(keepdims=True), len(scores)),
                lambda _: "the variance of uploads is not alike",
            ),
        ]
    )


def attacked(ran: Transcripts) -> tuple[str, ...]:
    """Return what of a mechanism is attacked: the cohort law, verbs of the scheme, and hooks.

    `memory` begins with what no client has, and is not named. What the server makes of a release is attacked
    as such: it may show nothing else.
    """
    mechanism = ran.site.mechanism
    verbs = [name for name in VERBS if overrides(mechanism.scheme, name) and name != "memory"]
    return (
        "cohort",
        *verbs,
        *(f"hooks.{name}" for name in mechanism.hooks.model_dump(exclude_defaults=True)),
    )


def not_attacked(ran: Transcripts) -> Iterator[str]:
    """Yield what of a mechanism is not attacked, each with the reason."""
    mechanism, scheme = ran.site.mechanism, ran.site.mechanism.scheme
    if not mechanism.law_known:
        yield f"combine: the law of its noise, which only accountants of {scheme.mechanism} know"
    if looks_at_kept(ran.site):
        seen, stated = (np.isfinite(ran.field_of_looks(name)).any() for name in ("kept", "stated"))
        if not mechanism.law_known:
            yield "remember: the noise of what is kept, which no fact states"
        elif stated and not seen:
            yield "remember: the noise of what is kept, which no client moves here"
    if overrides(scheme, "gradient"):
        yield "gradient: the engine that computes it"


def lower_bound(ran: Transcripts, stated: Statement, delta: float, confidence: float, wrong: bool) -> float:
    """Return the lower bound of an attacker who knows how the score is distributed without the canary.

    If the noise is `wrong`, or not the same in all rounds, nobody knows that: then both sides are sampled,
    and the better of two readings counts, each with half of the risk.
    """
    multipliers, inside, outside = ran.field("multipliers"), ran.inside, ran.outside
    multiplier = float(np.median(multipliers))
    plan = ran.site.mechanism.plan._replace(noise_multiplier=multiplier)
    known = ATTACKS[stated.attack].scores(stated, plan)
    if not wrong and float(np.ptp(multipliers)) <= SAME * multiplier:
        threshold, log_null = known.threshold(len(inside), delta)
        hits = int((inside >= threshold).sum())
        return bounds.null_bound(hits, len(inside), log_null, delta, confidence + ALPHA)
    each = (1 + confidence) / 2
    rare = known.values[min(len(known.values) - 1, int((known.outside > 1 / len(outside)).sum()))]
    middle = known.values[int((known.outside > 1 - known.inside).sum())]
    return max(
        bounds.threshold_bound(inside, outside, rare, delta, each),
        bounds.gaussian_reading(inside, outside, middle, delta, each),
    )
