"""What randomised response on binary weights really costs, under each reading of "a client's contribution".

Binary Federated Learning with Client-Level Differential Privacy (below: DPFL-BNN), Lemma 3 and Theorem 1.
A bit is kept with probability p = 1/2 + γ and flipped otherwise; neighbours replace one client, whose
bits may all become others. Behind secure
aggregation all other true bits are taken to be equal, the worst case; sums within REACH standard
deviations are looked at one by one, what is beyond is bounded by Hoeffding's inequality, in steps that
double, each with the largest loss that is in it.

DEVIATION: Theorem 1 composes one bit over T rounds. A client sends d bits a round and any of them may
differ between neighbours, so the client-level counts compose T·d bits; the paper's count stands beside
them. DEVIATION: Theorem 1 prints g⁻¹((1/δ)/T); its own proof needs g⁻¹(ln(1/δ)/T), which is what is
computed: the ε as printed would be absurdly small (0.009 of 100 rounds at γ = .1 and δ = 1e-5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from fedpriv.account.ranges import check
from fedpriv.account.releases import BARE, ONE_BIT
from fedpriv.account.statement import Curve, PrivacyStatement

if TYPE_CHECKING:
    from fedpriv.account.views import View

Divergence = Callable[[np.ndarray], np.ndarray]

# Names of the readings: first what all bits of a client cost, which is what a client spends.
READINGS = {
    "vector_exact": "all bits, all rounds; exact",
    "vector_rdp": "all bits, all rounds; best Rényi order",
    "central_vector_rdp": "all bits, all rounds; only the sum over clients is seen",
    "bit_exact": "one bit, all rounds; exact",
    "bit_rdp": "one bit, all rounds; best Rényi order",
    "bit_theorem": "one bit, all rounds; Theorem 1 with its fixed order",
    "central_bit_rdp": "one bit, all rounds; only the sum over clients is seen",
}
PRINTED = "bit_theorem"  # what DPFL-BNN calls the ε of a client

# Offsets α − 1 among which the best order is sought before it is refined.
OFFSETS = np.geomspace(1e-6, 1e9, 200)

# What rounding may take from a log-moment or an ε, relative.
SLACK = 1e-12

# Numbers of kept bits that are looked at one by one, at most; of more, neighbours are taken together.
MOST = 200_000


def epsilons(
    gamma: float, rounds: int, delta: float, dimension: int | None = None, clients: int = 100
) -> dict[str, PrivacyStatement]:
    """Return the statement of every reading in `READINGS`; those of vectors only if `dimension` is given.

    The central readings assume ideal secure aggregation over `clients`, all of whose other bits are known.
    Raises BadInput naming the value that is out of range.
    """
    of_vectors = {} if dimension is None else {"dimension": dimension}
    check(gamma=gamma, delta=delta, rounds=rounds, **of_vectors, clients=clients)
    releases = [rounds] if dimension is None else [rounds, rounds * dimension]
    check(**{"rounds x dimension": releases[-1]})

    alone, central = (_counted("rdp", gamma, of, tuple(releases), delta)[0] for of in (1, clients))
    by_reading = {
        "bit_rdp": alone[0],
        "bit_exact": exact_epsilon(gamma, rounds, delta),
        "bit_theorem": theorem_epsilon(gamma, rounds, delta),
        "central_bit_rdp": central[0],
    }
    if dimension is not None:
        by_reading["vector_rdp"] = alone[1]
        by_reading["vector_exact"] = exact_epsilon(gamma, releases[1], delta)
        by_reading["central_vector_rdp"] = central[1]
    return {
        name: PrivacyStatement(
            float(by_reading[name]),
            delta,
            unit="client" if "vector" in name else ONE_BIT,
            relation="replace_one",
            sampling_law="full",
            accountant="exact" if "exact" in name else "rdp",
        )
        for name in READINGS
        if name in by_reading
    }


def pure_epsilon(gamma: float) -> float:
    """Return the ε at δ = 0 of one answer, ln(p/(1−p)): no reading costs more than this for a bit."""
    return float(np.log1p(2 * gamma) - np.log1p(-2 * gamma))


def log_moments(gamma: float, offsets: float | np.ndarray) -> np.ndarray:
    """Return (α − 1) ρ(α) at orders α = 1 + `offsets`, never below the exact value.

    ρ(α) is the Rényi divergence between the two answers of one bit (DPFL-BNN Lemma 3). With L = ln(p/(1−p)),
    it is log(1 + 2 sinh(αL/2) sinh((α−1)L/2) / cosh(L/2)), in which nothing cancels.
    """
    offsets = np.asarray(offsets, dtype=np.float64)
    pure = pure_epsilon(gamma)
    with np.errstate(divide="ignore"):  # a bit that is a fair coin
        gain = _log_sinh((1 + offsets) * pure / 2) + _log_sinh(offsets * pure / 2)
    return np.logaddexp(0.0, gain - pure / 2 - np.log1p(np.exp(-pure))) * (1 + SLACK)


def _log_sinh(value: np.ndarray) -> np.ndarray:
    """Return log(2 sinh(value))."""
    return value + np.log(-np.expm1(-2 * value))


def divergence(gamma: float, order: float | np.ndarray, clients: int = 1) -> np.ndarray:
    """Return the Rényi divergence of one bit that is replaced, at orders above 1.

    Either the answer itself is seen, or the sum over the answers of `clients`.
    """
    offsets = np.atleast_1d(np.asarray(order, dtype=np.float64) - 1)
    alone = log_moments(gamma, offsets)
    if clients > 1:  # no sum reveals more than what is in it
        alone = np.minimum(alone, sum_log_moments(pure_epsilon(gamma), offsets, clients))
    return (alone / offsets).reshape(np.shape(order))


def rdp_epsilons(
    one_release: Divergence,
    releases: Sequence[int] | np.ndarray,
    delta: float,
    pure: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least ε over all orders α > 1 for each number of `releases`, and its order; both `[n]`.

    One release has divergence `one_release` and is never worse than `pure`; an order of infinity means that
    this bound is the least. The conversion is ρ + ln(1/δ)/(α−1) (Mironov 2017).
    """
    from scipy.optimize import fminbound

    def converted(log_offset: float | np.ndarray, divergence: np.ndarray, times: float) -> np.ndarray:
        offset = (1 + np.exp(log_offset)) - 1  # of the very order at which the divergence is known
        return times * divergence - np.log(delta) / offset

    grid = np.log(OFFSETS)
    known = one_release(1 + OFFSETS)

    def least(times: float) -> tuple[float, float]:
        def at(log_offset: float) -> float:
            return float(converted(log_offset, one_release(1 + np.exp(log_offset)), times))

        rough = converted(grid, known, times)
        near = int(np.argmin(rough))
        low, high = grid[max(near - 1, 0)], grid[min(near + 1, len(grid) - 1)]
        between = np.asarray(fminbound(at, low, high, xtol=1e-6)).item()
        epsilon, log_offset = min((at(between), between), (rough[near], grid[near]), (times * pure, np.inf))
        return max(0.0, epsilon), 1 + float(np.exp(log_offset))

    epsilons, orders = np.array([least(times) for times in releases]).T
    return epsilons, orders


