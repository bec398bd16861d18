"""What a trace must be like before anything is computed from it, and what one leaves unsaid.

Of a plain trace the accountants need to know who is protected (`unit`), how units were drawn
(`sampling_law`, `sampling_rate`) and how much noise hid them (`noise_multiplier`, or `noise_std` with
`clip_l2`). All else is taken to be as in the simplest mechanism: a sum of parts, each of norm `clip_l2`
at most, over a public denominator, with Gaussian noise that whoever sums adds. Nothing that is assumed
makes noise larger, and nothing that is written is left unread: a column that nobody knows is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype

from fedpriv.account.ranges import RATE, Range, value_text
from fedpriv.errors import BadInput, plain, short_repr
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.registry import Registry
from fedpriv.trace import (
    BEFORE_MECHANISM,
    COLUMNS,
    DISTANCES,
    MECHANISMS,
    MISSING,
    PARTICIPATION,
    SAMPLED,
    own_columns,
)

Columns = dict[str, np.ndarray]

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
    "participations": COUNT,
    "rounds_apart": POSITIVE,
}
# Where instances are protected.
INSTANCE_NUMBERS = {"local_steps": POSITIVE, "rate_sequential": RATE, "rate_parallel": RATE}
WORDS: dict[str, Collection[str]] = {
    "unit": ("client", "instance", "both", "none"),
    "sampling_law": COHORTS,
    "denominator": ("expected", "present"),
    "flips": ("", "coordinate", "tensor"),
}
FLAGS = ("clip_private", "per_example_clip", "topped_up", "noise_in_sum", "noise_clipped", "repeated_rows")
# The same in all rounds: nobody composes randomised response of several kinds.
CONSTANT = ("gamma", "noisy_bits")
# What a trace says in columns that it lacks, where they follow from no other.
PLAIN = MISSING | {"clip_private": False, "releases": 1, "repeated_rows": False, "violation": ""}
READ = ("round", "mechanism", "violation", *WORDS, *FLAGS, *NUMBERS)
# What Opacus, Flower, TensorFlow Privacy and their accountants call these columns.
ELSEWHERE = {
    **dict.fromkeys(("step", "steps", "num_steps", "iterations", "num_compositions", "count"), "releases"),
    **dict.fromkeys(("sigma", "noise", "z", "stddev_over_sensitivity"), "noise_multiplier"),
    **dict.fromkeys(("stddev", "std", "noise_stddev"), "noise_std"),
    **dict.fromkeys(("q", "sample_rate", "rate", "sampling_probability"), "sampling_rate"),
    **dict.fromkeys(("clip", "max_grad_norm", "l2_norm_clip", "clipping_norm", "c", "s"), "clip_l2"),
    **dict.fromkeys(("n", "clients", "num_clients", "examples"), "population"),
    **dict.fromkeys(("m", "batch_size", "num_sampled_clients", "cohort"), "cohort_size"),
}


@dataclass(frozen=True)
class Trace:
    """The rounds of a run, completed and checked (`checked`): a column `[T]` of each name that is read."""

    columns: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.columns["round"])

    def assign(self, **columns: Any) -> Trace:
        """Return the trace with these columns, or in all rounds these values."""
        full = {name: full_column(column, len(self)) for name, column in columns.items()}
        return Trace({**self.columns, **full})


def checked_trace(trace: pd.DataFrame | Columns | Trace, ignore: Collection[str] = ()) -> Trace:
    """Return a trace with every column that accountants read, so far as it says what they need.

    What is there stays. What an older trace never measured is NaN; where it does not say whether clients' own
    noise is in the sum, it is wherever it may be. Without `noise_std` the bound is the unit of the noise;
    without a population, which only `fixed` draws, divided means and noise of clients ask for, all come.
    Rounds from 0 are numbered from 1. What cannot be what happened is BadInput that names the column. So are
    columns of other names than those of traces, unless they are named in `ignore`: then they are left out.
    """
    if isinstance(trace, Trace):
        return trace
    ignore = {ignore} if isinstance(ignore, str) else {*ignore}
    if read := [name for name in ignore if name in READ]:
        raise BadInput(f"ignore: found {read[0]}, which the accountants read, allowed: other columns")
    columns = read_columns(trace, ignore) if isinstance(trace, pd.DataFrame) else {**trace}
    check_columns(columns)
    completed = Trace(complete(columns))
    check_trace(completed)
    return completed


def over_bound(std: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return noise multipliers `[T]`, at most what floats can hold; 0, no noise, for a bound of zero."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(bound > 0, np.minimum(std / bound, np.finfo(np.float64).max), 0.0)


def check_columns(trace: Columns) -> None:
    """Raise BadInput naming the first column that is not known or should hold numbers.

    A column whose name is misspelt would make ε too small without a word.
    """
    released = str(trace["mechanism"][0]) if "mechanism" in trace and len(trace["mechanism"]) else "gaussian"
    known = {*COLUMNS, *READ, *own_columns(released)}
    for name in trace:
        if name not in known:
            raise BadInput(
                f"trace: found the unknown column {plain(name)}, allowed: {likely_columns(str(name))} "
                "(docs/accounting-alone.md), or ignore=[NAME] (--ignore NAME) if it says nothing on privacy"
            )
    for name, (_, words) in NUMBERS.items():
        if name in trace:
            numbers(trace, name, words)


def likely_columns(name: str) -> str:
    """Return the columns that somebody who writes `name` may mean."""
    name = name.strip().lower().replace(" ", "_").replace("-", "_")
    if of := [mechanism for mechanism, released in MECHANISMS.items() if name in released.columns]:
        return f"{name} with mechanism {' or '.join(of)}"
    names = [ELSEWHERE[name]] if name in ELSEWHERE else get_close_matches(name, [*COLUMNS, "releases"])
    return " or ".join(names) or "the columns of a trace"


def check_trace(trace: Trace) -> None:
    """Raise BadInput naming the first column of a trace that cannot be what happened."""
    for name in READ:
        if name not in trace:
            raise BadInput(
                f"trace: found no column {name}, allowed: the columns that a run writes, or those of a "
                "plain trace (docs/accounting-alone.md)"
            )
    rounds = numbers(trace, "round", "1, 2, 3, ...")
    if not len(rounds) or not np.array_equal(rounds, np.arange(1, len(rounds) + 1)):
        raise wrong_column("round", f"{len(rounds)} rows not numbered 1, 2, 3, ...", "no gaps")
    _check_words(trace)
    _check_types(trace)
    _check_numbers(trace)
    _check_cohorts(trace)
    _check_turns(trace)
    _check_releases(trace)
    _check_units(trace)
    # On a sum of which nothing bounds a part, any noise is nothing: its multiplier is 0, whatever its std.
    _check_noise(trace, "noise_std", "noise_multiplier", "clip_l2", ~nothing_bounded(trace))
    _check_noise(trace, "instance_noise_std", "instance_noise_multiplier", "instance_clip_l2")


def wrong_column(name: str, content: object, allowed: str) -> BadInput:
    """Error about a column of a trace."""
    return BadInput(f"trace: {name}: found {content}, allowed: {allowed}")


def noise_by_the_holder(trace: Trace) -> bool:
    """Return True where whoever adds the noise holds the instances: no client takes steps, nor adds any."""
    alone = (trace["local_steps"] == 0) & (trace["instance_noise_multiplier"] == 0)
    return trace["unit"][0] == "instance" and bool(alone.all())


def nothing_bounded(trace: Trace | pd.DataFrame) -> Any:
    """Return in which rounds there was noise on a sum of which nothing bounds a client's part."""
    return (trace["noise_std"] > 0) & (trace["noise_multiplier"] == 0) & np.isinf(trace["clip_l2"])


