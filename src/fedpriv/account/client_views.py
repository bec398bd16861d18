"""The views of clients: of the server's noise, of a sum of noisy uploads, of single uploads.

Federated Learning with Bayesian Differential Privacy, sections V-A and V-C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account.events import Mechanism
from fedpriv.account.trace_check import DISTANCES, over_bound
from fedpriv.account.view import (
    ADD_OR_REMOVE,
    REPLACE,
    SIZE_SEEN,
    ZERO_OUT,
    Samples,
    View,
    distinct,
    effective_noise,
)

if TYPE_CHECKING:
    import pandas as pd


LEAST_UNKNOWN = "the noise of clients that did not come is not known"


def joint(trace: pd.DataFrame) -> bool:
    """Return whether the noise of local training is counted towards clients."""
    return trace["unit"].iloc[0] == "both" and bool((trace["noise_shares"] > 0).all())


def server_views(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return the views where the server adds the noise; a trace without privacy has one too.

    They are of clients, or of the instances that it holds itself: what is drawn and bounded in its sum.
    """
    present = bool((trace["denominator"] == "present").any())
    own_noise = bool(trace["noise_in_sum"].any())
    seen = present or own_noise
    in_turn = trace["sampling_law"].iloc[0] == "spaced"  # who is taken out leaves its turns empty
    if not in_turn and (not own_noise or present):
        return _of_server(trace, distances, ADD_OR_REMOVE, seen)
    if not counted(trace):
        return _of_server(trace, distances, ZERO_OUT, seen)
    # Of the count a client zeroed out is as far apart as one that is replaced, of the sum half as far.
    zeroed = _of_server(trace, distances, {"C": ZERO_OUT["C"]}, seen=False, count_moved=2.0)
    return [*zeroed, *_of_server(trace, distances, REPLACE, seen)]


def _of_server(
    trace: pd.DataFrame,
    distances: Mapping[str, np.ndarray],
    relations: dict[str, str],
    seen: bool,
    count_moved: float = 1.0,
) -> list[View]:
    """Return the views of the server's noise for neighbours by `relations`; of who sees a cohort's size, two.

    `count_moved` is by how much such neighbours are apart in the count, in units of its own sensitivity,
    where their parts of the sum are C apart.
    """
    trace, distances = count_released(trace, distances, count_moved)
    multiplier, std = (trace[name].to_numpy(dtype=np.float64) for name in ("noise_multiplier", "noise_std"))
    unit = {"none": "none", "instance": "instance"}.get(trace["unit"].iloc[0], "client")
    present = bool((trace["denominator"] == "present").any())
    view = client_views(trace, distances, unit, "", multiplier, std)._replace(
        relations=relations,
        certified=("2C",) if present else ("C", "2C"),
        uncertified="the mean of those present has another denominator without the client",
        apart="remove_mean" if present else "remove_sum",
    )
    return size_seen(view, trace, multiplier, std, seen)


def counted(trace: pd.DataFrame) -> bool:
    """Return whether the server learns how many clients were within the bound."""
    return bool(np.isfinite(trace["count_noise_multiplier"].to_numpy(dtype=np.float64)).any())


def count_released(
    trace: pd.DataFrame, distances: Mapping[str, np.ndarray], moved: float = 1.0
) -> tuple[pd.DataFrame, Mapping[str, np.ndarray]]:
    """Return trace and distances with the noisy count of clients within the bound as one more coordinate.

    Scaled until its noise is that of the others it is a coordinate of the sum like them, and what is released
    is one Gaussian: 1/z² of the sum and of the count add up. Centred, a client counts ± 1/2: it is apart from
    nobody by 1/2, and from somebody else by 1. Zeroed out it is still there and counts as within the bound:
    it is apart by 1 from itself, while its part of the sum moves by C. `moved` is that number of halves.
    """
    if not counted(trace):
        return trace, distances
    of_count = trace["count_noise_multiplier"].to_numpy(dtype=np.float64) / moved
    of_updates, std = (trace[name].to_numpy(dtype=np.float64) for name in ("noise_multiplier", "noise_std"))
    with np.errstate(divide="ignore", over="ignore"):
        multiplier = (of_updates**-2.0 + of_count**-2.0) ** -0.5 * (1 - 1e-15)  # never rounded up
        bound, step = (np.where(std > 0, std / one, np.inf) for one in (multiplier, of_count))
    apart = {
        prefix + name: np.hypot(distances[prefix + name], (most * step)[:, None])
        for name, most in DISTANCES.items()
        for prefix in ("", "panel_")
        if prefix + name in distances
    }
    return trace.assign(noise_multiplier=multiplier, clip_l2=bound), {**distances, **apart}


