"""What a trace must be like before anything is computed from it, and what one leaves unsaid.

Of a plain trace the accountants need to know who is protected (`unit`), how units were drawn
(`sampling_law`, `sampling_rate`) and how much noise hid them (`noise_multiplier`, or `noise_std` with
`clip_l2`). All else is taken to be as in the simplest mechanism: a sum of parts, each of norm `clip_l2`
at most, over a public denominator, with Gaussian noise that whoever sums adds. Nothing that is assumed
makes noise larger, and nothing that is written is left unread: a column that nobody knows is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype, is_numeric_dtype

from fedpriv.errors import BadInput, plain, short_repr
from fedpriv.trace import BEFORE_MECHANISM, COLUMNS, DISTANCES, MECHANISMS, MISSING, own_columns

if TYPE_CHECKING:
    import pandas as pd


Range = tuple[Callable[[float], bool], str]

SHARE: Range = (lambda value: 0 < value < 1, "above 0 and below 1")
INVERSE: Range = (lambda value: value >= 1e-300, "at least 1e-300")  # of others 1/δ is infinite
RATE: Range = (lambda value: 0 < value <= 1, "above 0 and at most 1")
ABOVE_ZERO: Range = (lambda value: 0 < value < math.inf, "above 0")
AT_LEAST_ONE: Range = (lambda value: value >= 1, "at least 1")
# The squares of others are zero or infinite.
SQUARES: Range = (lambda value: 1e-100 <= value <= 1e100, "1e-100 to 1e100")


def range_below(most: float) -> Range:
    """Return the range that ends with `most`."""
    return lambda value: value <= most, f"at most {most:g}"


# What each value must be, the first thing first.
RANGES: dict[str, tuple[Range, ...]] = {
    "epsilon": (ABOVE_ZERO,),
    "delta": (SHARE, INVERSE),
    "instance_delta": (SHARE, INVERSE),
    "sampling_rate": (RATE,),
    "noise_multiplier": (ABOVE_ZERO, SQUARES),
    "gamma": (
        (lambda value: 0 <= value < 0.5, "at least 0 and below 0.5"),
        (lambda value: value == 0 or value >= 1e-100, "0, or at least 1e-100"),
    ),
    "rounds": (AT_LEAST_ONE, range_below(1e18)),
    "dimension": (AT_LEAST_ONE, range_below(1e12)),
    "clients": (AT_LEAST_ONE, range_below(1e18)),
    "rounds x dimension": (range_below(1e12),),
}


def check(**values: float) -> None:
    """Raise BadInput naming the first value that is out of its range, or no number."""
    for name, value in values.items():
        for allowed, words in RANGES[name]:
            if not isinstance(value, Real) or not allowed(value):
                raise BadInput(f"{name}: found {shown(value)}, allowed: {words}")


def shown(value: object) -> str:
    """Return a value as messages have it: a number in six digits, of anything else the beginning."""
    if isinstance(value, int) and abs(value) >= 10**300:
        return f"a number of {len(str(value))} digits"
    return f"{value:g}" if isinstance(value, Real) else short_repr(value)


# Whole numbers up to this one, and what they are multiplied to, are exact in a float and fit an integer.
MOST, MOST_RELEASES = 1e12, 1e15

COUNT: Range = (lambda value: 0 <= value <= MOST and value == int(value), f"whole numbers from 0 to {MOST:g}")
POSITIVE: Range = (
    lambda value: 1 <= value <= MOST and value == int(value),
    f"whole numbers from 1 to {MOST:g}",
)
SIZE: Range = (lambda value: 0 <= value < np.inf, "at least 0 and finite")
BOUND: Range = (lambda value: value >= 0, "at least 0")

# What the accountants read of a trace, and the values they can work with.
NUMBERS: dict[str, Range] = {
    "population": POSITIVE,
    "cohort_size": COUNT,
    "sampling_rate": RATE,
    "noise_multiplier": SIZE,
    "clip_l2": BOUND,
    "noise_std": SIZE,
    "count_noise_multiplier": BOUND,
    "local_steps": COUNT,
    "rate_sequential": (lambda value: 0 <= value <= 1, "0 to 1"),
    "rate_parallel": (lambda value: 0 <= value <= 1, "0 to 1"),
    "instance_clip_l2": BOUND,
    "instance_noise_multiplier": SIZE,
    "instance_noise_std": SIZE,
    "statistics_releases": COUNT,
    "statistics_noise_multiplier": BOUND,
    "noise_shares": COUNT,
    "holders": COUNT,
    "gamma": (lambda value: 0 <= value <= 0.5, "0 to 0.5"),
    "noisy_bits": COUNT,
    "upload_l2": BOUND,
    "upload_noise_std": SIZE,
    "upload_noise_least": (
        lambda value: 0 <= value < np.inf or np.isnan(value),
        "at least 0, NaN: not known",
    ),
    "clear_values": COUNT,
    "releases": POSITIVE,
}
# Where instances are protected.
INSTANCE_NUMBERS = {"local_steps": POSITIVE, "rate_sequential": RATE, "rate_parallel": RATE}
WORDS = {
    "unit": ("client", "instance", "both", "none"),
    "sampling_law": ("poisson", "fixed", "full", "spaced"),
    "denominator": ("expected", "present"),
    "flips": ("", "coordinate", "tensor"),
}
FLAGS = ("clip_private", "per_example_clip", "topped_up", "noise_in_sum", "noise_clipped", "repeated_rows")
# The same in all rounds: nobody composes randomised response of several kinds.
CONSTANT = ("gamma", "noisy_bits")
READ = ("round", "mechanism", "unmet", *WORDS, *FLAGS, *NUMBERS)
# What Opacus, Flower, TensorFlow Privacy and their accountants call some of these columns.
ELSEWHERE = {
    **dict.fromkeys(("step", "steps", "num_steps", "iterations", "num_compositions", "count"), "releases"),
    **dict.fromkeys(("sigma", "noise", "z", "stddev_over_sensitivity"), "noise_multiplier"),
    **dict.fromkeys(("stddev", "std", "noise_stddev"), "noise_std"),
    **dict.fromkeys(("q", "sample_rate", "rate", "sampling_probability"), "sampling_rate"),
    **dict.fromkeys(("clip", "max_grad_norm", "l2_norm_clip", "clipping_norm", "c", "s"), "clip_l2"),
    **dict.fromkeys(("n", "clients", "num_clients", "examples"), "population"),
    **dict.fromkeys(("m", "batch_size", "num_sampled_clients", "cohort"), "cohort_size"),
}


def over_bound(std: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return noise multipliers `[T]`, at most what floats can hold; 0, no noise, for a bound of zero."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(bound > 0, np.minimum(std / bound, np.finfo(np.float64).max), 0.0)


def check_columns(trace: pd.DataFrame, ignore: Collection[str] = ()) -> None:
    """Raise BadInput naming the first column that is not known, is there twice or should hold numbers.

    A column whose name is misspelt would make ε too small without a word. Those named in `ignore` may be
    there, but none that the accountants read may be named.
    """
    if read := [name for name in ignore if name in READ]:
        raise BadInput(f"ignore: found {read[0]}, which the accountants read, allowed: other columns")
    released = str(trace["mechanism"].iloc[0]) if "mechanism" in trace and len(trace) else "gaussian"
    for name in trace.columns:
        if name not in {*COLUMNS, *READ, *own_columns(released), *ignore}:
            raise BadInput(
                f"trace: found the unknown column {plain(name)}, allowed: {closest(str(name))} "
                "(docs/accounting-alone.md), or ignore=[NAME] (--ignore NAME) if it says nothing on privacy"
            )
    if twice := [name for name in trace.columns[trace.columns.duplicated()] if name not in ignore]:
        raise BadInput(f"trace: found the column {twice[0]} twice, allowed: every column once")
    for name, (_, words) in NUMBERS.items():
        if name in trace:
            numbers(trace, name, words)


def closest(name: str) -> str:
    """Return the columns that somebody who writes `name` may mean."""
    name = name.strip().lower().replace(" ", "_").replace("-", "_")
    if of := [one for one, released in MECHANISMS.items() if name in released.columns]:
        return f"{name} with mechanism {' or '.join(of)}"
    found = [ELSEWHERE[name]] if name in ELSEWHERE else get_close_matches(name, [*COLUMNS, "releases"])
    return " or ".join(found) or "the columns of a trace"


def check_trace(trace: pd.DataFrame) -> None:
    """Raise BadInput naming the first column of a trace that cannot be what happened."""
    for name in READ:
        if name not in trace:
            raise BadInput(
                f"trace: found no column {name}, allowed: the columns that a run writes, or those of a "
                "plain trace (docs/accounting-alone.md)"
            )
    if (
        not np.array_equal(numbers(trace, "round", "1, 2, 3, ..."), np.arange(1, len(trace) + 1))
        or trace.empty
    ):
        raise BadInput(f"trace: round: found {len(trace)} rows not numbered 1, 2, 3, ..., allowed: no gaps")
    for name, allowed in {"mechanism": tuple(MECHANISMS), **WORDS}.items():
        found = sorted({str(word) for word in trace[name]})
        if len(found) > 1 or found[0] not in allowed:
            words = f"one of {', '.join(allowed)}, the same in all rounds"
            raise BadInput(f"trace: {name}: found {', '.join(found)}, allowed: {words}")
    for name in FLAGS:
        if trace[name].dtype != np.bool_:
            found = next((one for one in trace[name] if not isinstance(one, bool)), trace[name].dtype)
            raise BadInput(f"trace: {name}: found {short_repr(found)}, allowed: True or False")
    if not (texts := trace["unmet"].map(lambda one: isinstance(one, str))).all():
        found = trace.loc[~texts, "unmet"].tolist()[0]
        raise BadInput(f"trace: unmet: found {short_repr(found)}, allowed: a text, empty where nothing fails")
    instances = trace["unit"].iloc[0] in ("instance", "both") and not central(trace)
    for name, (allowed, words) in (NUMBERS | (INSTANCE_NUMBERS if instances else {})).items():
        for value in np.unique(numbers(trace, name, words)).tolist():
            if not allowed(value):
                raise BadInput(f"trace: {name}: found {value:g}, allowed: {words}")
    _check_cohorts(trace)
    for name in CONSTANT:
        values = [f"{value:g}" for value in trace[name].unique()]
        if len(values) > 1:
            raise BadInput(f"trace: {name}: found {', '.join(values)}, allowed: one value in all rounds")
    if (trace["noisy_bits"] > 0).any() and not trace["flips"].iloc[0]:
        raise BadInput("trace: flips: found nothing with noisy_bits above 0, allowed: coordinate or tensor")
    if (trace["statistics_releases"] > 0).any() and trace["unit"].iloc[0] != "instance":
        unit = trace["unit"].iloc[0]
        raise BadInput(f"trace: statistics_releases: found some with unit {unit}, allowed: unit instance")
    if central(trace) and (trace["holders"] > 1).any():
        raise BadInput(
            f"trace: holders: found {trace['holders'].max():g} with unit instance and no local_steps, "
            "allowed: at most 1, for everybody's part of the sum is bounded once"
        )
    if len(set(trace["noise_shares"] > 0)) > 1:
        raise BadInput("trace: noise_shares: found 0 in some rounds, allowed: in all rounds or in none")
    # On a sum of which nothing bounds a part, any noise is nothing: its multiplier is 0, whatever its std.
    _check_noise(trace.loc[~nothing_bounded(trace)], "noise_std", "noise_multiplier", "clip_l2")
    _check_noise(trace, "instance_noise_std", "instance_noise_multiplier", "instance_clip_l2")


def central(trace: pd.DataFrame) -> bool:
    """Return whether whoever adds the noise holds the instances: no client takes steps, nor adds any."""
    alone = (trace["local_steps"] == 0) & (trace["instance_noise_multiplier"] == 0)
    return trace["unit"].iloc[0] == "instance" and bool(alone.all())


def nothing_bounded(trace: pd.DataFrame) -> pd.Series:
    """Return in which rounds there was noise on a sum of which nothing bounds a client's part."""
    return (trace["noise_std"] > 0) & (trace["noise_multiplier"] == 0) & np.isinf(trace["clip_l2"])


