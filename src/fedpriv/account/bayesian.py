"""The Bayesian accountant: ε for clients *like those sampled*. An estimate, never a guarantee.

Federated Learning with Bayesian Differential Privacy (below: BDP), Theorems 1-3 and eq. (5). The cost of
a round at λ is the log of E_x[exp(λ D_{λ+1})] over clients x, bounded from m sampled distances by a
Student-t upper confidence bound. Why the result is no guarantee is told in docs/accounting.md. Of very
many distances log-moments are exact at some; between them a chord lies above, for at every λ the
log-moment is convex in s = Δ²/(2σ²).

DEVIATION: BDP Theorem 3 prints a right-hand term that is the moment given the client is in the cohort; it
is always the larger one and undoes the amplification by sampling. Here the left term stands for both
directions, which it bounds. DEVIATION: BDP Theorem 1 (`product`)
multiplies expectations over the same client across rounds, which is no bound. `hoelder` (the exponent T
of the authors' later code) and `panel` (the joint moment of clients followed through all rounds) stand
beside it. DEVIATION: the authors' code takes the least ε over λ at no charge. Here δ pays for every bound
looked at.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np
from scipy.special import stdtrit

from fedpriv.account.moments import LAMBDAS, best, log_moments_at
from fedpriv.account.statement import FIXED, NO_TERM, OTHER_DENOMINATOR, Curve
from fedpriv.account.views import Samples, View
from fedpriv.trace import DISTANCES

LogMoments = Callable[[np.ndarray], np.ndarray]  # s, of any shape -> [*shape, Λ]; NaN stays NaN

EXACT = 5_000  # up to so many distances each is evaluated
STRIDE = 16.0  # chords lie between powers of it
LOWEST = -16  # below this power of it all is negligible
REVEALED = STRIDE**64  # so large an s costs infinity, as no noise does
START = 256  # points that are laid out before cells are halved
TOLERANCE = 5e-5  # relative height of a chord over the middle of its cell; at most twice that elsewhere
NEGLIGIBLE = 1e-9  # a log-moment this small matters to no ε: a million of them cost 0.001


def log_moments(sampling_rate: float, scale: np.ndarray) -> LogMoments:
    """Return a function from s to log-moments, made for the values in `scale` (NaN: missing).

    Of few values it is exact. Of many it is never below the exact value nor more than 2·TOLERANCE above it,
    relative, but for NEGLIGIBLE. An infinite s (no noise) costs infinity.
    """
    proper = scale[(scale > 0) & (scale < REVEALED)]
    if proper.size <= EXACT:
        return lambda s: log_moments_at(sampling_rate, s, LAMBDAS)
    highest = math.ceil(math.log(proper.max(), STRIDE))
    return _on_chords(sampling_rate, max(LOWEST + 1, highest))


@lru_cache(maxsize=16)  # of 1 MB, at low rates of 30
def _on_chords(sampling_rate: float, highest: int) -> LogMoments:
    """Log-moments, as of `log_moments`, for values up to this power of STRIDE: the same for many runs."""
    low, high = STRIDE**LOWEST, STRIDE**highest
    curves = [
        _chords(lambda s, order=int(order): log_moments_at(sampling_rate, s, [order])[:, 0], low, high)
        for order in LAMBDAS
    ]
    # All orders on the points of all of them: the same chords, in one table.
    points = np.unique(np.concatenate([[0.0], *(points for points, _ in curves)]))
    table = np.stack([np.interp(points, [0.0, *curve[0]], [0.0, *curve[1]]) for curve in curves], axis=-1)
    slopes = np.diff(table, axis=0) / np.diff(points)[:, None]

    def read(s: np.ndarray) -> np.ndarray:
        cell = np.searchsorted(points[1:-1], s, side="left")
        moments = slopes.take(cell, axis=0)
        moments *= (s - points[cell])[..., None]
        moments += table.take(cell, axis=0)
        moments[s >= REVEALED] = np.inf
        return moments

    return read


def _chords(
    exact: Callable[[np.ndarray], np.ndarray], low: float, high: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return points over [low, high] and the values there of the convex, rising function `exact`.

    Cells are halved until each chord is close at its middle. The height of a chord is concave: nowhere is it
    more than twice that in the middle.
    """
    points = np.geomspace(low, high, START)
    values = exact(points)
    cells = np.arange(len(points) - 1)  # those to be looked at, by the index of their left end
    while len(cells):
        middle = (points[cells] + points[cells + 1]) / 2
        there = exact(middle)
        height = (values[cells] + values[cells + 1]) / 2 - there
        split = height > TOLERANCE * values[cells] + NEGLIGIBLE / 2
        split &= (middle > points[cells]) & (middle < points[cells + 1])
        cells, middle, there = cells[split], middle[split], there[split]
        points = np.insert(points, cells + 1, middle)
        values = np.insert(values, cells + 1, there)
        left = cells + np.arange(len(cells))
        cells = np.stack([left, left + 1], axis=1).ravel()
    return points, values