def numbers(trace: Mapping[str, np.ndarray] | Trace, name: str, words: str) -> np.ndarray:
    """Return a column of numbers as floats, NaN where one is missing; BadInput if it holds anything else."""
    column = trace[name]
    if column.dtype.kind not in "fiu" and len(column):
        word = next((cell for cell in column if not isinstance(cell, Real)), column[0])
        raise wrong_column(name, short_repr(word), f"numbers, {words}")
    return column.astype(np.float64)


def _check_words(trace: Trace) -> None:
    """Raise BadInput unless words are known and the same in all rounds."""
    for name, allowed in {"mechanism": MECHANISMS, **WORDS}.items():
        texts = sorted({str(word) for word in trace[name]})
        if isinstance(allowed, Registry) and texts[0] not in allowed and (beside := allowed.beside(texts[0])):
            raise BadInput(f"trace: {name}: {beside}")
        if len(texts) > 1 or texts[0] not in allowed:
            raise wrong_column(name, ", ".join(texts), f"one of {', '.join(allowed)}, the same in all rounds")


def _check_types(trace: Trace) -> None:
    """Raise BadInput unless flags are True or False, and notes texts."""
    types: dict[str, tuple[type, str]] = dict.fromkeys(FLAGS, (bool, "True or False"))
    for name, (kind, words) in {**types, "violation": (str, "a text, empty where nothing fails")}.items():
        if others := [value for value in trace[name].tolist() if not isinstance(value, kind)]:
            raise wrong_column(name, short_repr(others[0]), words)