def numbers(trace: pd.DataFrame, name: str, words: str) -> np.ndarray:
    """Return a column of numbers as floats, NaN where one is missing; BadInput if it holds anything else."""
    column = trace[name]
    if not is_float_dtype(column) and not is_integer_dtype(column) and len(column):
        found = next((one for one in column if not isinstance(one, Real)), column.iloc[0])
        raise BadInput(f"trace: {name}: found {short_repr(found)}, allowed: numbers, {words}")
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _check_cohorts(trace: pd.DataFrame) -> None:
    """Raise BadInput unless cohorts are of the population, their rate and their shares what they can be."""
    law, population, size = trace["sampling_law"].iloc[0], trace["population"], trace["cohort_size"]
    others = (size - 1).clip(lower=1).mask(trace["topped_up"], population)
    for name, most, words in (
        ("cohort_size", population, "at most the population of {:g}"),
        ("noise_shares", others, "at most {:g}, those of the others in the cohort"),
        ("holders", population, "at most the population of {:g}"),
    ):
        if (over := trace[name] > most).any():
            found, limit = trace.loc[over, name].iloc[0], most[over].iloc[0]
            raise BadInput(f"trace: {name}: found {found:g}, allowed: {words.format(limit)}")
    of_all = {"full": population / population, "fixed": size / population, "spaced": size / population}
    share = of_all.get(law)
    if share is not None and (other := ~np.isclose(trace["sampling_rate"], share, rtol=1e-9, atol=0)).any():
        found, allowed = trace.loc[other, "sampling_rate"].iloc[0], share[other].iloc[0]
        raise BadInput(
            f"trace: sampling_rate: found {found:g}, allowed: {allowed:g}, the share of the population in a "
            f"cohort by sampling_law {law}"
        )
    _check_turns(trace)
    steps = trace["local_steps"].astype(float) * size
    parts = steps.clip(lower=1).mask(trace["noisy_bits"] > 0, trace["noisy_bits"])
    for name, total in (("local_steps", steps.sum()), ("releases", (trace["releases"] * parts).sum())):
        if total > MOST_RELEASES:
            raise BadInput(
                f"trace: {name}: found {total:g} in all cohorts, allowed: at most {MOST_RELEASES:g}"
            )


