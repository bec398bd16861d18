"""Attacks on a mechanism that is run dry: the ε that it states, what an attacker sees, and its scores.

Canary i sends ten times the bound along axis i. What a sum shows along axes that nobody has is noise alone.
Of a sum in other axes, a sketch, the attacker takes what all others sent from it: what is left along an axis
is noise, and in a round in which a canary came as much more as its part is long. An attacker of single
uploads looks at each along its sender's axis and along one of nobody's. An attacker of bits sees answers:
half of the bits as they were sent, the others as if the opposite had been.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.special import ndtr, ndtri
from scipy.stats import binom, chi2

from fedpriv.account import PrivacyStatement, ledger, statements
from fedpriv.account.check import Trace, checked_trace
from fedpriv.account.releases import ONE_BIT
from fedpriv.account.views import answers_at_random, views
from fedpriv.audit.clients import AlikeRounds, Scores, score, scores
from fedpriv.audit.dry.cohorts import normal_scores
from fedpriv.audit.dry.rounds import Round, Site, declared_bound, declared_std
from fedpriv.errors import BadInput
from fedpriv.mechanisms.clipping import norms_of
from fedpriv.streams import Streams
from fedpriv.trace import MECHANISMS, SAMPLED, Facts

# How an ε is counted -> who sees what.
SEEN = {
    "": "sum",
    "sum": "sum",
    "sized": "sum",
    "sequential": "sum",
    "parallel": "sum",
    "upload": "upload",
    "drawn": "upload",
}
LOUD = 10.0  # norm of what a canary sends, in units of the bound
CELLS = 4_000  # values of the score of an upload
UPLOADS = 5  # of a round, whose noise is looked at by itself


class Statement(PrivacyStatement):
    """One ε of the ledger, and how it is attacked."""

    @property
    def attack(self) -> str:
        """Name of the attack: on the sum, on single uploads, on single bits."""
        return "bit" if self.unit == ONE_BIT else SEEN[self.accounting]

    @property
    def always(self) -> bool:
        """True for the ε of a client who comes in every round."""
        return self.accounting == "upload"

    @property
    def reach(self) -> float:
        """Distance of neighbours, in units of the bound."""
        return 2.0 if self.sensitivity == "2C" else 1.0

    @property
    def about(self) -> str:
        """Owner of the ε, and what the attacker sees."""
        owner = {"instance": "an example", ONE_BIT: "one bit of a client"}.get(self.unit, "a client")
        return f"{owner} in the {'sums' if self.attack == 'sum' else 'uploads'}"


def statement(site: Site, delta: float) -> Statement:
    """Tightest guarantee that the facts of a dry run state, all of whose assumptions hold.

    Raises BadInput where there is none, and where rounds are not independent: clients who come in turn, or
    noise that is correlated.
    """
    scheme, (trace, facts) = site.mechanism.scheme, quiet_run(site)
    subject = f"--mechanism: found {scheme.name} with these settings, "
    met = guarantees(trace, scheme.unit, delta)
    if not met:
        raise BadInput(f"{subject}whose facts state no ε, allowed: what has a guarantee")
    released = MECHANISMS[scheme.mechanism]
    if not released.independent or any(view.law not in SAMPLED for view in views(trace, {})):
        raise BadInput(f"{subject}whose rounds depend on each other, allowed: independent noise and cohorts")
    least = Statement(**vars(min(met, key=lambda stated: stated.epsilon)))
    if least.attack != "bit" and math.isinf(declared_bound(facts, least.attack, site.rows_are_examples)):
        raise BadInput(f"{subject}whose facts state no clip_l2, allowed: a bound of what a client sends")
    return least


def quiet_run(site: Site) -> tuple[Trace, Facts]:
    """Return the trace of a dry run in which nobody sends anything, and the facts of its last round."""
    memory, rows, facts = site.mechanism.scheme.memory(site.dimension), [], Facts()
    streams = Streams(0, "dry run that is accounted")
    for round_number in range(1, site.mechanism.plan.rounds + 1):
        ids = site.draw(round_number, streams)
        played = site.play(torch.zeros(len(ids), site.dimension), ids, round_number, memory, streams)
        memory, facts = played.memory, played.facts
        rows.append(site.row(facts, round_number, len(ids)))
    return checked_trace(pd.DataFrame(rows)), facts


def guarantees(trace: Trace, unit: str, delta: float) -> list[PrivacyStatement]:
    """Return the finite guarantees of a trace that an attack is about: for the unit, of answers for a bit."""
    units = {"instance": ["instance"], "client": ["client"]}.get(unit, ["client", "none"])
    accountings = [*SEEN]
    if answers_at_random(trace):
        units, accountings = [ONE_BIT], ["upload"]
    return [
        stated
        for stated in statements(ledger(trace, delta))
        if stated.status == "guarantee"
        and math.isfinite(stated.epsilon)
        and stated.unit in units
        and stated.accounting in accountings
    ]


class Sight(NamedTuple):
    """What an attacker sees of a round, in units of the bound, and its noise, over σ."""

    inside: np.ndarray  # [n], of each transcript with the canary; NaN where nothing is seen
    outside: np.ndarray  # and without
    noise: np.ndarray  # [d], of the sum
    drawn: np.ndarray  # single numbers of noise, as they were drawn
    uploads: np.ndarray  # the noise of single uploads, each as one standard normal; empty of a sum
    multiplier: float  # of the noise that hides a canary


def canaries(site: Site, attack: str, rng: np.random.Generator) -> torch.Tensor:
    """Return the uploads of the population `[population, d]`: of norm 1, or for bits plus and minus one."""
    if attack == "bit":
        signs = rng.choice(np.array([-1, 1], dtype=np.float32), (site.population, site.dimension))
        return torch.from_numpy(signs)
    return torch.eye(site.dimension)[: site.population]


NOBODY = np.zeros(0)


def see_sum(site: Site, ids: np.ndarray, played: Round, rng: np.random.Generator) -> Sight:
    """Sight of the noisy sum `[k]`: as large a part of its axes is the canaries' as of the d of a row."""
    bound = declared_bound(played.facts, "sum", site.rows_are_examples)
    sent = played.clean.double().sum(0).numpy()
    total = played.total.numpy()
    noise = total - sent
    # Of a scheme whose noise no column states the unit is what there is.
    std = declared_std(played.facts, len(played.clean)) or float(noise.std()) or bound
    theirs = len(noise) * site.population // site.dimension
    seen = total / bound
    if len(noise) < site.dimension or np.delete(sent, ids).any():  # in other axes than those of the canaries
        parts = norms_of(played.clean).numpy() / bound
        seen = noise / bound
        np.add.at(seen, ids[ids < theirs], parts[ids < theirs])
    inside, outside = np.split(seen, [theirs])
    return Sight(inside, outside, noise / std, noise / std, NOBODY, std / bound)


