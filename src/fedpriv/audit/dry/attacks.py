"""Attacks on a mechanism that is run dry, and what it states of itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr, ndtri
from scipy.stats import binom

from fedpriv.account import ledger, rdp
from fedpriv.account.check import Trace, checked_trace
from fedpriv.account.randomized_response import ONE_BIT
from fedpriv.account.views import views
from fedpriv.audit import bounds
from fedpriv.audit.clients import AlikeRounds, Scores, score, scores
from fedpriv.audit.dry.rounds import Round, Site, declared_bound, declared_std, zero_rows
from fedpriv.errors import BadInput
from fedpriv.streams import Streams
from fedpriv.trace import SAMPLED, Facts

if TYPE_CHECKING:
    import torch


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
TITLES = {"sum": "the sums", "turns": "the sums", "upload": "the uploads", "bit": "the uploads"}


class Statement(NamedTuple):
    """One ε of the ledger, and how its neighbours differ."""

    epsilon: float
    accountant: str
    accounting: str
    unit: str
    relation: str
    sensitivity: str
    sampling_law: str
    mechanism: str  # what is released
    multipliers: np.ndarray  # [T], the noise over the bound that it is counted from; empty of bits

    @property
    def attack(self) -> str:
        """Name of the attack: on the sum, on single uploads, on single bits.

        `turns` is whoever sees the sum where clients come in turn, or where noise is not independent.
        """
        if self.unit == ONE_BIT:
            return "bit"
        sampled = self.mechanism == "gaussian" and self.sampling_law in SAMPLED
        return SEEN[self.accounting] if sampled or SEEN[self.accounting] != "sum" else "turns"

    @property
    def always(self) -> bool:
        """True for the ε of a client who comes in every round."""
        return self.accounting == "upload"

    @property
    def reach(self) -> float:
        """Return by how many bounds neighbours may be apart."""
        return 2.0 if self.sensitivity == "2C" else 1.0

    @property
    def about(self) -> str:
        """Owner of the ε."""
        return {"instance": "an example", ONE_BIT: "one bit of a client"}.get(self.unit, "a client")


def statement(site: Site, delta: float) -> Statement:
    """Return the tightest guarantee that a dry run of what is believed states, all of whose assumptions hold.

    Where there is none BadInput says so.
    """
    mechanism = site.mechanism._replace(scheme=site.mechanism.believed)
    site, rows = site._replace(mechanism=mechanism), []
    memory = mechanism.believed.memory(site.dimension)
    streams = Streams(0, "dry run that is accounted")
    for round in range(1, mechanism.plan.rounds + 1):
        ids = site.draw(round, streams)
        played = site.play(zero_rows(len(ids), site.dimension), ids, round, memory, streams)
        memory = played.memory
        rows.append(site.row(played.facts, round, len(ids)))
    trace = checked_trace(pd.DataFrame(rows))
    last = ledger(trace, delta)
    unit = {"instance": ["instance"], "client": ["client"]}.get(mechanism.believed.unit, ["client", "none"])
    bits = (trace["noisy_bits"] > 0).all()
    met = last[
        (last["round"] == len(rows))
        & (last["kind"] == "guarantee")
        & last["assumptions_met"]
        & np.isfinite(last["epsilon"])
        & (last["unit"].isin([ONE_BIT] if bits else unit))
        & (last["accounting"].isin(["upload"] if bits else [*SEEN]))
    ]
    if met.empty:
        raise BadInput(
            f"--mechanism: found {mechanism.believed.name} with these settings, whose facts state no ε, "
            "allowed: what has a guarantee"
        )
    best = met.sort_values("epsilon", kind="stable").iloc[0]
    said: dict[str, Any] = {name: best[name] for name in Statement._fields if name in best}
    released = [one.mechanism for one in views(trace, {})]  # of bits there is no view
    said |= {
        "epsilon": float(best["epsilon"]),
        "mechanism": released[0] if released else "randomized_response",
    }
    return Statement(**said, multipliers=np.empty(0) if bits else multipliers(trace, said))


def multipliers(trace: Trace, said: dict[str, Any]) -> np.ndarray:
    """Return the noise over the bound that each round is counted with `[T]`, of sum and memory together."""
    for view in views(trace, {}):
        if (view.accounting, view.unit) == (said["accounting"], said["unit"]):
            noise = np.array([one.noise_multiplier for one in view.mechanisms])
            return np.where(view.counts > 0, noise, math.inf).min(axis=1)
    raise AssertionError(said)


LOUD = 10.0  # norm of what a canary sends, in units of the bound
CELLS = 4_000  # values of a score of which nothing is composed
UPLOADS = 5  # of a round, of which the noise is looked at by itself
ROUNDED = 2.0**-22  # of a number of float32, what some operations may move it by
COARSE = 1e-2  # noise over σ that is rounded so has no law to be looked at


class Design(NamedTuple):
    """The directions of a dry run: of each of the population, and some that nobody has."""

    population: int
    directions: torch.Tensor  # orthonormal rows `[d, d]`; of bits plus and minus one `[population, d]`

    def rows(self, ids: np.ndarray, bound: float) -> torch.Tensor:
        """Rows of these canaries `[n, d]`."""
        import torch

        return self.directions.index_select(0, torch.from_numpy(ids)).mul_(bound)


class Sight(NamedTuple):
    """What an attacker sees of a round, in units of the bound, and its noise, over σ."""

    seen: np.ndarray
    noise: np.ndarray  # [d], of the sum
    drawn: np.ndarray  # single numbers of noise as they were drawn, of which a sum may be made
    grain: float  # what float32 may round these to
    multiplier: float  # of the noise that hides a canary


# What is seen in all rounds: of each transcript with the canary `[T, n]`, and without; NaN where nothing is.
Sides = tuple[np.ndarray, np.ndarray]


def see_sum(site: Site, design: Design, ids: np.ndarray, played: Round, rng: np.random.Generator) -> Sight:
    """Sight of the noisy sum `[d]`.

    Of noise that uploads bring along, one half of the numbers is looked at in the sum, the other in uploads:
    whatever is drawn, a sum of many is near a normal.
    """
    # Of a scheme whose noise no column says the unit is the bound.
    std = declared_std(played.facts, len(played.clean)) or played.facts["clip_l2"]
    bound = declared_bound(played.facts, "sum", site.of_examples)
    noise = (played.total - played.clean.sum(0)).numpy() / std
    drawn, grain = noise, ROUNDED * float(played.total.abs().max()) / std
    brought = played.facts["noise_in_sum"] and upload_std(played.facts) > 0
    if brought and len(played.clean) > 1:
        (single, coarse), half = single_noise(played, rng), len(noise) // 2
        if coarse < COARSE:
            drawn, grain = np.concatenate([noise[:half], single[:, half:].ravel()]), max(grain, coarse)
    return Sight(played.total.numpy() / bound, noise, drawn, grain, std / bound)


def upload_std(facts: Facts) -> float:
    """Return the std of the noise that an upload is said to have."""
    return math.hypot(facts["upload_noise_std"], facts["instance_noise_std"])


def single_noise(played: Round, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return the noise of a few uploads `[k, d]`, over its σ, and what float32 may round it to."""
    some = rng.choice(len(played.clean), min(len(played.clean), UPLOADS), replace=False)
    noisy, clean = (rows.numpy()[some].astype(np.float64) for rows in (played.received.updates, played.clean))
    std = upload_std(played.facts)
    return (noisy - clean) / std, ROUNDED * float(np.abs(noisy).max(initial=0.0)) / std


