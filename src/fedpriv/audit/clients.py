"""Audits of the noise that a server adds to a sum of clients: guarantees, and the Bayesian estimate.

- The best attacker of a Poisson-subsampled Gaussian sum. What a release shows of a canary is its part
  along the canary's direction, in units of the bound: N(0, σ²) without the canary, N(1, σ²) with
  probability q with it. The sum of the log-likelihood ratios of all rounds is the best score there is.
- Individual accounting: what one client costs whose updates had known norms. Feldman, Zrnic 2021,
  "Individual privacy accounting via a Rényi filter", for norms that are what they were in this run. In a
  round a client moves a noisy sum by u standard deviations of its noise if it is drawn, which it is with
  probability q; every round's u is rounded down, so that what is composed is never more than the truth.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from fedpriv.account import loss, pld, rdp
from fedpriv.account.releases import Release, planned_release
from fedpriv.account.statement import PrivacyStatement
from fedpriv.account.views import View
from fedpriv.audit import bounds
from fedpriv.audit.finding import ARITHMETIC, Finding, Known, finding

SCORE_CELLS = 1 << 20  # of the grid on which scores are composed
LEAST = 1e-11  # tails below it are mostly what the transform is off
REACH = 12.0  # standard deviations of a score, and of the noise, that the grid covers


class AlikeRounds(NamedTuple):
    """Rounds that are alike: the rate at which a client joins, noise over bound, how many."""

    sampling_rate: float
    noise_multiplier: float
    rounds: int


def score(plan: AlikeRounds, seen: np.ndarray) -> np.ndarray:
    """Return the log-likelihood ratio of what was `seen` along the canary, in units of the bound."""
    q, z = plan.sampling_rate, plan.noise_multiplier
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log1p(-q), np.log(q) + (seen - 0.5) / z**2)


def output_with_score(plan: AlikeRounds, value: np.ndarray) -> np.ndarray:
    """Output with that score; −∞ below the least score."""
    q, z = plan.sampling_rate, plan.noise_multiplier
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.expm1(value) > -q, 0.5 + z**2 * np.log1p(np.fmax(np.expm1(value), -q) / q), -np.inf
        )


class Scores(NamedTuple):
    """Probabilities that the score of all rounds is at least each of `values`: never below the exact ones."""

    values: np.ndarray  # ascending
    outside: np.ndarray  # without the canary
    inside: np.ndarray  # with it; of this one no more is asked than where to put a threshold

    def threshold(self, trials: int, delta: float) -> tuple[float, float]:
        """Return the threshold of which most is expected of so many trials, and its ln P[false alarm]."""
        with np.errstate(divide="ignore"):
            bound = bounds.expected_bound(self.inside, np.log(self.outside), trials, delta)
        best = int(np.where(self.outside > LEAST, bound, -np.inf).argmax())
        return float(self.values[best]), float(np.log(self.outside[best]))


@lru_cache(maxsize=2)  # of the runs of one mechanism
def scores(plan: AlikeRounds) -> Scores:
    """Distribution of the score of all rounds, by Fourier transform on a grid.

    A round's score is rounded up to the grid, so that no tail is below the exact one but by the 1e-14 that
    the transform is off.
    """
    q, z, rounds = plan
    low, high = (float(score(plan, np.asarray(side))) for side in (-REACH * z, 1 + REACH * z))
    x = np.linspace(-REACH * z, 1 + REACH * z, 20_001)
    parts = score(plan, x)
    spread = []
    for mean_at in (0.0, 1.0):
        density = np.exp(-((x - mean_at) ** 2) / (2 * z * z))
        density /= density.sum()
        spread.append((density @ parts, density @ parts**2))
    # Moments of one round without the canary, and with it.
    without, with_it = spread[0], tuple((1 - q) * a + q * b for a, b in zip(*spread, strict=True))
    means = [rounds * mean for mean, _ in (without, with_it)]
    stds = [(rounds * (square - mean**2)) ** 0.5 for mean, square in (without, with_it)]
    start = max(rounds * low, min(means) - REACH * max(stds))
    end = min(rounds * high, max(means) + REACH * max(stds))
    width = max((end - start) / (SCORE_CELLS * 0.9), (high - low) / (SCORE_CELLS * 0.9))
    first = int(np.floor(low / width))
    edges = np.arange(first, int(np.ceil(high / width)) + 1) * width
    at = output_with_score(plan, edges) / z
    tails = []
    offset = int(np.floor(start / width))
    for shares in (((1.0, 0.0),), ((1 - q, 0.0), (q, 1.0))):
        below = np.sum([share * ndtr(at - mean / z) for share, mean in shares], axis=0)
        mass = np.diff(below, prepend=0.0)
        mass[-1] += 1 - below[-1]
        folded = np.pad(mass, (0, -len(mass) % SCORE_CELLS)).reshape(-1, SCORE_CELLS).sum(axis=0)
        summed = np.fft.irfft(np.fft.rfft(folded) ** rounds, SCORE_CELLS)
        masses = np.roll(summed, (rounds * first - offset) % SCORE_CELLS).clip(0)
        tails.append(np.cumsum(masses[::-1])[::-1])
    return Scores((offset + np.arange(SCORE_CELLS)) * width, *tails)


STEP = 0.98  # between levels of u
LEVELS = 150  # below the last one a client moves nothing
CELLS, RESOLVED = 5_000, 5.0  # per ε, and per loss of most releases
FINER, GAIN = 4, 1.005  # grids are finer by so much, as long as each raises the bound by as much
FARTHEST, WIDEST = 40.0, 5.0  # losses are as large as lower bounds count them, and widest apart
SOLVED = 1e-8  # more than an ε in closed form is off
LARGE = 500.0  # a loss beyond which sampling at any rate takes a constant from it

# (releases, how many of each, width of a grid, δ) -> a lower bound on ε.
Bound = Callable[[Sequence[Release], Sequence[int], float, float], float]


def standardise(view: View, distances: np.ndarray) -> np.ndarray:
    """Distances `[T, p]` in standard deviations of a round's noise; ∞ without noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = distances / view.samples.noise_std[:, None]
    return np.where(distances > 0, moved, 0.0)