def _check_numbers(trace: Trace) -> None:
    """Raise BadInput unless numbers are in their ranges, and constant where they must be."""
    instances = trace["unit"][0] in ("instance", "both") and not noise_by_the_holder(trace)
    for name, (allowed, words) in (NUMBERS | (INSTANCE_NUMBERS if instances else {})).items():
        for value in np.unique(numbers(trace, name, words)).tolist():
            if not allowed(value):
                raise wrong_column(name, f"{value:g}", words)
    for name in (*CONSTANT, *own_columns(trace["mechanism"][0])):
        _check_constant(trace, name, "one value in all rounds")


def _check_constant(trace: Trace, name: str, words: str, where: str = "") -> None:
    if len(values := pd.unique(trace[name])) > 1:
        raise wrong_column(name, ", ".join(map(value_text, values)) + where, words)


def _check_cohorts(trace: Trace) -> None:
    """Raise BadInput unless cohorts are of the population, their rate and their shares what they can be."""
    law, population, size = trace["sampling_law"][0], trace["population"], trace["cohort_size"]
    others = np.where(trace["topped_up"], population, np.maximum(size - 1, 1))
    for name, most, words in (
        ("cohort_size", population, "at most the population of {:g}"),
        ("noise_shares", others, "at most {:g}, those of the others in the cohort"),
        ("holders", population, "at most the population of {:g}"),
    ):
        if (over := trace[name] > most).any():
            raise wrong_column(name, f"{trace[name][over][0]:g}", words.format(most[over][0]))
    if law == "poisson":
        return
    rate, share = trace["sampling_rate"], population / population if law == "full" else size / population
    if (other := ~np.isclose(rate, share, rtol=1e-9, atol=0)).any():
        words = f"{share[other][0]:g}, the share of the population in a cohort by sampling_law {law}"
        raise wrong_column("sampling_rate", f"{rate[other][0]:g}", words)


def _check_turns(trace: Trace) -> None:
    """Raise BadInput unless clients can come as seldom and as far apart as a trace says."""
    law = str(trace["sampling_law"][0])
    for name, column in PARTICIPATION.items() if law in SAMPLED else ():
        if (trace[name] != column.default).any():
            words = f"{column.default}, for by that law a client may come in every round"
            raise wrong_column(name, f"{trace[name][0]:g} with sampling_law {law}", words)
    if law in SAMPLED:
        return
    _check_constant(trace, "population", "one in all rounds", f" with sampling_law {law}")
    came, population = trace["cohort_size"].astype(np.float64), float(trace["population"][0])
    gap, most = (int(trace[name][0]) for name in ("rounds_apart", "participations"))
    together = np.convolve(came, np.ones(min(gap, len(came)))).max()
    if together > population:
        words = f"fewer, for {together:g} clients came in so many rounds, and there are {population:g}"
        raise wrong_column("rounds_apart", gap, words)
    if most and came.sum() > most * population:
        words = (
            f"at least {-(-came.sum() // population):g}, for {came.sum():g} of {population:g} clients came"
        )
        raise wrong_column("participations", most, f"{words} in all")


def _check_releases(trace: Trace) -> None:
    """Raise BadInput unless rounds may stand for several releases, of a number that can be counted."""
    law, mechanism = str(trace["sampling_law"][0]), str(trace["mechanism"][0])
    alike = law in SAMPLED and MECHANISMS[mechanism].independent
    if not alike and (trace["releases"] > 1).any():
        words = f"1 with mechanism {mechanism} and sampling_law {law}, whose rounds are not alike"
        raise wrong_column("releases", f"{trace['releases'].max():g}", words)
    steps = trace["local_steps"].astype(np.float64) * trace["cohort_size"]
    parts = np.where(trace["noisy_bits"] > 0, trace["noisy_bits"], np.maximum(steps, 1))
    for name, total in (("local_steps", steps.sum()), ("releases", (trace["releases"] * parts).sum())):
        if total > MOST_RELEASES:
            raise wrong_column(name, f"{total:g} in all cohorts", f"at most {MOST_RELEASES:g}")


