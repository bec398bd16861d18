"""What randomised response on binary weights really costs, under each reading of "a client's contribution".

Binary Federated Learning with Client-Level Differential Privacy (below: DPFL-BNN), Lemma 3 and Theorem 1. A
bit is kept with probability p = 1/2 + γ and flipped otherwise; neighbours replace one client, whose bits may
all become others.

DEVIATION: Theorem 1 composes one bit over T rounds. A client sends d bits a round and any of them may differ
between neighbours, so the client-level counts compose T·d bits; the paper's count stands beside them.
DEVIATION: Theorem 1 prints g⁻¹((1/δ)/T); its own proof needs g⁻¹(ln(1/δ)/T), which is what is computed.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from fedpriv.account import secure_sum
from fedpriv.account.ranges import check
from fedpriv.account.spend import Spend

Divergence = Callable[[np.ndarray], np.ndarray]

# Names of the readings: first what all bits of a client cost, which is what a client spends.
READINGS = {
    "vector_exact": "all bits, all rounds; exact",
    "vector_rdp": "all bits, all rounds; best Rényi order",
    "central_vector_rdp": "all bits, all rounds; only the sum over clients is seen",
    "bit_exact": "one bit, all rounds; exact",
    "bit_rdp": "one bit, all rounds; best Rényi order",
    "bit_theorem": "one bit, all rounds; Theorem 1 with its fixed order",
    "bit_printed": "one bit, all rounds; Theorem 1 as published, a misprint that certifies nothing",
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
) -> dict[str, Spend]:
    """Return the spend of every reading in `READINGS`; those of vectors only if `dimension` is given.

    The central readings assume ideal secure aggregation over `clients`, all of whose other bits are known.
    Raises BadInput naming the value that is out of range.
    """
    given = {} if dimension is None else {"dimension": dimension}
    check(gamma=gamma, delta=delta, rounds=rounds, **given, clients=clients)
    releases = [rounds] if dimension is None else [rounds, rounds * dimension]
    check(**{"rounds x dimension": releases[-1]})

    def best(clients: int) -> np.ndarray:
        def one_release(order: np.ndarray) -> np.ndarray:
            return divergence(gamma, order, clients)

        return rdp_epsilons(one_release, releases, delta, pure_epsilon(gamma))[0]

    alone, central = best(1), best(clients)
    found = {
        "bit_rdp": alone[0],
        "bit_exact": exact_epsilon(gamma, rounds, delta),
        "bit_theorem": theorem_epsilon(gamma, rounds, delta),
        "bit_printed": theorem_epsilon(gamma, rounds, delta, printed=True),
        "central_bit_rdp": central[0],
    }
    if dimension is not None:
        found["vector_rdp"] = alone[1]
        found["vector_exact"] = exact_epsilon(gamma, releases[1], delta)
        found["central_vector_rdp"] = central[1]
    return {
        name: Spend(
            float(found[name]),
            delta,
            unit="client" if "vector" in name else "one bit of a client",
            relation="replace_one",
            sampling_law="full",
            accountant="exact" if "exact" in name else "rdp",
            unmet="the printed theorem loses a factor" if "printed" in name else "",
        )
        for name in READINGS
        if name in found
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
        alone = np.minimum(alone, secure_sum.log_moments(pure_epsilon(gamma), offsets, clients))
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


def theorem_epsilon(gamma: float, rounds: int, delta: float, printed: bool = False) -> float:
    """Return ε of DPFL-BNN Theorem 1: the order is α = 1 + 2 ln(1/δ)/ε and (α−1) ρ(α) = ln(1/δ)/T.

    `printed` takes the theorem at its word, with 1/δ for ln(1/δ) in the second equation: absurdly small.
    """
    from scipy.optimize import root_scalar

    if gamma == 0:
        return 0.0
    log_inverse = -math.log(delta)
    target = (min(1 / delta, 1e150) if printed else log_inverse) / rounds

    def gap(log_offset: float) -> float:
        return float(log_moments(gamma, math.exp(log_offset))) - target

    # At offsets above 1 a log-moment is at least offset·L − ln 2.
    largest = 1 + (target + 1) / pure_epsilon(gamma)
    log_offset = root_scalar(gap, bracket=(-200.0, math.log(largest)), method="brentq", xtol=SLACK).root
    return 2 * log_inverse / math.exp(float(log_offset)) * (1 + 2 * SLACK)