def removal_epsilon(rate: float, moved: np.ndarray, delta: float) -> float:
    """Return a lower bound on ε of a client that moves the sum of each round by `moved` `[T]`.

    It is that of the worse of both directions, to add the client and to remove it. It is infinite without
    noise, and 0 where nothing can be certified.
    """
    if not len(moved) or not moved.max() > 0:
        return 0.0
    if np.isinf(moved).any():
        return math.inf
    if rate == 1:
        return gaussian_bound(min(float(np.linalg.norm(moved.clip(max=1e6))), 1e6), delta)
    moved = np.where(moved * pld.MOST_NOISE < 1, 0.0, moved.clip(max=FARTHEST))
    largest = float(moved.max())
    if not largest > 0:
        return 0.0
    with np.errstate(divide="ignore"):
        level = np.ceil(np.log(moved / largest) / math.log(STEP) - 1e-9)
    levels, rounds = np.unique(level[level < LEVELS].astype(np.int64), return_counts=True)
    releases = [planned_release(rate, float(noise)) for noise in 1 / (largest * STEP**levels)]
    return refine_bound(releases, rounds.tolist(), delta, finest_width(rate, largest), lower_bound)


def gaussian_bound(distance: float, delta: float) -> float:
    """Return ε of Gaussian releases so far apart together, in stds of noise, less what its solver is off."""
    epsilon = rdp.gaussian_epsilon(distance, delta)
    return max(0.0, epsilon - SOLVED * (1 + epsilon))


def refine_bound(
    releases: Sequence[Release], times: Sequence[int], delta: float, narrow: float, bound: Bound
) -> float:
    """Return the best `bound` on ε, on grids that are finer and finer down to `narrow`, while that pays."""
    interval = pld.interval(releases, times, delta, "C", CELLS)
    width, best = min(interval * FINER, WIDEST), 0.0
    while True:
        lower = bound(releases, times, width, delta)
        if width <= narrow or 0 < lower < GAIN * best:
            return max(best, lower)
        width, best = max(width / FINER, narrow), max(best, lower)