def see_uploads(site: Site, ids: np.ndarray, played: Round, rng: np.random.Generator) -> Sight:
    """Sight of single uploads `[n, k]`.

    What is looked at for faults is the noise of their sum, how much of it each has, and its law in a few of
    them: whatever is drawn, a sum of many is near a normal.
    """
    bound = declared_bound(played.facts, "upload", site.rows_are_examples)
    std = math.hypot(played.facts["upload_noise_std"], played.facts["instance_noise_std"])
    clean = played.clean.double().numpy()
    noise = (played.received.updates.double().numpy() - clean) / std
    size, rows = noise.shape[1], np.arange(len(ids))
    theirs = size * site.population // site.dimension
    inside, outside = np.full((2, site.population), np.nan)
    inside[ids] = noise[rows, ids % theirs] * (std / bound) + np.linalg.norm(clean, axis=1) / bound
    outside[ids] = noise[rows, theirs + ids % (size - theirs)] * (std / bound)
    single = noise[rng.choice(len(ids), min(len(ids), UPLOADS), replace=False)]
    each = ndtri(chi2.cdf(np.square(noise).sum(axis=1), size)).clip(-40, 40)
    return Sight(inside, outside, noise.sum(0) / max(1, len(ids)) ** 0.5, single, each, std / bound)


def see_bits(site: Site, ids: np.ndarray, played: Round, rng: np.random.Generator) -> Sight:
    """Sight of answers; what is looked at for faults is how many of each bit, and client, are right."""
    gamma = played.facts["gamma"]
    right = (played.received.updates * played.sent > 0).double().numpy()
    first, second = np.hsplit(right, 2)
    noise, each = (normal_scores(right.sum(side), right.shape[side], 0.5 + gamma, rng) for side in (0, 1))
    return Sight(first.ravel(), 1 - second.ravel(), noise, noise, each, gamma)


def upload_scores(stated: Statement, plan: AlikeRounds) -> Scores:
    """Distribution of the score of a client that is seen to come: each time it is Gaussian."""
    come = np.arange(plan.rounds + 1)
    chance = (
        (come == plan.rounds) * 1.0 if stated.always else binom.pmf(come, plan.rounds, plan.sampling_rate)
    )
    shift = come / plan.noise_multiplier**2
    spread = np.sqrt(np.maximum(shift, 1e-300))
    reach = shift[-1] / 2 + 10 * spread[-1]
    values = np.linspace(-reach, reach, CELLS)
    tails = [(chance * ndtr((side * shift / 2 - values[:, None]) / spread)).sum(axis=1) for side in (-1, 1)]
    return Scores(values, *tails)


def bit_scores(stated: Statement, plan: AlikeRounds) -> Scores:
    """Distribution of right answers, by chance and of the bit that was sent."""
    counts, gamma = np.arange(plan.rounds + 1), plan.noise_multiplier
    outside, inside = (binom.sf(counts - 1, plan.rounds, 0.5 + side * gamma) for side in (-1, 1))
    return Scores(counts.astype(np.float64), outside, inside)


class Attack(NamedTuple):
    """An attacker: what it sees, how it scores that, and the exact law of its scores."""

    see: Callable[[Site, np.ndarray, Round, np.random.Generator], Sight]
    # Of what is seen `[T, n]` under these multipliers `[T]` the scores `[n]`.
    score: Callable[[AlikeRounds, np.ndarray, np.ndarray], np.ndarray]
    # Of rounds that are alike, with the multiplier that hides a canary in the plan.
    scores: Callable[[Statement, AlikeRounds], Scores]


ATTACKS = {
    "sum": Attack(
        see_sum,
        lambda plan, seen, noise: score(plan._replace(noise_multiplier=noise[:, None]), seen).sum(axis=0),
        lambda stated, plan: scores(plan),
    ),
    "upload": Attack(  # NaN: the client is seen not to come
        see_uploads,
        lambda plan, seen, noise: np.nan_to_num((seen - 0.5) / noise[:, None] ** 2, nan=0.0).sum(axis=0),
        upload_scores,
    ),
    "bit": Attack(see_bits, lambda plan, seen, noise: seen.sum(axis=0), bit_scores),  # right answers
}