def exact_epsilon(gamma: float, bits: int, delta: float) -> float:
    """Return the least ε whose hockey-stick divergence over `bits` independent bits is at most δ.

    The loss is a function of the number of kept bits, which is binomial. dp-accounting's loss distributions
    are not used here: 0.6.0 ignores the number of compositions of randomised response.
    """
    from scipy.optimize import root_scalar
    from scipy.stats import binom

    p = 0.5 + gamma
    # Beyond 40 standard deviations there is less mass than a float64 can hold.
    reach = 40 * math.sqrt(bits * p * (1 - p)) + 40
    low, high = max(0, int(bits * p - reach)), min(bits, int(bits * p + reach))
    step = (high - low) // MOST + 1
    k = np.arange(low, high + step, step).clip(max=bits)
    if step == 1:
        probability = binom.pmf(k, bits, p)
    else:  # of the numbers after the last one and up to this one, each with the loss of the largest
        below, above = binom.cdf(k, bits, p), binom.sf(k, bits, p)
        probability = np.where(k < bits * p, np.diff(below, prepend=0.0), -np.diff(above, prepend=1.0))
    per_bit = pure_epsilon(gamma)
    loss = (2.0 * k - bits) * per_bit
    allowed = delta * (1 - 1e-8)  # the probabilities are as good as that

    def excess(epsilon: float) -> float:
        hidden = np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - loss)))
        return float(np.sum(probability * hidden)) - allowed

    if excess(0.0) <= 0:
        return 0.0
    root = root_scalar(excess, bracket=(0.0, bits * per_bit), method="brentq", xtol=1e-14, rtol=1e-14).root
    return min(bits * per_bit, float(root) * (1 + 4e-14) + 4e-14)