# Log-moments worked on at once: a chunk of rounds stays in a core's cache.
MOMENT_CHUNK = 1 << 18

# Distances that differ by no more than this, relative, are equal; of so few nobody learns how much they vary.
EQUAL, FEW = 1e-5, 10

# The share of δ that pays for the estimator; the rest goes to the Chernoff bound.
ESTIMATOR_SHARE = 0.01


def failure_probability(delta: float, bounds: int) -> float:
    """Return δ' = 0.01 δ/(bounds·#Λ): what one upper bound may fail with, by a union over them and λ.

    Of clients there is one bound a round; of instances one for each step of each client of a round.
    """
    return ESTIMATOR_SHARE * delta / (bounds * len(LAMBDAS))


def largest_of(log_samples: np.ndarray) -> np.ndarray:
    """Return the largest of the samples that are not missing `[..., Λ]`, −∞ where all are."""
    return np.fmax.reduce(log_samples, axis=-2, initial=-np.inf)


def log_upper_bound(
    log_samples: np.ndarray, failure: float, exponent: int = 1, largest: np.ndarray | None = None
) -> np.ndarray:
    """Return log(M + t·S/√(m−1)), the upper confidence bound on a mean of exponentials (BDP eq. 5).

    `log_samples` is `[..., m, Λ]` with the logs of the samples, NaN where a sample is missing; the result is
    `[..., Λ]`. With a Hölder `exponent` k the samples are raised to it, and the result divided by it.
    `largest` is what `largest_of` says, where that is known.

    M is the mean, S the population standard deviation, t the Student-t quantile with m − 1 degrees of freedom
    that is exceeded with probability `failure`. Both moments are taken about the largest sample, where one of
    the differences is exactly zero: their variance is then no small difference of large numbers, and nearly
    equal samples give their common value, never NaN.

    With fewer than 3 samples there is no bound: the result is infinite and the caller must have another.
    """
    missing = np.isnan(log_samples[..., 0])
    size = missing.shape[-1] - missing.sum(axis=-1)
    largest = largest_of(log_samples) if largest is None else largest
    quantiles = -stdtrit(np.arange(2, max(missing.shape[-1], 3)), failure)
    with np.errstate(invalid="ignore"):  # ∞ − ∞, of samples that are not usable
        # e^(x − max) − 1: keeps the differences of samples that are all close to 1.
        below = log_samples - largest[..., None, :]
        if exponent != 1:
            below *= exponent
        np.expm1(below, out=below)
    below[missing] = 0.0
    count = np.maximum(size, 3)[..., None]
    mean = below.sum(axis=-2) / count
    variance = np.einsum("...ml,...ml->...l", below, below) / count - mean**2
    error = quantiles[count - 3] * np.sqrt(variance.clip(min=0.0) / (count - 1))
    usable = (size >= 3)[..., None] & np.isfinite(largest)
    return np.where(usable, largest + np.log1p(mean + error) / exponent, np.inf)


def round_costs(
    log_samples: np.ndarray,
    worst: np.ndarray,
    failure: float,
    exponent: int = 1,
    largest: np.ndarray | None = None,
) -> np.ndarray:
    """Return each round's privacy cost `[T, Λ]` from its samples `[T, m, Λ]`.

    `exponent` is the Hölder exponent: (1/exponent) log E exp(exponent · λ D). A round with fewer than 3
    samples, an empty one among them, costs `worst` `[T, Λ]`: the DP cost of a client at the largest
    distance that clipping allows. Nothing smaller is justified, for the cost is an expectation over clients
    that the round says (almost) nothing about; the emptiness of a cohort is chance, not knowledge. No round
    costs more.
    """
    largest = largest_of(log_samples) if largest is None else largest
    bound = log_upper_bound(log_samples, failure, exponent, largest)
    few = (~np.isnan(log_samples[..., 0])).sum(axis=-1) < 3
    return np.where(few[..., None] | _within(largest, worst) & (bound > worst), worst, bound)