def along_directions(design: Design, seen: np.ndarray) -> Sides:
    """Return sums `[T, d]` along the directions of canaries, and along those that nobody has."""
    found = seen @ design.directions.double().numpy().T
    return found[:, : design.population], found[:, design.population :]


def see_uploads(
    site: Site, design: Design, ids: np.ndarray, played: Round, rng: np.random.Generator
) -> Sight:
    """Sight of single uploads: of each client, along its direction and nobody's.

    What is looked at for faults is the noise of their sum, and its law in a few of them.
    """
    bound = declared_bound(played.facts, "upload", site.of_examples)
    std = upload_std(played.facts)
    rows = played.received.updates
    nobodys = design.directions[design.population :]
    seen = np.full((2, design.population), np.nan)
    for side, directions in enumerate((design.directions[ids], nobodys[ids % len(nobodys)])):
        seen[side, ids] = (rows * directions).sum(1).double().numpy() / bound
    noise = (rows - played.clean).sum(0).double().numpy() / (std * max(1, len(ids)) ** 0.5)
    return Sight(seen, noise, *single_noise(played, rng), std / bound)


def see_bits(site: Site, design: Design, ids: np.ndarray, played: Round, rng: np.random.Generator) -> Sight:
    """Sight of answers: as they were sent, of half of the bits, and flipped, of the others.

    What is looked at for faults is how many answers of each bit are right.
    """
    gamma = played.facts["gamma"]
    right = (played.received.updates * played.sent > 0).double().numpy()
    first, second = np.hsplit(right, 2)
    noise = normal_scores(right.sum(0), len(ids), 0.5 + gamma, rng)
    return Sight(np.stack([first.ravel(), 1 - second.ravel()]), noise, noise, 0.0, gamma)


