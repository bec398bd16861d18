"""What a trace leaves unsaid: one of an older version, or one that another framework wrote.

Of a plain trace the accountants need to know who is protected (`unit`), how units were drawn (`sampling_law`,
`sampling_rate`) and how much noise hid them (`noise_multiplier`, or `noise_std` with `clip_l2`). All else is
taken to be as in the simplest mechanism: a sum of parts, each of norm `clip_l2` at most, over a public
denominator, with Gaussian noise that whoever sums adds. Nothing that is assumed makes noise larger, and
nothing that is written is left unread: a column that nobody knows is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from pandas.api.types import is_numeric_dtype

from fedpriv.account.trace_check import check_columns, numbers, over_bound
from fedpriv.trace import BEFORE_MECHANISM, MISSING, own_columns

if TYPE_CHECKING:
    import pandas as pd


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
