"""The sum of many clients' randomised bits, behind secure aggregation: how well it hides one of them.

All other true bits are equal, the worst case. The numbers of a sum are many, so only those that are within
REACH standard deviations are looked at one by one; what is beyond is bounded by Hoeffding's inequality, in
steps that double, each with the largest loss that is in it.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import gammaln

# In units of √N/2, the largest standard deviation there can be.
REACH = 30.0

# More clients count as so many: they hide the better the more they are.
MOST = 10**7

# Numbers of a sum times orders, worked on at once.
CHUNK = 1 << 18


def log_moments(pure: float, offsets: np.ndarray, clients: int) -> np.ndarray:
    """Return (α − 1) times the Rényi divergence at orders α = 1 + `offsets`, the larger of both directions.

    `pure` is ln(p/(1−p)) of one bit. The result is never below the exact value.
    """
    found = np.empty((2, len(offsets)))
    for way, (log_mass, loss) in enumerate(_outcomes(pure, min(clients, MOST))):
        together = max(1, CHUNK // len(loss))
        for start in range(0, len(offsets), together):
            some = slice(start, start + together)
            gains = _log_gains(1 + offsets[some, None], loss)
            found[way, some] = np.logaddexp.reduce(log_mass + gains, axis=1)
    return np.logaddexp(0.0, found.max(axis=0))


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