def normal_scores(counts: np.ndarray, trials: int, chance: float, rng: np.random.Generator) -> np.ndarray:
    """Return counts as standard normals: exactly that, if they are independent and binomial.

    Dunn and Smyth 1996, "Randomized quantile residuals".
    """
    counts = np.minimum(counts, trials)
    below = np.where(counts > 0, bdtr(counts - 1, trials, chance), 0.0)
    return ndtri(rng.uniform(below, bdtr(counts, trials, chance)))


def both_sides(design: Design, seen: np.ndarray) -> Sides:
    """Return both sides, `[T, 2, n]`, of what was seen."""
    return seen[:, 0], seen[:, 1]


def upload_score(
    plan: AlikeRounds, seen: np.ndarray, multipliers: np.ndarray, came: np.ndarray
) -> np.ndarray:
    """Scores of what was `seen` `[T, n]` of a client that is seen to be in a round."""
    ratio = (seen - 0.5) / multipliers[:, None] ** 2
    return np.where(np.isnan(ratio), 0.0, ratio).sum(axis=0)


def turn_score(plan: AlikeRounds, seen: np.ndarray, multipliers: np.ndarray, came: np.ndarray) -> np.ndarray:
    """Scores of a client that `came` `[T, n]` in certain rounds, in units of the noise.

    Noise is independent, and what came is as far from nothing as it is in these units.
    """
    size = np.linalg.norm(came, axis=0)
    found = (came * seen / multipliers[:, None]).sum(axis=0)
    return np.divide(found, size, out=np.zeros_like(found), where=size > 0)


def turn_scores(said: Statement, plan: AlikeRounds, delta: float) -> Scores:
    """Distribution of the score of a client that is as far from nothing as ε is stated for."""
    mu = bounds.largest_refuted(lambda mu: rdp.gaussian_epsilon(mu, delta) <= said.epsilon)
    values = np.linspace(-10.0, mu + 10, CELLS)
    return Scores(values, ndtr(-values), ndtr(mu - values))


def upload_scores(said: Statement, plan: AlikeRounds, delta: float) -> Scores:
    """Distribution of the score of a client that is seen to come: each time it is Gaussian."""
    come = np.arange(plan.rounds + 1)
    chance = (come == plan.rounds) * 1.0 if said.always else binom.pmf(come, plan.rounds, plan.sampling_rate)
    told = come / plan.noise_multiplier**2
    spread = np.sqrt(np.maximum(told, 1e-300))
    reach = told[-1] / 2 + 10 * spread[-1]
    values = np.linspace(-reach, reach, CELLS)
    tails = [(chance * ndtr((side * told / 2 - values[:, None]) / spread)).sum(axis=1) for side in (-1, 1)]
    return Scores(values, *tails)


def bit_scores(said: Statement, plan: AlikeRounds, delta: float) -> Scores:
    """Distribution of right answers, by chance and of the bit that was sent."""
    counts, gamma = np.arange(plan.rounds + 1), plan.noise_multiplier
    outside, inside = (binom.sf(counts - 1, plan.rounds, 0.5 + side * gamma) for side in (-1, 1))
    return Scores(counts.astype(np.float64), outside, inside)


class Attack(NamedTuple):
    """An attacker: what it sees, how it scores that, and the exact law of its scores.

    `scores` are of rounds that are alike, with the multiplier that hides a canary in the plan.
    """

    see: Callable[[Site, Design, np.ndarray, Round, np.random.Generator], Sight]
    sides: Callable[[Design, np.ndarray], Sides]
    score: Callable[[AlikeRounds, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    scores: Callable[[Statement, AlikeRounds, float], Scores]


ATTACKS = {
    "sum": Attack(
        see_sum,
        along_directions,
        lambda plan, seen, multipliers, came: score(
            plan._replace(noise_multiplier=multipliers[:, None]), seen
        ).sum(axis=0),
        lambda said, plan, delta: scores(plan),
    ),
    "turns": Attack(see_sum, along_directions, turn_score, turn_scores),
    "upload": Attack(see_uploads, both_sides, upload_score, upload_scores),
    "bit": Attack(see_bits, both_sides, lambda plan, seen, *_: seen.sum(axis=0), bit_scores),
}


def design(attack: str, population: int, dimension: int, rng: np.random.Generator, turned: bool) -> Design:
    """Return directions: along the axes, or `turned` at random; of bits the answers of every client."""
    import torch

    if attack == "bit":
        return Design(
            population,
            torch.from_numpy(rng.choice(np.array([-1, 1], dtype=np.float32), (population, dimension))),
        )
    if not turned:
        return Design(population, torch.eye(dimension))
    turn = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    return Design(population, torch.from_numpy(turn.astype(np.float32)))