def _check_turns(trace: pd.DataFrame) -> None:
    """Raise BadInput unless clients can come as seldom and as far apart as a trace says."""
    for name in (name for name in own_columns(trace["mechanism"].iloc[0]) if name in trace):
        if len(values := trace[name].unique()) > 1:
            found = ", ".join(f"{value}" for value in values)
            raise BadInput(f"trace: {name}: found {found}, allowed: one value in all rounds")
    for name, least in (("participations", 0), ("rounds_apart", 1)):
        words = f"whole numbers from {least} to {MOST:g}"
        for value in np.unique(numbers(trace, name, words)).tolist() if name in trace else ():
            if not (least <= value <= MOST and value == int(value)):
                raise BadInput(f"trace: {name}: found {value:g}, allowed: {words}")
    law = str(trace["sampling_law"].iloc[0])
    in_turn = law == "spaced"
    for name, default in (("participations", 0), ("rounds_apart", 1)):
        if not in_turn and name in trace and (trace[name] != default).any():
            raise BadInput(
                f"trace: {name}: found {trace[name].iloc[0]:g} with sampling_law {law}, allowed: {default}, "
                "for a client may come in every round; only spaced keeps it from that"
            )
    if (in_turn or trace["mechanism"].iloc[0] == "correlated_gaussian") and (trace["releases"] > 1).any():
        raise BadInput(
            f"trace: releases: found {trace['releases'].max():g}, allowed: 1 with mechanism "
            "correlated_gaussian or sampling_law spaced, whose rounds are not alike"
        )
    if not in_turn or "participations" not in trace:
        return
    if len(counts := trace["population"].unique()) > 1:
        found = ", ".join(f"{count:g}" for count in counts)
        raise BadInput(
            f"trace: population: found {found} with sampling_law spaced, allowed: one in all rounds"
        )
    came, population = trace["cohort_size"].to_numpy(dtype=np.float64), float(counts[0])
    apart, most = (int(trace[name].iloc[0]) for name in ("rounds_apart", "participations"))
    together = np.convolve(came, np.ones(min(apart, len(came))))
    if together.max() > population:
        raise BadInput(
            f"trace: rounds_apart: found {apart}, allowed: fewer, for {together.max():g} clients came in so "
            f"many rounds, and there are {population:g}"
        )
    if most and came.sum() > most * population:
        raise BadInput(
            f"trace: participations: found {most}, allowed: at least {-(-came.sum() // population):g}, for "
            f"{came.sum():g} of {population:g} clients came in all"
        )


