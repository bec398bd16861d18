"""Numbers: the one statistic of every table, figure and claim, and how numbers are printed everywhere."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fedpriv.account.spend import marked

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


def interval(values: Iterable[float]) -> Interval:
    """Return the mean of `values` and its Student-t interval; a NaN among them makes all of it NaN."""
    sample = np.asarray(list(values), dtype=float)
    if not len(sample) or np.isnan(sample).any():
        return Interval(np.nan, np.nan, np.nan, len(sample))
    mean = float(sample.mean())
    if len(sample) == 1 or np.isinf(mean):
        return Interval(mean, np.nan, np.nan, len(sample))
    from scipy.stats import t

    half = float(t.ppf((1 + LEVEL) / 2, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample)))
    return Interval(mean, mean - half, mean + half, len(sample))


def interval_text(found: Interval, digits: int) -> str:
    """Return `mean ± half-width`, of one seed the mean alone."""
    if np.isnan(found.mean):
        return NONE
    text = f"{found.mean:.{digits}f}".replace("-", "−")
    return text if found.n == 1 else f"{text} ± {found.half:.{digits}f}"


def short_interval(found: Interval, digits: int) -> str:
    """Return `mean ± half-width`, or the mean alone where that rounds to nothing: of what no seed changes."""
    return interval_text(found._replace(n=1) if found.half < 0.5 * 10**-digits else found, digits)


def percent(values: Iterable[float]) -> str:
    """Return accuracies, fractions by seed, in percent; that of a run that has diverged is minus infinity."""
    sample = np.asarray(list(values), dtype=float)
    if gone := int(np.isneginf(sample).sum()):
        return "diverged" if gone == len(sample) else f"diverged ({gone} of {len(sample)} seeds)"
    return fraction_text(interval(sample))


def fraction_text(found: Interval) -> str:
    """Return an accuracy, a fraction, in percent."""
    return interval_text(hundredfold(found), 1)


def share(values: Iterable[float]) -> str:
    """Return fractions by seed that no seed need change, in percent."""
    return short_interval(hundredfold(interval(values)), 1)


def hundredfold(found: Interval) -> Interval:
    """Return the mean and interval of a fraction in percent."""
    return Interval(100 * found.mean, 100 * found.low, 100 * found.high, found.n)


def epsilon(values: Iterable[float], status: str) -> str:
    """Return the ε of several seeds, all of this status: see `epsilon_text`."""
    return epsilon_text(interval(values), status)


def epsilon_text(found: Interval, status: str) -> str:
    """Return an ε with the mark of its status, which alone says whether it is a guarantee."""
    return marked(size_text(found), status)


def size(values: Iterable[float]) -> str:
    """Return what is as large as an ε and is none, such as a bound below it: see `size_text`."""
    return size_text(interval(values))


def size_text(found: Interval) -> str:
    """Return a number: two digits after the point, two that count below 0.1, none from 1000.

    From 100,000 on it is a power of ten: nobody reads on after the first digits.
    """
    if np.isinf(found.mean):
        return "∞"
    if found.mean == 0:
        return "0"
    if found.mean >= 1e5:
        return power(found.mean, 2)
    if found.mean >= 1000:
        return short_interval(found, 0)
    small = np.floor(np.log10(found.mean)) if 0 < found.mean < 1 else 0
    return short_interval(found, int(np.clip(1 - small, 2, 9)))


def several(values: Iterable[float]) -> str:
    """Return up to three different numbers, or the range of more."""
    found = sorted(set(values))
    if len(found) <= 3:
        return ", ".join(f"{value:.3g}" for value in found)
    return f"{found[0]:.3g} to {found[-1]:.3g}"


def rounded(values: Iterable[float]) -> str:
    """Return the mean over seeds to three digits."""
    return f"{np.mean([*values]):.3g}"


def whole(values: Iterable[float]) -> str:
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


def rounds(values: Iterable[float]) -> str:
    """Return the rounds of several seeds: one number if they agree, else the first and the last."""
    sample = np.asarray(list(values), dtype=float)
    if not len(sample) or np.isnan(sample).any():
        return NONE
    low, high = int(sample.min()), int(sample.max())
    return f"{low}" if low == high else f"{low}–{high}"