def secure_sum_views(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return the clients' views of who sees the sum of noisy uploads alone (joint accounting).

    The client's update is replaced by zero and its noise is kept; `noise_shares` of the others are counted.
    Where the server tops the noise up to so many shares their number does not depend on who came, and the
    client may as well be taken out with its noise: fix who else takes part, and suppose they are fewer than
    the shares. Both sums then have the noise of all shares, and differ as in Poisson sampling by C at most.
    That they are not fewer depends on nobody's data, and its probability is the view's residual.
    """
    std = np.sqrt(trace["noise_shares"].to_numpy()) * trace["instance_noise_std"].to_numpy()
    multiplier = over_bound(std, trace["clip_l2"].to_numpy(dtype=np.float64))
    topped_up = bool(trace["topped_up"].all())
    more = bool((trace["upload_noise_std"] > 0).any())  # of everybody who comes, whatever is topped up
    view = client_views(trace, distances, "client", "sum", multiplier, std)._replace(
        relations=ADD_OR_REMOVE if topped_up and not more else ZERO_OUT,
        # It is then not that of all shares in the sum.
        unmet="noise was clipped with the upload" if trace["noise_clipped"].any() else "",
        residual=overflow(trace) if topped_up else 0.0,
    )
    return size_seen(view, trace, multiplier, std, seen=more or not topped_up)


def size_seen(
    view: View, trace: pd.DataFrame, multiplier: np.ndarray, std: np.ndarray, seen: bool
) -> list[View]:
    """Return the view and, where the size of a Poisson cohort is `seen`, one that knows it, which then holds.

    Whoever knows that n of N came compares sums of n: with the client, or with somebody else in its place,
    up to 2C away. Given its size a Poisson cohort is a uniform sample of n without replacement, and sizes
    depend on nobody's data. A client replaced by zero or by anybody is within the relation.
    """
    if view.law != "poisson" or not seen:
        return [view]
    first = view._replace(unmet=view.unmet or SIZE_SEEN)
    if view.unmet:
        return [first]
    size = trace["cohort_size"].clip(lower=1)
    drawn = trace.assign(sampling_law="fixed", cohort_size=size, sampling_rate=size / trace["population"])
    came = (trace["cohort_size"] > 0).to_numpy(dtype=np.int64)
    sized = client_views(drawn, {}, view.unit, "sized", multiplier, std, came)
    return [first, sized._replace(relations=REPLACE)]


def overflow(trace: pd.DataFrame) -> float:
    """Return the probability, rounded up, that in some round the others are not fewer than the shares."""
    from scipy.stats import binom

    shares = trace["noise_shares"]
    if trace["sampling_law"].iloc[0] != "poisson":
        return float((trace["cohort_size"] > shares).any())
    beyond = binom.sf(shares - 1, trace["population"] - 1, trace["sampling_rate"])
    return min(1.0, float((beyond * trace["releases"]).sum()) * (1 + 1e-9))


def upload_views(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return the clients' views of who receives each upload by itself: one share of noise and no sampling.

    `upload` is that of a client in every round in which anybody sent something; `drawn` is that of a client
    who sends something only when it is drawn, and is seen to: δ is then that of the coins and the noise
    together. That noise is the least of any client of the population: a round in which the client with the
    least did not come has more on what is sent, and its coin was thrown all the same.
    In joint training the noise is that of local training, else what was added to the upload; without a bound
    beneath it, it hides nothing. Nor does it where the upload has a bit beside it that is sent in the clear,
    whether the client was within the bound.
    """
    of_gradients = joint(trace)
    bound = trace["clip_l2" if of_gradients else "upload_l2"].to_numpy(dtype=np.float64)
    bare = np.isfinite(trace["count_noise_multiplier"].to_numpy(dtype=np.float64))
    on_sent = trace["instance_noise_std" if of_gradients else "upload_noise_std"].to_numpy(dtype=np.float64)
    least, unmet = (on_sent, "") if of_gradients else least_noise(trace)
    std, least = np.where(bare, 0.0, on_sent), np.where(bare, 0.0, least)
    alone = trace.assign(sampling_law="full", sampling_rate=1.0, clip_l2=bound)
    sent = (trace["cohort_size"] > 0).to_numpy(dtype=np.int64)
    always = client_views(alone, distances, "client", "upload", over_bound(std, bound), std, sent)
    found = [always._replace(relations=ZERO_OUT)]
    if (trace["sampling_rate"] < 1).any() and trace["sampling_law"].iloc[0] != "spaced":
        seen = trace.assign(sampling_law="seen", clip_l2=bound)
        drawn = client_views(seen, {}, "client", "drawn", over_bound(least, bound), least)
        found.append(drawn._replace(relations=ZERO_OUT, unmet=unmet))
    return found


def least_noise(trace: pd.DataFrame) -> tuple[np.ndarray, str]:
    """Return the least noise on the upload of any client `[T]`, and why that is not known.

    Where a trace says only what was on the uploads that came, it is the least of all of those.
    """
    least = trace["upload_noise_least"].to_numpy(dtype=np.float64)
    if not np.isnan(least).any():
        return least, ""
    came = trace.loc[trace["cohort_size"] > 0, "upload_noise_std"].to_numpy(dtype=np.float64)
    return np.full(len(trace), came.min() if len(came) else 0.0), LEAST_UNKNOWN


def client_views(
    trace: pd.DataFrame,
    distances: Mapping[str, np.ndarray],
    unit: str,
    accounting: str,
    multiplier: np.ndarray,
    std: np.ndarray,
    released: np.ndarray | None = None,
) -> View:
    """Return a view of clients, each of whom a release has once at most; by default every round is one.

    Noise on what nothing bounds hides nothing, however far apart the sampled clients were.
    """
    law, bound = trace["sampling_law"].iloc[0], trace["clip_l2"].to_numpy(dtype=np.float64)
    once = np.ones(len(trace), dtype=np.int64)
    rounds = zip(
        trace["population"].tolist(),
        trace["cohort_size"].tolist(),
        trace["sampling_rate"].tolist(),
        effective_noise(trace, multiplier).tolist(),
        strict=True,
    )
    mechanisms = (
        Mechanism(law, population, size if law == "fixed" else 0, rate, z)
        for population, size, rate, z in rounds
    )
    run, counts = distinct(
        mechanisms, trace["releases"].to_numpy(dtype=np.int64) * (once if released is None else released)
    )
    return View(
        unit=unit,
        accounting=accounting,
        law=law,
        relations=ADD_OR_REMOVE,
        certified=("C", "2C"),
        unmet="",
        mechanisms=run,
        counts=counts,
        samples=Samples(
            sampling_rate=trace["sampling_rate"].to_numpy(dtype=np.float64),
            noise_std=np.where(np.isinf(bound), 0.0, effective_noise(trace, std)),
            bound=bound,
            largest=DISTANCES,
            distances={name: distances[name][:, None, None] for name in DISTANCES if name in distances},
            panels={name: distances[f"panel_{name}"] for name in DISTANCES if f"panel_{name}" in distances},
            taking_part=once,
            members="sum",
            alike=once,
        ),
    )