def _check_noise(trace: pd.DataFrame, std: str, multiplier: str, clip: str) -> None:
    """Raise BadInput unless the column `std` is `multiplier` × `clip`."""
    found, factor, bound = (trace[name].to_numpy(dtype=np.float64) for name in (std, multiplier, clip))
    with np.errstate(over="ignore", invalid="ignore"):  # 0 × ∞, where there is neither noise nor a bound
        product = np.where(factor > 0, factor * bound, 0.0)
    if not np.allclose(found, product, rtol=1e-6, atol=0):
        raise BadInput(f"trace: {std}: found another value than {multiplier} × {clip}, allowed: that product")


def check_distances(distances: Mapping[str, np.ndarray], trace: pd.DataFrame) -> None:
    """Raise BadInput naming the first array that is not of distances or NaN, in the shape the trace gives.

    Those of clients are `[T, m]`, those of instances `[T, K, n, m]` with K steps and the largest cohort's n.
    Rounds that stand for several releases have none: every release has distances of its own.
    """
    if distances and (most := trace["releases"].max()) > 1:
        raise BadInput(f"trace: releases: found {most:g}, allowed: 1 in every round that has distances")
    rounds, steps, members = len(trace), int(trace["local_steps"].max()), int(trace["cohort_size"].max())
    for name in (prefix + distance for prefix in ("", "panel_", "instance_") for distance in DISTANCES):
        if name not in distances:
            continue
        array = distances[name]
        if name.startswith("instance_"):
            fits = array.ndim == 4 and array.shape[:2] == (rounds, steps) and array.shape[2] >= members
            allowed = f"({rounds}, {steps}, {members}, samples)"
        else:
            fits = array.ndim == 2 and len(array) == rounds
            allowed = f"({rounds}, samples)"
        if not fits:
            raise BadInput(f"distances: {name}: found shape {array.shape}, allowed: {allowed}")
        if array.dtype.kind not in "fiu":
            raise BadInput(f"distances: {name}: found an array of {array.dtype}, allowed: numbers")
        if (array < 0).any() or np.isinf(array).any():
            raise BadInput(
                f"distances: {name}: found a negative or infinite distance, allowed: finite, at least 0"
            )


