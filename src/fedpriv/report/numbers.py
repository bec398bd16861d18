"""The one statistic of every table, figure and claim, and how numbers are printed.

>>> percent([0.86, 0.87, 0.88])
'87.0 ± 2.5'
>>> size([2.5937])
'2.59'
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fedpriv.account.statement import mark_epsilon

LEVEL = 0.95
METHOD = "x ± y is their mean and the half-width of its 95 % Student-t interval"
NONE = "—"  # there is no such round
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Interval(NamedTuple):
    """A mean over `n` seeds and its interval; one seed, or an infinite mean, has none (NaN ends)."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


Seeds = Iterable[float] | Interval  # numbers by seed, or what is left of them


def interval(values: Seeds) -> Interval:
    """Return the mean of `values` and its Student-t interval; a NaN among them makes all of it NaN."""
    if isinstance(values, Interval):
        return values
    sample = np.asarray(list(values), dtype=float)
    if not len(sample) or np.isnan(sample).any():
        return Interval(np.nan, np.nan, np.nan, len(sample))
    mean = float(sample.mean())
    if len(sample) == 1 or np.isinf(mean):
        return Interval(mean, np.nan, np.nan, len(sample))
    from scipy.stats import t

    half = float(t.ppf((1 + LEVEL) / 2, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample)))
    return Interval(mean, mean - half, mean + half, len(sample))


def interval_text(ours: Interval, digits: int) -> str:
    """Return `mean ± half-width`, of one seed the mean alone."""
    if np.isnan(ours.mean):
        return NONE
    text = f"{ours.mean:.{digits}f}".replace("-", "−")
    return text if ours.n == 1 else f"{text} ± {ours.half:.{digits}f}"


def short_interval(values: Seeds, digits: int) -> str:
    """Return `mean ± half-width`, or the mean alone where that rounds to nothing: of what no seed changes."""
    ours = interval(values)
    alone = ours._replace(n=1) if ours.half < 0.5 * 10**-digits else ours
    return diverged_text(values) or interval_text(alone, digits)


def percent(values: Seeds, digits: int = 1) -> str:
    """Return fractions by seed in percent."""
    return diverged_text(values) or interval_text(percent_interval(values), digits)


def diverged_text(values: Seeds) -> str:
    """Count of the runs that have diverged, of which each is minus infinity; empty: none has."""
    sample = np.asarray([] if isinstance(values, Interval) else list(values), dtype=float)
    gone = int(np.isneginf(sample).sum())
    if gone < len(sample):
        return f"diverged ({gone} of {len(sample)} seeds)" if gone else ""
    return "diverged" if gone else ""


def share(values: Seeds) -> str:
    """Return fractions by seed that no seed need change, in percent."""
    return short_interval(percent_interval(values), 1)


def percent_interval(values: Seeds) -> Interval:
    """Return the mean and interval of fractions in percent."""
    mean, low, high, seeds = interval(values)
    return Interval(100 * mean, 100 * low, 100 * high, seeds)


def epsilon_of_seeds(values: Seeds, status: str) -> str:
    """Return an ε with the mark of its status, which alone says whether it is a guarantee."""
    return mark_epsilon(size(values), status)


def size(values: Seeds) -> str:
    """Return a number such as an ε: two digits after the point, two that count below 0.1, none from 1000.

    From 100,000 on it is a power of ten: nobody reads on after the first digits.
    """
    ours = interval(values)
    if np.isinf(ours.mean):
        return "∞"
    if ours.mean == 0:
        return "0"
    if ours.mean >= 1e5:
        return power(ours.mean, 2)
    if ours.mean >= 1000:
        return short_interval(ours, 0)
    small = np.floor(np.log10(ours.mean)) if 0 < ours.mean < 1 else 0
    return short_interval(ours, int(np.clip(1 - small, 2, 9)))


def few_numbers(values: Iterable[float]) -> str:
    """Return up to three different numbers, or the range of more."""
    distinct = sorted(set(values))
    if len(distinct) <= 3:
        return ", ".join(f"{value:.3g}" for value in distinct)
    return f"{distinct[0]:.3g} to {distinct[-1]:.3g}"


def three_digits(values: Iterable[float]) -> str:
    """Return the mean over seeds to three digits."""
    return f"{np.mean([*values]):.3g}"


def whole_number(values: Iterable[float]) -> str:
    """Return the mean over seeds as a whole number."""
    return f"{np.mean([*values]):,.0f}"


def attacker(value: float) -> str:
    """Return an attacker's accuracy, a fraction, in percent: never rounded up to certainty."""
    return f"{100 * value:.1f}" if value < 0.9995 else "> 99.9"


def delta(value: float) -> str:
    """Return δ, as a power of ten where it is one."""
    return power(value, 1).removeprefix("1.0 · ")


def power(value: float, digits: int) -> str:
    """Return a number above 0 with its power of ten."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa} · 10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def round_range(values: Iterable[float]) -> str:
    """Return the rounds of several seeds: one number if they agree, else the first and the last."""
    sample = np.asarray(list(values), dtype=float)
    if not len(sample) or np.isnan(sample).any():
        return NONE
    low, high = int(sample.min()), int(sample.max())
    return f"{low}" if low == high else f"{low}–{high}"