def _check_units(trace: Trace) -> None:
    """Raise BadInput unless what is released is of the unit that is protected."""
    unit = trace["unit"][0]
    if (trace["noisy_bits"] > 0).any() and not trace["flips"][0]:
        raise wrong_column("flips", "nothing with noisy_bits above 0", "coordinate or tensor")
    if (trace["statistics_releases"] > 0).any() and unit != "instance":
        raise wrong_column("statistics_releases", f"some with unit {unit}", "unit instance")
    if noise_by_the_holder(trace) and (trace["holders"] > 1).any():
        holders = f"{trace['holders'].max():g} with unit instance and no local_steps"
        raise wrong_column("holders", holders, "at most 1, for everybody's part of the sum is bounded once")
    if len(np.unique(trace["noise_shares"] > 0)) > 1:
        raise wrong_column("noise_shares", "0 in some rounds", "in all rounds or in none")


def _check_noise(trace: Trace, std: str, multiplier: str, clip: str, where: Any = slice(None)) -> None:
    """Raise BadInput unless the column `std` is `multiplier` × `clip`."""
    noise, factor, bound = (trace[name][where].astype(np.float64) for name in (std, multiplier, clip))
    with np.errstate(over="ignore", invalid="ignore"):  # 0 × ∞, where there is neither noise nor a bound
        product = np.where(factor > 0, factor * bound, 0.0)
    if not np.allclose(noise, product, rtol=1e-6, atol=0):
        raise wrong_column(std, f"another value than {multiplier} × {clip}", "that product")


def check_distances(distances: Mapping[str, np.ndarray], trace: Trace) -> None:
    """Raise BadInput naming the first array that is not of distances or NaN, in the shape the trace gives.

    Those of clients are `[T, m]`, those of instances `[T, K, n, m]` with K steps and the largest cohort's n.
    Rounds that stand for several releases have none: every release has distances of its own.
    """
    if distances and (most := trace["releases"].max()) > 1:
        raise BadInput(f"trace: releases: found {most:g}, allowed: 1 in every round that has distances")
    rounds, steps, members = len(trace), int(trace["local_steps"].max()), int(trace["cohort_size"].max())
    shapes = {"": (rounds,), "panel_": (rounds,), "instance_": (rounds, steps, members)}
    for prefix, shape in shapes.items():
        for name in (prefix + distance for distance in DISTANCES):
            if name in distances and (wrong := _wrong_distances(distances[name], shape)):
                raise BadInput(f"distances: {name}: {wrong}")


def _wrong_distances(array: np.ndarray, shape: tuple[int, ...]) -> str:
    """Name a fault of an array of distances, samples in this shape, or of a larger cohort; empty: none."""
    exact = shape[:2]  # all but the members of a cohort
    fits = array.ndim == len(shape) + 1 and array.shape[: len(exact)] == exact and array.shape[:-1] >= shape
    if not fits:
        return f"found shape {array.shape}, allowed: ({', '.join(map(str, shape))}, samples)"
    if array.dtype.kind not in "fiu":
        return f"found an array of {array.dtype}, allowed: numbers"
    if (array < 0).any() or np.isinf(array).any():
        return "found a negative or infinite distance, allowed: finite, at least 0"
    return ""


def full_column(value: Any, rounds: int) -> np.ndarray:
    """Return a column: an array as it is, of anything else the same in all rounds."""
    if isinstance(value, np.ndarray | pd.Series):
        return np.asarray(value)
    return np.full(rounds, value, dtype=object if isinstance(value, str) else None)


def read_columns(frame: pd.DataFrame, ignore: Collection[str] = ()) -> Columns:
    """Return the columns of a frame but those to `ignore`; two of one name are BadInput."""
    if twice := [name for name in frame.columns[frame.columns.duplicated()] if name not in ignore]:
        raise BadInput(f"trace: found the column {twice[0]} twice, allowed: every column once")
    return {str(name): array(column) for name, column in frame.items() if name not in ignore}