def panel_costs(log_samples: np.ndarray, worst: np.ndarray, failure: float) -> np.ndarray:
    """Return the total cost after each round `[T, Λ]` from one panel's samples `[T, p, Λ]`.

    One bound on the mean over the panel of exp(Σ λ D): a client that is hard in every round stays hard, with
    no assumption of independence over rounds. The moment cannot fall from round to round, so a bound that
    does is held at its earlier value. It is at most the sum of `worst` `[T, Λ]`, which a panel of fewer than
    3 costs.
    """
    total = worst.cumsum(axis=0)
    if log_samples.shape[1] < 3:
        return total
    bound = np.maximum.accumulate(log_upper_bound(log_samples.cumsum(axis=0), failure), axis=0)
    within = np.logical_and.accumulate(_within(largest_of(log_samples), worst), axis=0)
    return np.where(within & (bound > total), total, bound)


def _within(largest: np.ndarray, worst: np.ndarray) -> np.ndarray:
    """Mask of rounds in which no sample is dearer than the dearest client, nor need be a bound on their mean.

    A distance beyond the largest (no run writes one) makes no such promise.
    """
    return largest <= worst * (1 + 1e-4)


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for every distance and composition that was sampled.

    Costs add up as `view` says: over a round's members, or the largest of them, and over steps and rounds.
    """
    samples = view.samples
    if not (samples.distances or samples.panels):
        return []
    by_rate = _functions(samples)
    return [
        _curve(view, distance, composition, cost, delta, from_a_panel=composition == "panel")
        for distance in DISTANCES
        for composition, cost in _total_costs(view, distance, by_rate, delta)
    ]


def sampled_moments(view: View) -> np.ndarray:
    """Return λ D_{λ+1} of the sampled distances that the view's neighbours are apart, `[T, K, n, m, Λ]`."""
    samples = view.samples
    return _log_moments(samples, samples.distances[view.distance], _functions(samples))


def product(view: View, moments: np.ndarray, delta: float, failure: float = 0.0) -> Curve:
    """Return ε after every round by `product`, of the distance that the view's neighbours are apart.

    `moments` are its `sampled_moments`, or those of some of the samples. Each upper bound may fail with
    probability `failure`; 0: with what δ pays for, as in `curves`.
    """
    samples = view.samples
    failure = failure or failure_probability(delta, samples.bounds)
    worst = _worst(samples, view.distance, _functions(samples))
    (cost,) = _costs(samples, moments, worst, slice(None), failure, (1,))
    return _curve(view, view.distance, "product", cost.cumsum(axis=0), delta)


def _curve(
    view: View, distance: str, composition: str, cost: np.ndarray, delta: float, from_a_panel: bool = False
) -> Curve:
    """Return ε of the total cost after each round `[T, Λ]`, with what it means."""
    value, order = best(cost, (1 - ESTIMATOR_SHARE) * delta)
    violation = _violation(view, distance)
    if not violation:
        violation = np.where(_without_term(view.samples, distance, from_a_panel), NO_TERM, "")
    return Curve(
        value,
        order,
        accountant="bayesian",
        relation=view.relations["C"],
        composition=composition,
        distance=distance,
        kind="estimate",
        violation=violation,
    )


def _violation(view: View, distance: str) -> str:
    """Return the assumption of an estimate by `distance` that fails; empty if all hold."""
    if view.violation or view.law == "fixed":
        return view.violation or FIXED
    return "" if distance == view.distance else OTHER_DENOMINATOR


def _without_term(samples: Samples, distance: str, from_a_panel: bool) -> np.ndarray:
    """Mask of the rounds from the first on in which few distances, all equal, have nothing added to them.

    Where they are as far as they can be nothing need be. A panel of few is alike where it is in every round.
    """
    of_panel = samples.panels[distance][:, None, None] if from_a_panel else None
    sampled = samples.distances[distance] if of_panel is None else of_panel
    count = (~np.isnan(sampled)).sum(axis=-1)
    low, high = (np.fmin.reduce(sampled, axis=-1), np.fmax.reduce(sampled, axis=-1))
    farthest = (samples.largest[distance] * samples.bound)[:, None, None]
    filled = from_a_panel or np.arange(sampled.shape[2]) < samples.taking_part[:, None, None]
    alike = (high - low <= EQUAL * high) & (high < farthest * (1 - EQUAL)) & filled
    some = (alike & (count >= 3) & (count < FEW)).any(axis=(1, 2))
    return np.logical_and.accumulate(some) if from_a_panel else np.logical_or.accumulate(some)


def _worst(samples: Samples, distance: str, by_rate: Mapping[float, LogMoments]) -> np.ndarray:
    """Cost in each round `[T, Λ]` of the dearest client that there can be."""
    farthest = samples.largest[distance] * samples.bound
    return _log_moments(samples, farthest[:, None], by_rate)[:, 0]