def finest_width(rate: float, largest: float) -> float:
    """Return the finest interval that is of use: wider ones lose up to so much of ε in every release.

    It is a share of most losses, if the cells of all losses fit.
    """
    usual = rate * min(1.0, largest) * math.exp(-(largest**2) / 2)
    low, high = loss.loss_range(rate, 1 / largest)
    return max(usual / RESOLVED, 2 * (high - low) / pld.MOST_CELLS)


def lower_bound(releases: Sequence[Release], times: Sequence[int], width: float, delta: float) -> float:
    """Return a lower bound on ε of so many of each release, from losses on multiples of `width`."""
    return max(
        pld.lower_epsilon(
            [
                (loss.loss_from_below(release.sampling_rate, release.noise_multiplier, width, added), count)
                for release, count in zip(releases, times, strict=True)
            ],
            delta,
        )
        for added in (False, True)
    )


def removal_losses(rate: float, moved: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return the losses `[draws]` of removing a client, each of a client and a transcript drawn together.

    `moved` is `[T, p]` of p clients, of whom each is as likely. By how much noise alone decides, coins and
    normals are drawn here.
    """
    chosen = rng.integers(0, moved.shape[1], draws)
    total = np.zeros(draws)
    for row in moved:
        u = row[chosen]
        seen = u * (rng.random(draws) < rate) + rng.standard_normal(draws)
        whole = u * (seen - u / 2)  # the loss if the client were always drawn
        with np.errstate(divide="ignore"):  # of one always drawn and far off: −∞ bounds nothing
            total += np.log(1 - rate + rate * np.exp(np.minimum(whole, LARGE)))
        total += np.maximum(whole - LARGE, 0)
    return total


def quantile_low(values: np.ndarray, delta: float, confidence: float) -> float:
    """Return the largest of `values` that is exceeded with probability above `delta`, at the confidence.

    0 where there are too few values to say so: it is a lower bound, in the sense of probability, on the ε for
    which P[loss > ε] is δ at most.
    """
    # So many of them lie above the quantile of δ, or fewer, at that confidence.
    above = int(binom.ppf(confidence, len(values), delta))
    return max(0.0, float(np.sort(values)[::-1][above])) if above < len(values) else 0.0


MOST_FOLLOWED = 100  # clients of whom each is accounted by itself
DRAWS = 20_000  # of a client and a transcript


def outlier(known: Known) -> Iterator[Finding]:
    """Yield what a client costs whose updates are always as large as they may be: exact for such a client."""
    view = known.view("client")
    if not view or "C" not in view.certified:
        return
    bound = np.where(np.isfinite(view.samples.bound), view.samples.bound, 0.0)
    moved = standardise(view, bound[:, None])[:, 0]
    stated = sum_statements(known)
    if not stated:
        return
    # The δ of clients is one in a ledger: what one of them costs is one number.
    lower = removal_epsilon(rate_of(view), moved, stated[0].delta)
    for statement in stated:
        yield finding("outlier", statement, lower, ARITHMETIC)


def followed_client(known: Known) -> Iterator[Finding]:
    """Yield what the followed client costs that costs most, and how many of them cost more than is stated.

    Where nobody was followed, what a client costs that is in every round as near as the nearest sampled one.
    """
    view = known.view("client")
    moved = moves_of_followed(view) if view else None
    if view is None or moved is None:
        return
    stated = list(estimates(known))
    if not stated:
        return
    # Who moves a sum most costs most, or nearly: of very many only those are looked at.
    most = moved[:, np.argsort(-np.square(moved).sum(axis=0), kind="stable")[:MOST_FOLLOWED]]
    each = [removal_epsilon(rate_of(view), column, stated[0].delta) for column in most.T]
    for statement in stated:
        over = sum(value > statement.epsilon for value in each)
        who = f"{over} of {moved.shape[1]} clients followed cost more"
        if panel_distances(view) is None:
            who = "a client always as near zero as the nearest that was sampled"
        yield finding("followed", statement, max(each), f"{ARITHMETIC}; {who}")


def frequency(known: Known) -> Iterator[Finding]:
    """Yield the ε that the loss exceeds with probability δ, over clients that were followed and transcripts.

    That is what the Bayesian estimate says of itself: it may fail for clients who are rare.
    """
    view = known.view("client")
    moved = moves_of_followed(view) if view else None
    if view is None or moved is None or panel_distances(view) is None or np.isinf(moved).any():
        return
    stated = list(estimates(known))
    if not stated:
        return
    drawn = removal_losses(rate_of(view), moved, DRAWS, known.rng("frequency"))
    lower = quantile_low(drawn, stated[0].delta, 0.95)
    for statement in stated:
        yield finding("frequency", statement, lower, f"no run, {DRAWS:,} transcripts", 0.95)


def canaries(known: Known) -> Iterator[Finding]:
    """Yield what the canaries of a run show: the Gaussian reading at a threshold that is fixed beforehand.

    Sound where the trade-off is near that of a Gaussian, as that of many rounds is.
    """
    seen, coins = (known.distances.get(f"canary_{name}") for name in ("seen", "included"))
    view, stated = known.view("client"), sum_statements(known)
    if view is None or seen is None or coins is None or not stated:
        return
    plan = AlikeRounds(rate_of(view), float(known.trace["noise_multiplier"].min()), len(known.trace))
    law = scores(plan)
    middle = float(law.values[int((law.outside > 1 - law.inside).sum())])
    totals, there = score(plan, seen).sum(axis=0), coins[0] > 0
    if there.all() or not there.any():
        return
    cost = f"1 run, {there.sum():,} canaries in it and {(~there).sum():,} outside"
    lower = bounds.gaussian_reading(totals[there], totals[~there], middle, stated[0].delta)
    for statement in stated:
        yield finding("canaries", statement, lower, cost, 0.95)


def final_model(known: Known) -> Iterator[Finding]:
    """Yield what the last model alone shows of a run's canaries: an estimate, its interval's lower end.

    Of the canaries that took part. Its law is known only without them, so that it bounds nothing.
    """
    cosines, coins = (known.distances.get(f"canary_{name}") for name in ("cosines", "included"))
    stated = sum_statements(known)
    if cosines is None or coins is None or not stated:
        return
    there = coins[0] > 0
    if there.sum() < 2:
        return
    _, low = bounds.one_shot_epsilon(cosines[0, there], known.parameters, stated[0].delta)
    for statement in stated:
        yield finding("final_model", statement, low, f"1 run, {there.sum():,} canaries in it", 0.0)


def moves_of_followed(view: View) -> np.ndarray | None:
    """Return by how many standard deviations followed clients moved each round `[T, p]`; None: unknown.

    Of means over those present it is: without a client they have another denominator.
    """
    if view.distance != "remove_sum":
        return None
    distances = panel_distances(view)
    if distances is None:
        sampled = view.samples.distances.get("remove_sum")
        if sampled is None or not sampled.size:
            return None
        distances = np.fmin.reduce(sampled[:, 0, 0], axis=-1)[:, None]
    return standardise(view, np.nan_to_num(distances))


def panel_distances(view: View) -> np.ndarray | None:
    """Return the distances of the clients that were followed `[T, p]`; None if nobody was."""
    panel = view.samples.panels.get("remove_sum")
    return None if panel is None or not panel.shape[1] else panel


def rate_of(view: View) -> float:
    """Return the least rate of any round: at a smaller one a client costs less."""
    return float(view.samples.sampling_rate.min())


def sum_statements(known: Known) -> list[PrivacyStatement]:
    """Return every ε that is about clients in sums: the guarantee, where one moves it by C, and estimates."""
    guarantee = known.stated("client", accounting="", accountant="moments", sensitivity="C")
    return [*guarantee, *estimates(known)]


def estimates(known: Known) -> Iterator[PrivacyStatement]:
    """Yield the Bayesian estimates of clients that are held against adding and removing one."""
    return known.stated("client", accounting="", kind="estimate", distance="remove_sum")