def complete(trace: pd.DataFrame, ignore: Collection[str] = ()) -> pd.DataFrame:
    """Return a trace with every column that accountants read, so far as it says what they need.

    What is there stays. What an older trace never measured is NaN; where it does not say whether clients' own
    noise is in the sum, it is wherever it may be. Without `noise_std` the bound is the unit of the noise;
    without a population, which only `fixed` draws, divided means and noise of clients ask for, all come.
    Rounds from 0 are numbered from 1. Columns of other names than those of traces are BadInput, unless they
    are named in `ignore`: then they are left out.
    """
    ignore = {ignore} if isinstance(ignore, str) else {*ignore}
    check_columns(trace, ignore)
    trace = trace.drop(columns=[name for name in ignore if name in trace])
    old = "noise_in_sum" not in trace
    trace = _mechanism(_least(trace))
    trace = trace.assign(**{name: value for name, value in MISSING.items() if name not in trace})
    own = own_columns(str(trace["mechanism"].iloc[0])) if len(trace) else {}
    trace = trace.assign(**{name: column.default for name, column in own.items() if name not in trace})
    if old and "unit" in trace:
        trace["noise_in_sum"] = (trace["upload_noise_std"] > 0) | (trace["unit"] == "both")
    from_0 = np.arange(len(trace))
    if "round" not in trace or np.array_equal(numbers(trace, "round", "1, 2, 3, ..."), from_0):
        trace["round"] = from_0 + 1
    if "clip_private" not in trace:
        trace["clip_private"] = False
    for name, nothing in (("releases", 1), ("repeated_rows", False), ("unmet", "")):
        if name not in trace:
            trace[name] = nothing
    trace["unmet"] = trace["unmet"].fillna("")  # as a CSV file has it
    return _cohorts(_noise(trace))


