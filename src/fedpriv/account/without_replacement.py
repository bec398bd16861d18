"""Rényi divergences of the Gaussian on fixed samples, drawn without replacement; clients are replaced.

Wang, Balle, Kasiviswanathan 2019, "Subsampled Rényi differential privacy and analytical moments accountant",
Theorem 27, as dp-accounting has it. Its differences of exponentials lose all their digits in floats, so that
a bound may come out too small; here they are taken in 200 digits.
"""

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import gammaln

# Orders up to this one use the differences; those beyond, and more noise than this leaves, a coarser bound.
MOST, LARGEST = 256, 10.0

DIGITS, NOISE = 200, Decimal("1e-100")  # 2^256 times the last of the digits is below that

# What rounding may take from a divergence, relative.
SLACK = 1e-11


def log_moments(share: float, scale: float, orders: list[int]) -> np.ndarray:
    """Return (α − 1) times the divergence at whole `orders` α ≥ 1, for s = Δ²/(2σ²) and a share m/n below 1.

    Never below the exact value of the theorem's bound.
    """
    scale, top = max(scale, 1e-300), max(orders)
    i = np.arange(2.0, top + 1)
    coarse = np.log(2) + i * (i - 1) * scale
    fine = coarse.copy()
    if scale <= LARGEST:
        log_differences = _log_differences(scale, min(top, MOST) + 1)
        low, high = (2 * np.floor(i / 2)).astype(int), (2 * np.ceil(i / 2)).astype(int)
        known = high < len(log_differences)
        means = (log_differences[low[known]] + log_differences[high[known]]) / 2
        fine[known] = np.minimum(coarse[known], np.log(4) + means)
    else:
        fine[0] = min(coarse[0], np.log(4) + 2 * scale)
    coarse[0] = fine[0]
    found: list[float] = []
    for order in orders:
        k = i[: order - 1]
        log_choices = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        terms = (fine if order <= MOST else coarse)[: order - 1] + log_choices + k * np.log(share)
        found.append(float(np.logaddexp(0.0, np.logaddexp.reduce(terms, initial=-np.inf))))
    return np.array(found) * (1 + SLACK)


@lru_cache(maxsize=64)
def _log_differences(scale: float, last: int) -> np.ndarray:
    """Return the logs of the finite differences at 0 of j -> exp(j(j−1)s), to the order `last` or the next.

    They are moments of e^loss − 1 and so positive; of odd ones, which nobody asks for, it is that of NOISE.
    """
    with localcontext() as context:
        context.prec = DIGITS
        size = last + last % 2 + 1
        # e^(j(j−1)s) is e^(2(j−1)s) times the one before, and that factor e^2s times its own.
        factor = grown = (2 * Decimal(scale)).exp()
        row = [Decimal(1), Decimal(1)]
        for _ in range(size - 2):
            row.append(row[-1] * grown)
            grown *= factor
        found: list[float] = []
        for _ in range(size):
            found.append(_log(max(row[0], Decimal(0)) + NOISE))
            row = [after - before for before, after in pairwise(row)]
    return np.array(found)


def _log(number: Decimal) -> float:
    """Return the logarithm of a positive number, however far it is from those that a float can be."""
    digits = number.adjusted()
    return math.log(number.scaleb(-digits)) + digits * math.log(10)
