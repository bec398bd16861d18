"""What randomised response on binary weights really costs, under each reading of "a client's contribution".

Binary Federated Learning with Client-Level Differential Privacy (below: DPFL-BNN), Lemma 3 and Theorem 1. A
bit is kept with probability p = 1/2 + γ and flipped otherwise; neighbours replace one client, whose bits may
all become others.

DEVIATION: Theorem 1 composes one bit over T rounds. A client sends d bits a round and any of them may differ
between neighbours, so the client-level readings compose T·d bits; the paper's reading stands beside them.
DEVIATION: Theorem 1 prints g⁻¹((1/δ)/T); its own proof needs g⁻¹(ln(1/δ)/T), which is what is computed.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import fminbound, root_scalar
from scipy.stats import binom

from fedpriv.account.ranges import check
from fedpriv.account.spend import Spend

Divergence = Callable[[np.ndarray], np.ndarray]

# Names of the readings, in the order of a table's columns.
READINGS = {
    "bit_rdp": "one bit, all rounds; best Rényi order",
    "bit_rdp_tight": "one bit, all rounds; best Rényi order, improved conversion",
    "bit_exact": "one bit, all rounds; exact",
    "bit_theorem": "one bit, all rounds; Theorem 1 with its fixed order",
    "bit_printed": "one bit, all rounds; Theorem 1 as printed, a misprint that certifies nothing",
    "vector_rdp": "all bits, all rounds; best Rényi order",
    "vector_exact": "all bits, all rounds; exact",
    "central_bit_rdp": "one bit, all rounds; only the sum over clients is seen",
    "central_vector_rdp": "all bits, all rounds; only the sum over clients is seen",
}

# Offsets α − 1 among which the best order is sought before it is refined.
OFFSETS = np.geomspace(1e-6, 1e9, 600)


def epsilons(
    gamma: float, rounds: int, delta: float, dimension: int | None = None, clients: int = 100
) -> dict[str, Spend]:
    """Return the spend of every reading in `READINGS`; those of vectors only if `dimension` is given.

    The central readings assume ideal secure aggregation over `clients`, all of whose other bits are known.
    Raises BadInput naming the value that is out of range.
    """
    given = {} if dimension is None else {"dimension": dimension}
    check(gamma=gamma, delta=delta, rounds=rounds, **given, clients=clients)
    pure = pure_epsilon(gamma)

    def local(order: np.ndarray) -> np.ndarray:
        return divergence(gamma, order)

    def central(order: np.ndarray) -> np.ndarray:
        return central_divergence(gamma, order, clients)

    def best(one_release: Divergence, releases: int, tight: bool = False) -> float:
        return float(rdp_epsilons(one_release, [releases], delta, pure, tight)[0][0])

    found = {
        "bit_rdp": best(local, rounds),
        "bit_rdp_tight": best(local, rounds, tight=True),
        "bit_exact": exact_epsilon(gamma, rounds, delta),
        "bit_theorem": theorem_epsilon(gamma, rounds, delta),
        "bit_printed": theorem_epsilon(gamma, rounds, delta, printed=True),
        "central_bit_rdp": best(central, rounds),
    }
    if dimension is not None:
        found["vector_rdp"] = best(local, rounds * dimension)
        found["vector_exact"] = exact_epsilon(gamma, rounds * dimension, delta)
        found["central_vector_rdp"] = best(central, rounds * dimension)
    return {
        name: Spend(
            found[name],
            delta,
            unit="client" if "vector" in name else "one bit of a client",
            relation="replace_one",
            sampling_law="full",
            accountant="exact" if "exact" in name else "rdp",
            assumptions_met="printed" not in name,
        )
        for name in READINGS
        if name in found
    }


def pure_epsilon(gamma: float) -> float:
    """Return the ε at δ = 0 of one answer, ln(p/(1−p)): no reading costs more than this for a bit."""
    return float(np.log1p(2 * gamma) - np.log1p(-2 * gamma))


def divergence(gamma: float, order: float | np.ndarray) -> np.ndarray:
    """Return ρ(α), the Rényi divergence between the two answers of one bit (DPFL-BNN Lemma 3), for α > 1."""
    order = np.asarray(order, dtype=np.float64)
    keep, flip = np.log(0.5 + gamma), np.log(0.5 - gamma)
    return np.logaddexp(order * keep + (1 - order) * flip, order * flip + (1 - order) * keep) / (order - 1)


def central_divergence(gamma: float, order: float | np.ndarray, clients: int) -> np.ndarray:
    """Return the Rényi divergence between sums over `clients` noisy bits of which one is replaced.

    All other true bits are equal, the worst case; the larger of the two directions.
    """
    order = np.asarray(order, dtype=np.float64)[..., None]
    k = np.arange(clients + 1)
    others = binom.logpmf(k, clients - 1, 0.5 + gamma)
    more = np.concatenate([[-np.inf], others[:-1]])  # one more answer of 1
    keep, flip = np.log(0.5 + gamma), np.log(0.5 - gamma)
    same = np.logaddexp(more + keep, others + flip)
    replaced = np.logaddexp(more + flip, others + keep)
    one_way = np.logaddexp.reduce(order * same + (1 - order) * replaced, axis=-1)
    back = np.logaddexp.reduce(order * replaced + (1 - order) * same, axis=-1)
    return np.maximum(one_way, back) / (order[..., 0] - 1)


def rdp_epsilons(
    one_release: Divergence,
    releases: Sequence[int] | np.ndarray,
    delta: float,
    pure: float,
    tight: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least ε over all orders α > 1 for each number of `releases`, and its order; both `[n]`.

    One release has divergence `one_release` and is never worse than `pure`; an order of infinity means that
    this bound is the least. The conversion is ρ + ln(1/δ)/(α−1) (Mironov 2017); `tight` takes that of
    Canonne, Kamath, Steinke 2020.
    """

    def converted(log_offset: float | np.ndarray, divergence: np.ndarray, times: float) -> np.ndarray:
        offset = np.exp(log_offset)
        order = 1 + offset
        if tight:
            return times * divergence + np.log(offset / order) - np.log(delta * order) / offset
        return times * divergence - np.log(delta) / offset

    grid = np.log(OFFSETS)
    known = one_release(1 + OFFSETS)

    def least(times: float) -> tuple[float, float]:
        def at(log_offset: float) -> float:
            return float(converted(log_offset, one_release(1 + np.exp(log_offset)), times))

        rough = converted(grid, known, times)
        near = int(np.argmin(rough))
        low, high = grid[max(near - 1, 0)], grid[min(near + 1, len(grid) - 1)]
        between = np.asarray(fminbound(at, low, high, xtol=1e-10)).item()
        epsilon, log_offset = min((at(between), between), (rough[near], grid[near]), (times * pure, np.inf))
        return max(0.0, epsilon), 1 + float(np.exp(log_offset))

    epsilons, orders = np.array([least(times) for times in releases]).T
    return epsilons, orders