def _total_costs(
    view: View, distance: str, by_rate: Mapping[float, LogMoments], delta: float
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield composition and total cost after each round `[T, Λ]`, of the compositions that were sampled."""
    samples = view.samples
    sampled, panel = samples.distances.get(distance), samples.panels.get(distance)
    failure = failure_probability(delta, samples.bounds)
    worst = _worst(samples, distance, by_rate)
    if sampled is not None and sampled.shape[-1]:
        composed = max(1, int(view.counts.sum()))
        product, hoelder = _round_costs(samples, sampled, worst, by_rate, failure, (1, composed))
        yield "product", product.cumsum(axis=0)
        yield "hoelder", hoelder.cumsum(axis=0)
    if panel is not None and panel.shape[1]:
        yield "panel", panel_costs(_log_moments(samples, panel, by_rate), worst, failure)


def _round_costs(
    samples: Samples,
    sampled: np.ndarray,
    worst: np.ndarray,
    by_rate: Mapping[float, LogMoments],
    failure: float,
    exponents: tuple[int, ...],
) -> np.ndarray:
    """Cost of each round at each Hölder exponent `[E, T, Λ]`, from distances `[T, K, n, m]`."""
    costs = np.zeros((len(exponents), *worst.shape))
    together = max(1, MOMENT_CHUNK // max(1, sampled[0].size * len(LAMBDAS)))
    for start in range(0, len(sampled), together):
        rounds = slice(start, start + together)
        moments = _log_moments(samples, sampled, by_rate, rounds)
        costs[:, rounds] = _costs(samples, moments, worst, rounds, failure, exponents)
    return costs


def _costs(
    samples: Samples,
    moments: np.ndarray,
    worst: np.ndarray,
    rounds: slice,
    failure: float,
    exponents: tuple[int, ...],
) -> np.ndarray:
    """Cost of some `rounds` at each Hölder exponent, from log-moments `[t, K, n, m, Λ]`."""
    filled = np.arange(moments.shape[2]) < samples.taking_part[rounds, None, None]
    largest = largest_of(moments)
    totals = []
    for exponent in exponents:
        costs = round_costs(moments, worst[rounds, None, None], failure, exponent, largest)
        costs = np.where(filled[..., None], costs, 0.0)
        if samples.members == "max":  # the dearest member, as often as members may hold the same
            steps = costs.max(axis=2, initial=0.0) * samples.alike[rounds, None, None]
        else:
            steps = costs.sum(axis=2)
        totals.append(steps.sum(axis=1))
    return np.stack(totals)


def _functions(samples: Samples) -> dict[float, LogMoments]:
    """Return sampling rate -> log-moments of scales, made for all distances sampled or charged at it."""
    farthest = [most * samples.bound for most in samples.largest.values()]
    arrays = [*samples.distances.values(), *samples.panels.values(), *farthest]
    by_rate: dict[float, LogMoments] = {}
    for rate in np.unique(samples.sampling_rate):
        rounds = samples.sampling_rate == rate
        scales = [_scale(array[rounds], samples.noise_std[rounds]).ravel() for array in arrays]
        by_rate[rate] = log_moments(rate, np.concatenate(scales))
    return by_rate


def _log_moments(
    samples: Samples,
    distances: np.ndarray,
    by_rate: Mapping[float, LogMoments],
    rounds: slice = slice(None),
) -> np.ndarray:
    """Return λ D_{λ+1} of each distance `[T, ...]` at its round's sampling rate and noise, `[T, ..., Λ]`."""
    scale = _scale(distances[rounds], samples.noise_std[rounds])
    rates = samples.sampling_rate[rounds]
    if (rates == rates[0]).all():
        return by_rate[rates[0]](scale)
    moments = np.empty((*scale.shape, len(LAMBDAS)))
    for rate in np.unique(rates):
        moments[rates == rate] = by_rate[rate](scale[rates == rate])
    return moments


def _scale(distances: np.ndarray, noise_std: np.ndarray) -> np.ndarray:
    """Return Δ²/(2σ²) of distances `[T, ...]` under the noise of their rounds `[T]`, NaN where missing."""
    noise = noise_std.reshape(-1, *[1] * (distances.ndim - 1))
    # Without noise everything is revealed, even by an update that happens to be zero.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        scale = np.square(distances / noise, dtype=np.float64) / 2
    return np.where(noise > 0, scale, np.where(np.isnan(distances), np.nan, np.inf))