def array(column: pd.Series[Any]) -> np.ndarray:
    """Return a column of a frame; whole numbers stay such where none is missing."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy()
    if is_integer_dtype(column) and not column.hasnans:
        return column.to_numpy(dtype=np.int64)
    if is_float_dtype(column) or is_integer_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy().astype(object)


def complete(trace: Columns) -> Columns:
    """Return the columns with those that follow from them, or are as in the simplest mechanism."""
    rounds = len(next(iter(trace.values()), ()))
    sum_known = "noise_in_sum" in trace
    _mechanism(trace, rounds)
    _least(trace)
    own = own_columns(str(trace["mechanism"][0]) if rounds else "")
    for name, value in {**PLAIN, **{name: column.default for name, column in own.items()}}.items():
        trace.setdefault(name, full_column(value, rounds))
    if not sum_known and "unit" in trace:
        trace["noise_in_sum"] = (trace["upload_noise_std"] > 0) | (trace["unit"] == "both")
    if "round" not in trace or np.array_equal(numbers(trace, "round", "1, 2, 3, ..."), np.arange(rounds)):
        trace["round"] = np.arange(1, rounds + 1)
    empty = pd.isna(trace["violation"])  # as a CSV file has it
    trace["violation"] = np.where(empty, "", trace["violation"].astype(object))
    _noise(trace)
    _cohorts(trace)
    return trace


def _mechanism(trace: Columns, rounds: int) -> None:
    """Say what was released: of a plain trace flipped bits or Gaussian noise, as it says.

    A trace with a scheme that does not say is of before schemes did; of a scheme unknown then it is `other`.
    """
    if "mechanism" in trace and "" not in trace["mechanism"].astype(str):
        return
    if "scheme" in trace:
        released = [BEFORE_MECHANISM.get(scheme, "other") for scheme in trace["scheme"]]
        trace["mechanism"] = np.array(released, dtype=object)
    else:
        bits = "noisy_bits" in trace and (trace["noisy_bits"] > 0).all()
        trace["mechanism"] = full_column("randomized_response" if bits else "gaussian", rounds)


def _least(trace: Columns) -> None:
    """Say the least noise on any upload where it is that of every upload.

    Of the schemes there were when traces did not say so, only NbAFL had clients with noise of their own.
    """
    known = "upload_noise_least" in trace and not np.isnan(trace["upload_noise_least"]).all()
    if known or "upload_noise_std" not in trace or ("scheme" in trace and (trace["scheme"] == "nbafl").any()):
        return
    std = trace["upload_noise_std"]
    if len(np.unique(std[~np.isnan(std)])) == 1:
        trace["upload_noise_least"] = std


def _noise(trace: Columns) -> None:
    """Say of bound, noise and multiplier those that follow from the others."""
    if "noise_multiplier" in trace and "noise_std" not in trace:
        multiplier = trace["noise_multiplier"]
        bound = trace.setdefault("clip_l2", np.ones(len(multiplier)))
        with np.errstate(invalid="ignore"):
            trace["noise_std"] = np.where(multiplier == 0, 0.0, multiplier * bound)
    elif "noise_multiplier" not in trace and {"noise_std", "clip_l2"} <= {*trace}:
        std, bound = (trace[name].astype(np.float64) for name in ("noise_std", "clip_l2"))
        trace["noise_multiplier"] = over_bound(std, bound)


def _law(trace: Columns) -> None:
    """Say that all cohorts are Poisson where the others are of everybody: at rate 1 everybody comes, too."""
    law = trace["sampling_law"]
    if {*map(str, law)} != {"poisson", "full"} or "sampling_rate" not in trace:
        return
    rate, everybody = trace["sampling_rate"], law == "full"
    if (np.isnan(rate) | (rate == 1))[everybody].all():
        trace["sampling_law"] = np.where(everybody, "poisson", law)
        trace["sampling_rate"] = np.where(everybody, 1.0, rate)


def _cohorts(trace: Columns) -> None:
    """Say the population, the size and the rate of cohorts where they follow."""
    if "sampling_law" not in trace:
        return
    _law(trace)
    law = trace["sampling_law"]
    sized = (law != "poisson") & (law != "full")
    alone = not ((trace["noise_shares"] > 0) | (trace["local_steps"] > 0)).any()
    if not sized.any() and (trace["denominator"] == "expected").all() and alone:
        if "population" not in trace:
            came = trace.get("cohort_size", np.ones(1))
            trace["population"] = full_column(np.fmax.reduce(came, initial=1), len(law))
        trace.setdefault("cohort_size", trace["population"])
    if "sampling_rate" in trace:
        return
    if (law == "full").all():
        trace["sampling_rate"] = np.ones(len(law))
    elif {"population", "cohort_size"} <= {*trace} and sized.all():
        trace["sampling_rate"] = trace["cohort_size"] / trace["population"]