def theorem_epsilon(gamma: float, rounds: int, delta: float) -> float:
    """Return ε of DPFL-BNN Theorem 1: the order is α = 1 + 2 ln(1/δ)/ε and (α−1) ρ(α) = ln(1/δ)/T."""
    from scipy.optimize import root_scalar

    if gamma == 0:
        return 0.0
    log_inverse = -math.log(delta)
    target = log_inverse / rounds

    def gap(log_offset: float) -> float:
        return float(log_moments(gamma, math.exp(log_offset))) - target

    # At offsets above 1 a log-moment is at least offset·L − ln 2.
    largest = 1 + (target + 1) / pure_epsilon(gamma)
    log_offset = root_scalar(gap, bracket=(-200.0, math.log(largest)), method="brentq", xtol=SLACK).root
    return 2 * log_inverse / math.exp(float(log_offset)) * (1 + 2 * SLACK)


# In units of √N/2, the largest standard deviation there can be.
REACH = 30.0

# More clients count as so many: they hide the better the more they are.
MOST_CLIENTS = 10**7

# Numbers of a sum times orders, worked on at once.
CHUNK = 1 << 18


def sum_log_moments(pure: float, offsets: np.ndarray, clients: int) -> np.ndarray:
    """Return (α − 1) times the Rényi divergence at orders α = 1 + `offsets`, the larger of both directions.

    `pure` is ln(p/(1−p)) of one bit. The result is never below the exact value.
    """
    moments = np.empty((2, len(offsets)))
    for way, (log_mass, loss) in enumerate(_outcomes(pure, min(clients, MOST_CLIENTS))):
        together = max(1, CHUNK // len(loss))
        for start in range(0, len(offsets), together):
            some = slice(start, start + together)
            gains = _log_gains(1 + offsets[some, None], loss)
            moments[way, some] = np.logaddexp.reduce(log_mass + gains, axis=1)
    return np.logaddexp(0.0, moments.max(axis=0))


def _log_gains(order: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return upper bounds on log(e^(αL) − 1 − α(e^L − 1)) of losses L: its mean is that of e^(αL) − 1.

    It is nowhere negative, so nothing cancels in a mean; what rounding may take from it is added.
    """
    power, change = order * loss, order * np.expm1(loss)
    gain = np.expm1(power.clip(max=1.0))
    small = gain - change + 4e-16 * (np.abs(gain) + np.abs(change))
    with np.errstate(divide="ignore"):
        beyond = power + np.log1p(-(1 - 1e-15) * (1 + change) * np.exp(-power.clip(min=1.0)))
        return np.where(power > 1, beyond, np.log(small.clip(min=0.0)))


@lru_cache(maxsize=8)
def _outcomes(pure: float, clients: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return log-probabilities and losses of a sum, under the neighbour's bit and under the client's."""
    from scipy.stats import binom

    keep = 1 / (1 + np.exp(-pure))
    mean, reach = clients * keep, REACH * np.sqrt(clients) / 2
    low, high = max(0, int(mean - reach)), min(clients, int(mean + reach) + 1)
    k = np.arange(low, high + 1.0)
    # Of the others alone; one more answer of 1 is k/(N − k) e^-pure times as likely.
    others = binom.logpmf(k, clients - 1, keep)
    more = binom.logpmf(k - 1, clients - 1, keep)
    flip = np.exp(-pure) * keep
    neighbour = np.logaddexp(more + np.log(flip), others + np.log(keep))
    loss = _loss(k, clients, pure)
    # What lies beyond, by edges whose distance to the mean doubles.
    edges = [reach * 2.0**step for step in range(int(np.ceil(np.log2(max(2.0, clients / reach)))) + 1)]
    bounds: list[float] = []
    far: list[float] = []
    for near, end in pairwise(edges):
        for side, present in ((-1.0, low > 0), (1.0, high < clients)):
            if present:
                bounds.append(-2 * (near - 2) ** 2 / clients)
                far.append(min(max(mean + side * end, 0.0), float(clients)))
    outer = _loss(np.array(far), clients, pure)
    # The logarithms of factorials are off by so much, and the probabilities with them.
    slack = 2e-15 * gammaln(clients + 2)
    return [
        (np.concatenate([log_mass, bounds]) + slack, np.concatenate([signed, sign * outer]))
        for log_mass, signed, sign in ((neighbour, loss, 1.0), (neighbour + loss, -loss, -1.0))
    ]


def _loss(k: np.ndarray, clients: int, pure: float) -> np.ndarray:
    """Return the log of how much likelier a sum of k is under the client's bit of 1 than under a 0."""
    ones, zeros = k / clients, 1 - k / clients
    ratio = -np.expm1(-pure) * (ones - zeros * np.exp(pure)) / (zeros * np.exp(pure) + ones * np.exp(-pure))
    return np.log1p(ratio)


def rdp_curve(view: View, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ε of a view of bits after every round by Rényi divergences, and its order; both `[T]`."""
    return _counted_of(view, "rdp", delta)


def exact_curves(view: View, delta: float) -> list[Curve]:
    """Return the exact ε after every round of one bit of a single upload."""
    return _of_single_bits(view, "exact", delta)


def theorem_curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round of one bit of a single upload, as Theorem 1 counts it."""
    return _of_single_bits(view, "theorem", delta)


def _of_single_bits(view: View, accountant: str, delta: float) -> list[Curve]:
    if view.accounting != "upload":  # of a sum nobody has counted so
        return []
    return [view.curve(*_counted_of(view, accountant, delta), accountant, "bit")]


def _counted_of(view: View, accountant: str, delta: float) -> tuple[np.ndarray, np.ndarray]:
    (bit,) = view.releases
    released = view.counts[:, 0].cumsum()
    if bit.gamma == BARE:
        return np.full(len(released), np.inf), np.full(len(released), np.nan)
    return _counted(accountant, bit.gamma, bit.clients, tuple(released.tolist()), delta)


@cache  # runs of one paper differ in their data more often than in their flips
def _counted(
    accountant: str, gamma: float, clients: int, released: tuple[int, ...], delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return ε after every round and the order that gives it, NaN where there is none; both `[T]`."""
    if accountant == "rdp":
        one_bit = partial(divergence, gamma, clients=clients)
        return rdp_epsilons(one_bit, released, delta, pure_epsilon(gamma))
    count = exact_epsilon if accountant == "exact" else theorem_epsilon
    epsilon = np.array([count(gamma, bits, delta) for bits in released])
    with np.errstate(divide="ignore"):
        order = np.full(len(epsilon), np.nan) if accountant == "exact" else 1 - 2 * np.log(delta) / epsilon
    return epsilon, order