def _mechanism(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the trace with what was released: of a plain one flipped bits or Gaussian noise, as it says.

    A trace with a scheme that does not say is of before schemes did; of a scheme unknown then it is `other`.
    """
    if "mechanism" in trace and not (trace["mechanism"].astype(str) == "").any():
        return trace
    if "scheme" not in trace:
        bits = "noisy_bits" in trace and (trace["noisy_bits"] > 0).all()
        return trace.assign(mechanism="randomized_response" if bits else "gaussian")
    return trace.assign(mechanism=trace["scheme"].map(BEFORE_MECHANISM).fillna("other"))


def _least(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the trace with the least noise on any upload where it is that of every upload.

    Of the schemes there were when traces did not say so, only NbAFL had clients with noise of their own.
    """
    known = "upload_noise_least" in trace and not trace["upload_noise_least"].isna().all()
    if known or "upload_noise_std" not in trace:
        return trace
    std, own = trace["upload_noise_std"], "scheme" in trace and (trace["scheme"] == "nbafl").any()
    alike = not own and is_numeric_dtype(std) and std.nunique() == 1
    return trace.assign(upload_noise_least=std) if alike else trace


def _noise(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the trace with those of bound, noise and multiplier that follow from the others."""
    if "noise_multiplier" in trace and "noise_std" not in trace:
        trace = trace if "clip_l2" in trace else trace.assign(clip_l2=1.0)
        multiplier = trace["noise_multiplier"]
        return trace.assign(noise_std=(multiplier * trace["clip_l2"]).mask(multiplier == 0, 0.0))
    if "noise_multiplier" not in trace and {"noise_std", "clip_l2"} <= {*trace}:
        std, bound = (trace[name].to_numpy(dtype=np.float64) for name in ("noise_std", "clip_l2"))
        return trace.assign(noise_multiplier=over_bound(std, bound))
    return trace


def _cohorts(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the trace with the population, the size and the rate of its cohorts."""
    if "sampling_law" not in trace:
        return trace
    law, summed = trace["sampling_law"], (trace["denominator"] == "expected").all()
    if {*map(str, law)} == {"poisson", "full"} and "sampling_rate" in trace:
        rate, everybody = trace["sampling_rate"], law == "full"
        if rate[everybody].fillna(1).eq(1).all():  # who always comes, comes with probability 1
            law = law.mask(everybody, "poisson")
            trace = trace.assign(sampling_law=law, sampling_rate=rate.mask(everybody, 1.0))
    alone = not (trace[["noise_shares", "local_steps"]] > 0).any(axis=None)
    if not law.isin(["fixed", "spaced"]).any() and summed and alone:
        if "population" not in trace:
            most = trace["cohort_size"].clip(lower=1).max() if "cohort_size" in trace else 1
            trace = trace.assign(population=most)
        if "cohort_size" not in trace:
            trace = trace.assign(cohort_size=trace["population"])
    if "sampling_rate" not in trace and (law == "full").all():
        return trace.assign(sampling_rate=1.0)
    if (
        "sampling_rate" not in trace
        and {"population", "cohort_size"} <= {*trace}
        and law.isin(["fixed", "spaced"]).all()
    ):
        return trace.assign(sampling_rate=trace["cohort_size"] / trace["population"])
    return trace