def exact_epsilon(gamma: float, bits: int, delta: float) -> float:
    """Return the least ε whose hockey-stick divergence over `bits` independent bits is at most δ.

    The loss is a function of the number of kept bits, which is binomial. dp-accounting's loss distributions
    are not used here: 0.6.0 ignores the number of compositions of randomised response.
    """
    p = 0.5 + gamma
    # Beyond 40 standard deviations there is less mass than a float64 can hold.
    reach = 40 * np.sqrt(bits * p * (1 - p)) + 40
    k = np.arange(max(0, int(bits * p - reach)), min(bits, int(bits * p + reach)) + 1)
    per_bit = pure_epsilon(gamma)
    probability, loss = binom.pmf(k, bits, p), (2 * k - bits) * per_bit

    def excess(epsilon: float) -> float:
        return (
            float(np.sum(probability * np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - loss))))) - delta
        )

    if excess(0.0) <= 0:
        return 0.0
    return float(root_scalar(excess, bracket=(0.0, bits * per_bit), method="brentq").root)


def theorem_epsilon(gamma: float, rounds: int, delta: float, printed: bool = False) -> float:
    """Return ε of DPFL-BNN Theorem 1: the order is α = 1 + 2 ln(1/δ)/ε and (α−1) ρ(α) = ln(1/δ)/T.

    `printed` takes the theorem at its word, with 1/δ for ln(1/δ) in the second equation: absurdly small.
    """
    if gamma == 0:
        return 0.0
    log_inverse = -np.log(delta)
    target = (1 / delta if printed else log_inverse) / rounds

    def gap(offset: float) -> float:
        return float(offset * divergence(gamma, 1 + offset)) - target

    largest = (target - np.log(0.5 - gamma)) / np.log((0.5 + gamma) / (0.5 - gamma))
    return float(2 * log_inverse / root_scalar(gap, bracket=(1e-12, largest), method="brentq").root)
