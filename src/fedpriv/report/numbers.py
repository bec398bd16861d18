"""The one statistic of every table, figure and claim, how numbers are printed, and what an interval decides.

What is tested *holds* where the whole 95 % interval over seeds is on the claimed side of the threshold,
*fails* where the whole of it is on the other, and is *undecided* where the threshold is in it or there is
no interval. So whatever decides a statement decides its negation, the other way round.

An accuracy that is read at the round where a budget ends says nothing of its run where training
oscillates, where the network predicts one class, and where a budget ends in the middle of the first
steps. A table then prints "unstable" and the reason, no interval.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.statement import mark_epsilon
from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.report.reading import by_round, evaluations
from fedpriv.report.results import Results

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


UNSTABLE = "unstable"
ONE_CLASS, OSCILLATES, RISES = "predicts one class", "oscillates", "rises"
MEANT = {
    ONE_CLASS: "every seed predicts one class",
    OSCILLATES: "the accuracy goes up and down from one evaluated round to the next",
    RISES: "the next evaluated round is more than 10 points better",
}
JUMP = 0.03  # between two evaluated rounds, up and down again: an oscillation
NEAR = 0.0025  # to the share of the largest class: one class is all that is predicted
STEEP = 0.1  # to the next evaluated round


def instability(results: Results, run: str, read: pd.DataFrame) -> str:
    """Reason why the reading `read` of `run` says nothing of it; empty: there is none.

    A reading oscillates where accuracies of more than half of the seeds go up and down by more than 3 points
    at the round read, or where that round lies between two at which all seeds predict one class. It rises
    where the mean over seeds does, by more than 10 points to the next evaluated round.
    """
    values = read["value"].to_numpy(dtype=float)
    if not len(values) or not np.isfinite(values).all():
        return ""
    rounds = by_round(evaluations(results, run))
    largest = results.fact(run, "majority")
    if (np.abs(values - largest) <= NEAR).all():
        return f"{UNSTABLE}: {ONE_CLASS}"
    seeds = [(rounds[seed].dropna(), at) for seed, at in read["round"].items()]
    # By seed the accuracies at the round read and before and after it, at an end the next; NaN of fewer.
    windows = np.full((len(seeds), 3), np.nan)
    for window, (of_seed, at) in zip(windows, seeds, strict=True):
        if len(of_seed) >= 3:
            place = int(np.clip(of_seed.index.searchsorted(at), 1, len(of_seed) - 2))
            window[:] = of_seed.to_numpy(dtype=float)[place - 1 : place + 2]
    steps = np.diff(windows)
    turns = (steps[:, 0] * steps[:, 1] < 0) & (np.abs(steps) > JUMP).all(axis=1)
    if turns.mean() > 0.5 or (np.abs(windows[:, [0, 2]] - largest) <= NEAR).all():
        return f"{UNSTABLE}: {OSCILLATES}"
    later = np.array([of_seed[of_seed.index > at].iloc[:1].mean() for of_seed, at in seeds])  # NaN at the end
    return f"{UNSTABLE}: {RISES}" if np.mean(later - values) > STEEP else ""


def is_unstable(status: object) -> bool:
    """Return True for the status of an unstable number."""
    return str(status).startswith(UNSTABLE)


HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_RUN, NOT_JUDGED = "not run", "not judged"
SUBSTITUTE, CUT = f"{NOT_JUDGED}: substitute data", f"{NOT_JUDGED}: cut by the preset"
UNVERIFIED = f"{NOT_JUDGED}: unverified"  # a published number that nobody has read in the paper
ONE_SEED = "one seed"
ANOTHER_NETWORK = "another network"  # of a baseline that others are held against
REACHED = {HOLDS: "reached", FAILS: "not reached", UNDECIDED: UNDECIDED}  # of a published number
STANDING = (
    "A cell holds if the whole 95 % Student-t interval over seeds of what is tested is on the claimed side, "
    "fails if the whole of it is on the other, and is undecided if the threshold is in it. One seed has no "
    "interval. Where several comparisons make one statement all must hold, and one that fails makes it fail. "
    "A run that diverged decides nothing, nor does an unstable accuracy, nor a comparison of accuracies none "
    "of which is above the share of the largest class."
)
NORMAL = 1.96  # standard deviations: 95 % of a normal distribution
ROUNDING = 1e-12  # of float arithmetic


def decision(margin: Interval, threshold: float = 0.0) -> str:
    """Side of the threshold on which an interval is: above it holds, below it fails."""
    if margin.low > threshold + ROUNDING:
        return HOLDS
    return FAILS if margin.high < threshold - ROUNDING else UNDECIDED


def reach_verdict(
    ours: Interval, published: float, last_digit: float, std: float = 0.0, less: bool = False
) -> str:
    """Verdict on a published number, up to `last_digit`, half of its last one, as a claim would be judged.

    A published standard deviation `std` is that of one run: what it leaves open of the difference is added to
    our interval. Where `less` is better, a number is reached from above.
    """
    alone = f" ({ONE_SEED})" if ours.n == 1 else ""
    if std:
        half = float(np.hypot(ours.half, NORMAL * std))
        ours = ours._replace(low=ours.mean - half, high=ours.mean + half)
    if less:
        ours, published = Interval(-ours.mean, -ours.high, -ours.low, ours.n), -published
    return REACHED[decision(ours, published - last_digit)] + alone


def verdict_alone(verdict: str) -> str:
    """Verdict on a published number, without its reason."""
    return verdict.partition(":")[0].partition(" (")[0]


def verdict_counts(verdicts: Iterable[str]) -> str:
    """Return the counts of the published numbers that are reached, and of the others by verdict."""
    baselines = "baselines of another network"
    counts = Counter[str]()
    for verdict in verdicts:
        alone, why = verdict_alone(verdict), verdict.partition(": ")[2]
        known = {ANOTHER_NETWORK: baselines, NOT_JUDGED: f"{NOT_JUDGED} ({why})"}
        counts[known.get(alone, alone)] += 1
    unjudged = sorted(word for word in counts if word.startswith(NOT_JUDGED))
    order = dict.fromkeys((*REACHED.values(), UNSTABLE, baselines, *unjudged, NOT_RUN, *counts))
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])


def decision_of_margins(margins: np.ndarray) -> str:
    """Decision of margins [seeds], or [seeds, comparisons] that must all hold."""
    decisions = set()
    for column in np.atleast_2d(margins.T):
        if len(column) > 1 and np.isinf(column).any():  # they have no interval, but may all agree
            decisions.add(
                HOLDS if np.isposinf(column).all() else FAILS if np.isneginf(column).all() else UNDECIDED
            )
        else:
            decisions.add(decision(interval(column)))
    return next(side for side in (FAILS, UNDECIDED, HOLDS) if side in decisions)


# The long frame of a table: one line a number, with all that gives it meaning. A measured one holds its
# `sample`, by seed. The file for machines and what people read are both made of these lines.
Number = dict[str, Any]
STATISTIC = ("value", "low", "high", "seeds")  # the mean of a sample, its interval, how many there are


def selector_words(selector: EpsilonSelector) -> Number:
    """Way of counting of a selector, by column of the ledger."""
    return dict(zip(SELECTOR_COLUMNS, selector.key, strict=True))


def tidy(table: str, columns: list[str], lines: Iterable[Number]) -> pd.DataFrame:
    """Return the lines of a table for machines: a mean with its interval for every sample."""
    frame = pd.DataFrame(
        [{"table": table, **line, **seed_statistic(line)} for line in lines], columns=columns
    )
    return frame.astype({"seeds": "Int64"}) if "seeds" in frame else frame


def seed_statistic(line: Number) -> Number:
    """Return the mean of a line's sample with its interval; where a seed has diverged there is no number.

    One that is unstable has a mean and no interval.
    """
    if "sample" not in line:
        return {}
    values = np.asarray(line["sample"], dtype=float)
    gone = {"status": "diverged"} if np.isneginf(values).any() else {}
    ours = interval(np.where(np.isneginf(values), np.nan, values))
    if is_unstable(line.get("status")):
        ours = ours._replace(low=np.nan, high=np.nan)
    return dict(zip(STATISTIC, ours, strict=True)) | gone
