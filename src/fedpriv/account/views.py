"""What accountants read: a trace, as each of those sees it from whom somebody is to be protected.

Federated Learning with Bayesian Differential Privacy, section V. A trace has one view of its clients
where the server adds noise (of its instances, where it holds them itself), two where clients' own noise
is counted towards them (`joint`: the sum of uploads, or single uploads), one more where clients add noise
to what they send, and two of its instances where there is noise in local training (sequential, parallel).
Where clients answer by randomised response there are six: a neighbour differs in one bit, in all bits or
in everything that it sends, and single uploads are seen or the sum over the cohort alone. Each view says
whose presence is protected from whom, and by which releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from fedpriv.account.check import Trace, noise_by_the_holder, over_bound
from fedpriv.account.releases import (
    ALL_BITS,
    BARE,
    ONE_BIT,
    RandomBit,
    Release,
    distinct_releases,
    planned_release,
)
from fedpriv.account.statement import (
    LEAST_UNKNOWN,
    MEAN_CLIPPED,
    SAME_CLIENT,
    SAME_FLIPS,
    SIZE_SEEN,
    Curve,
)
from fedpriv.trace import DISTANCES, SAMPLED, own_columns

ADD_OR_REMOVE = {"C": "add_remove", "2C": "replace_one"}
ZERO_OUT = {"C": "zero_out", "2C": "replace_one"}
REPLACE = {"2C": "replace_one"}


class Samples(NamedTuple):
    """Sampled distances and what they are held against: T rounds, K steps, n members, m samples of each."""

    sampling_rate: np.ndarray  # [T]
    noise_std: np.ndarray  # [T], in the units of the distances
    bound: np.ndarray  # [T], the norm bound in these units
    largest: dict[str, float]  # of each distance, in units of the bound
    distances: dict[str, np.ndarray]  # [T, K, n, m], NaN where a sample is missing
    panels: dict[str, np.ndarray]  # [T, p], the same clients in every round
    taking_part: np.ndarray  # [T], how many of the n positions are filled; the others cost nothing
    members: Literal["sum", "max"]  # how the costs of a round's members make the cost of a step
    alike: np.ndarray  # [T], of how many members the largest cost is counted

    @property
    def bounds(self) -> int:
        """Number of upper bounds that are read: one for each step of each member of each round."""
        steps = max((array.shape[1] for array in self.distances.values()), default=1)
        return max(1, steps * int(self.taking_part.sum()))


_NONE = np.ones(0)
NOT_SAMPLED = Samples(_NONE, _NONE, _NONE, {}, {}, {}, _NONE, "sum", _NONE)


class View(NamedTuple):
    """Whose presence is protected from whom: what was released, how many times, and the samples."""

    unit: str
    accounting: str  # sequential, parallel, sum, sized, upload, drawn; empty for noise that the server adds
    law: str  # how units get into a release: poisson, fixed, full or seen
    relations: dict[str, str]  # sensitivity -> the neighbours whom it is for
    certified: tuple[str, ...]  # the sensitivities that the mechanism enforces
    violation: str  # the assumption of the view that fails; empty if all hold
    releases: list[Any]  # [D], distinct, each a `Release` or a `RandomBit`
    counts: np.ndarray  # [T, D], how many of each there were in a round
    samples: Samples = NOT_SAMPLED
    distance: str = "remove_sum"  # how far apart its neighbours are
    residual: float = 0.0  # the probability that the releases are others than these; δ pays for it
    uncertified: str = ""  # why a sensitivity is not certified that is not
    mechanism: str = "gaussian"  # what was released, as its scheme declares
    # Columns `[T]` of the trace beyond what every trace has: of the mechanism, and of how often who comes.
    facts: Mapping[str, np.ndarray] = MappingProxyType({})

    @property
    def sensitivities(self) -> list[str]:
        """Sensitivities at which a bound is known: of cohorts of a fixed size, of replaced units alone."""
        return [one for one in self.relations if one == "2C" or self.law != "fixed"]

    def violation_at(self, sensitivity: str) -> str:
        """Return the assumption that fails of an ε of this view at `sensitivity`; empty if all hold."""
        return self.violation or ("" if sensitivity in self.certified else self.uncertified)

    def curve(self, epsilon: np.ndarray, order: np.ndarray, accountant: str, sensitivity: str) -> Curve:
        """Return ε at `sensitivity` after every round, with what it means in this view."""
        violation, relation = self.violation_at(sensitivity), self.relations[sensitivity]
        return Curve(epsilon, order, accountant, relation, sensitivity=sensitivity, violation=violation)

    def running(self, costs: np.ndarray) -> np.ndarray:
        """Return the total after each round `[T, ...]` of the releases' costs `[D, ...]`; 0 × ∞ = 0."""
        done = self.counts.cumsum(axis=0)
        revealed = done @ np.isinf(costs).astype(np.int64)
        return np.where(revealed > 0, np.inf, done @ np.where(np.isinf(costs), 0.0, costs))


def effective_noise(trace: Trace, noise: np.ndarray) -> np.ndarray:
    """Return the noise of every round that hides anything `[T]`.

    There is none where a client sends something in the clear as well (statistics of batch normalisation):
    that is computed from its data and released as it is, and no noise on the rest makes up for it.
    """
    return np.where(trace["clear_values"] > 0, 0.0, noise)


def answers_at_random(trace: Trace) -> bool:
    """Return True where the clients of a checked trace answer by randomised response."""
    return bool((trace["noisy_bits"] > 0).all())


def local_noise_counts(trace: Trace) -> bool:
    """Return True where the noise of local training counts for clients."""
    return trace["unit"][0] == "both" and bool((trace["noise_shares"] > 0).all())


def server_views(trace: Trace, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return the views where the server adds the noise; a trace without privacy has one too.

    They are of clients, or of the instances that it holds itself: what is drawn and bounded in its sum.
    """
    present = bool((trace["denominator"] == "present").any())
    own_noise = bool(trace["noise_in_sum"].any())
    seen = present or own_noise
    in_turn = trace["sampling_law"][0] not in SAMPLED  # who is taken out leaves its turns empty
    if not in_turn and (not own_noise or present):
        return _of_server(trace, distances, ADD_OR_REMOVE, seen)
    if not count_is_released(trace):
        return _of_server(trace, distances, ZERO_OUT, seen)
    # Of the count a client zeroed out is as far apart as one that is replaced, of the sum half as far.
    zeroed = _of_server(trace, distances, {"C": ZERO_OUT["C"]}, seen=False, count_moved=2.0)
    return [*zeroed, *_of_server(trace, distances, REPLACE, seen)]


def _of_server(
    trace: Trace,
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
    multiplier, std = (trace[name].astype(np.float64) for name in ("noise_multiplier", "noise_std"))
    unit = {"none": "none", "instance": "instance"}.get(trace["unit"][0], "client")
    present = bool((trace["denominator"] == "present").any())
    view = client_views(trace, distances, unit, "", multiplier, std)._replace(
        relations=relations,
        certified=("2C",) if present else ("C", "2C"),
        uncertified="the mean of those present has another denominator without the client",
        distance="remove_mean" if present else "remove_sum",
    )
    return size_seen(view, trace, multiplier, std, seen)


def count_is_released(trace: Trace) -> bool:
    """Return True where the server learns how many clients were within the bound."""
    return bool(np.isfinite(trace["count_noise_multiplier"].astype(np.float64)).any())


def count_released(
    trace: Trace, distances: Mapping[str, np.ndarray], moved: float = 1.0
) -> tuple[Trace, Mapping[str, np.ndarray]]:
    """Return trace and distances with the noisy count of clients within the bound as one more coordinate.

    Scaled until its noise is that of the others it is a coordinate of the sum like them, and what is released
    is one Gaussian: 1/z² of the sum and of the count add up. Centred, a client counts ± 1/2: it is apart from
    nobody by 1/2, and from somebody else by 1. Zeroed out it is still there and counts as within the bound:
    it is apart by 1 from itself, while its part of the sum moves by C. `moved` is that number of halves.
    """
    if not count_is_released(trace):
        return trace, distances
    of_count = trace["count_noise_multiplier"].astype(np.float64) / moved
    of_updates, std = (trace[name].astype(np.float64) for name in ("noise_multiplier", "noise_std"))
    with np.errstate(divide="ignore", over="ignore"):
        multiplier = (of_updates**-2.0 + of_count**-2.0) ** -0.5 * (1 - 1e-15)  # never rounded up
        bound, step = (np.where(std > 0, std / factor, np.inf) for factor in (multiplier, of_count))
    with_count = {
        prefix + name: np.hypot(distances[prefix + name], (most * step)[:, None])
        for name, most in DISTANCES.items()
        for prefix in ("", "panel_")
        if prefix + name in distances
    }
    return trace.assign(noise_multiplier=multiplier, clip_l2=bound), {**distances, **with_count}


def secure_sum_views(trace: Trace, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return the clients' views of who sees the sum of noisy uploads alone (joint accounting).

    The client's update is replaced by zero and its noise is kept; `noise_shares` of the others are counted.
    Where the server tops the noise up to so many shares their number does not depend on who came, and the
    client may as well be taken out with its noise: fix who else takes part, and suppose they are fewer than
    the shares. Both sums then have the noise of all shares, and differ as in Poisson sampling by C at most.
    That they are not fewer depends on nobody's data, and its probability is the view's residual.
    """
    std = np.sqrt(trace["noise_shares"]) * trace["instance_noise_std"]
    multiplier = over_bound(std, trace["clip_l2"].astype(np.float64))
    topped_up = bool(trace["topped_up"].all())
    more = bool((trace["upload_noise_std"] > 0).any())  # of everybody who comes, whatever is topped up
    view = client_views(trace, distances, "client", "sum", multiplier, std)._replace(
        relations=ADD_OR_REMOVE if topped_up and not more else ZERO_OUT,
        # It is then not that of all shares in the sum.
        violation="noise was clipped with the upload" if trace["noise_clipped"].any() else "",
        residual=overflow_probability(trace) if topped_up else 0.0,
    )
    return size_seen(view, trace, multiplier, std, seen=more or not topped_up)


def size_seen(view: View, trace: Trace, multiplier: np.ndarray, std: np.ndarray, seen: bool) -> list[View]:
    """Return the view and, where the size of a Poisson cohort is `seen`, one that knows it, which then holds.

    Whoever knows that n of N came compares sums of n: with the client, or with somebody else in its place,
    up to 2C away. Given its size a Poisson cohort is a uniform sample of n without replacement, and sizes
    depend on nobody's data. A client replaced by zero or by anybody is within the relation.
    """
    if view.law != "poisson" or not seen:
        return [view]
    first = view._replace(violation=view.violation or SIZE_SEEN)
    if view.violation:
        return [first]
    size = np.maximum(trace["cohort_size"], 1)
    drawn = trace.assign(sampling_law="fixed", cohort_size=size, sampling_rate=size / trace["population"])
    came = (trace["cohort_size"] > 0).astype(np.int64)
    sized = client_views(drawn, {}, view.unit, "sized", multiplier, std, came)
    return [first, sized._replace(relations=REPLACE)]


def overflow_probability(trace: Trace) -> float:
    """Return the probability, rounded up, that in some round the others are not fewer than the shares."""
    from scipy.stats import binom

    shares = trace["noise_shares"]
    if trace["sampling_law"][0] != "poisson":
        return float((trace["cohort_size"] > shares).any())
    beyond = binom.sf(shares - 1, trace["population"] - 1, trace["sampling_rate"])
    return min(1.0, float((beyond * trace["releases"]).sum()) * (1 + 1e-9))


def upload_views(trace: Trace, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return the clients' views of who receives each upload by itself: one share of noise and no sampling.

    `upload` is that of a client in every round in which anybody sent something; `drawn` is that of a client
    who sends something only when it is drawn, and is seen to: δ is then that of the coins and the noise
    together. That noise is the least of any client of the population: a round in which the client with the
    least did not come has more on what is sent, and its coin was thrown all the same.
    In joint training the noise is that of local training, else what was added to the upload; without a bound
    beneath it, it hides nothing. Nor does it where the upload has a bit beside it that is sent in the clear,
    whether the client was within the bound.
    """
    of_gradients = local_noise_counts(trace)
    bound = trace["clip_l2" if of_gradients else "upload_l2"].astype(np.float64)
    bare = np.isfinite(trace["count_noise_multiplier"].astype(np.float64))
    on_sent = trace["instance_noise_std" if of_gradients else "upload_noise_std"].astype(np.float64)
    least, violation = (on_sent, "") if of_gradients else least_noise(trace)
    std, least = np.where(bare, 0.0, on_sent), np.where(bare, 0.0, least)
    alone = trace.assign(sampling_law="full", sampling_rate=1.0, clip_l2=bound)
    sent = (trace["cohort_size"] > 0).astype(np.int64)
    always = client_views(alone, distances, "client", "upload", over_bound(std, bound), std, sent)
    of_uploads = [always._replace(relations=ZERO_OUT)]
    if (trace["sampling_rate"] < 1).any() and trace["sampling_law"][0] in SAMPLED:
        seen = trace.assign(sampling_law="seen", clip_l2=bound)
        drawn = client_views(seen, {}, "client", "drawn", over_bound(least, bound), least)
        of_uploads.append(drawn._replace(relations=ZERO_OUT, violation=violation))
    return of_uploads


def least_noise(trace: Trace) -> tuple[np.ndarray, str]:
    """Return the least noise on the upload of any client `[T]`, and why that is not known.

    Where a trace says only what was on the uploads that came, it is the least of all of those.
    """
    least = trace["upload_noise_least"].astype(np.float64)
    if not np.isnan(least).any():
        return least, ""
    came = trace["upload_noise_std"][trace["cohort_size"] > 0]
    return np.full(len(trace), came.min() if len(came) else 0.0), LEAST_UNKNOWN


def client_views(
    trace: Trace,
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
    law, bound = trace["sampling_law"][0], trace["clip_l2"].astype(np.float64)
    once = np.ones(len(trace), dtype=np.int64)
    rounds = zip(
        trace["population"].tolist(),
        trace["cohort_size"].tolist(),
        trace["sampling_rate"].tolist(),
        effective_noise(trace, multiplier).tolist(),
        strict=True,
    )
    each = (
        Release(law, everybody, size if law == "fixed" else 0, rate, z) for everybody, size, rate, z in rounds
    )
    run, counts = distinct_releases(
        each, trace["releases"].astype(np.int64) * (once if released is None else released)
    )
    return View(
        unit=unit,
        accounting=accounting,
        law=law,
        relations=ADD_OR_REMOVE,
        certified=("C", "2C"),
        violation="",
        releases=run,
        counts=counts,
        samples=Samples(
            sampling_rate=trace["sampling_rate"].astype(np.float64),
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


def views(trace: Trace, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return every view of a checked trace and its checked distances, clients before instances."""
    unit = trace["unit"][0]
    noisy = bool((trace["upload_noise_std"] > 0).any())
    bare: list[View] = []
    if local_noise_counts(trace):
        bare += [*secure_sum_views(trace, distances), *upload_views(trace, distances)]
    elif not answers_at_random(trace):
        protected = noise_by_the_holder(trace) or (unit != "instance" and not (unit == "none" and noisy))
        bare += server_views(trace, distances) if protected else []
        bare += upload_views(trace, {}) if noisy else []  # how far apart uploads are was not measured
    if unit in ("instance", "both") and not noise_by_the_holder(trace):
        bare += [example_views(trace, distances, "sequential"), example_views(trace, distances, "parallel")]
    mechanism = _mechanism(trace)
    facts = {name: trace[name] for name in own_columns(mechanism) if name in trace}
    noised = [statistics_released(view, trace)._replace(mechanism=mechanism, facts=facts) for view in bare]
    return [*noised, *answer_views(trace)]


def answer_views(trace: Trace) -> Iterator[View]:
    """Yield the views of who answers by randomised response; there are none where nobody does.

    One coin for a whole tensor hides nothing but its sign: two vectors that differ otherwise have no outcome
    in common, so nothing hides all bits, and one bit is hidden only from who sees no other bit of its tensor.
    What is sent in the clear beside the bits (statistics of batch normalisation) reveals a client.
    """
    if not answers_at_random(trace) or (trace["mechanism"] != "randomized_response").any():
        return
    gamma, each_by_itself = float(trace["gamma"][0]), trace["flips"][0] == "coordinate"
    rounds = trace["releases"].astype(np.int64)[:, None]
    clear = bool((trace["clear_values"] > 0).any())
    # A client is counted in every round: whoever sees uploads sees who took part.
    for accounting, clients in (("upload", 1), ("sum", max(1, int(trace["cohort_size"].min())))):
        hidden, bare = RandomBit(gamma, clients), RandomBit(BARE, clients)
        bit = View(
            unit=ONE_BIT,
            accounting=accounting,
            law="full",
            relations={"bit": "replace_one"},
            certified=("bit",),
            violation="" if each_by_itself else SAME_FLIPS,
            releases=[hidden],
            counts=rounds,
            mechanism="randomized_response",
        )
        bits = bit._replace(
            unit=ALL_BITS,
            relations={"bits": "replace_one"},
            certified=("bits",),
            violation="",
            releases=[hidden if each_by_itself else bare],
            counts=rounds * int(trace["noisy_bits"][0]),
        )
        yield bit
        yield bits
        sent = [bare] if clear else bits.releases
        yield bits._replace(
            unit="client", relations={"all": "replace_one"}, certified=("all",), releases=sent
        )


def statistics_released(view: View, trace: Trace) -> View:
    """Return the examples' view with the noisy statistics that were released of all of them.

    How far apart an example moves these was not measured: there is no estimate.
    """
    releases = trace["statistics_releases"].astype(np.int64)
    if not releases.any():
        return view
    noise = trace["statistics_noise_multiplier"].astype(np.float64)
    run, counts = distinct_releases((planned_release(1.0, z) for z in noise.tolist()), releases)
    return view._replace(
        releases=[*view.releases, *run],
        counts=np.concatenate([view.counts, counts], axis=1),
        samples=view.samples._replace(distances={}, panels={}),
    )


def _mechanism(trace: Trace) -> str:
    """Mechanism whose noise is in a trace, as its scheme declares.

    Where a scheme releases nothing with Gaussian noise in it, what there is was added by hooks.
    """
    declared = str(trace["mechanism"][0])
    return "gaussian" if declared in ("none", "randomized_response") else declared


def example_views(
    trace: Trace,
    distances: Mapping[str, np.ndarray],
    accounting: Literal["sequential", "parallel"],
) -> View:
    """Return the examples' view of the noise in local training; K noisy steps of each of n clients a round.

    `sequential` counts n·K releases, in each of which an example is with the rate B/(examples of all
    clients): true only if it is secret, and drawn anew for every step, which client holds an example.
    `parallel` counts the K releases of each client that holds it, at the largest rate of any client.
    """
    steps, size = trace["local_steps"], trace["cohort_size"]
    holders = trace["holders"]
    alike = np.minimum(np.maximum(holders, 1), size)
    sequential = accounting == "sequential"
    rate = trace[f"rate_{accounting}"].astype(np.float64)
    multiplier, std = (
        effective_noise(trace, trace[f"instance_noise_{name}"].astype(np.float64))
        for name in ("multiplier", "std")
    )
    examples = bool(trace["per_example_clip"].all())
    sampled = {name: distances.get(f"instance_{name}") for name in DISTANCES}
    sampled = {name: array for name, array in sampled.items() if array is not None}
    # Only the clipped mean of a batch is bounded where examples are not: any two are within 2C.
    largest = DISTANCES if examples else dict.fromkeys(DISTANCES, 2.0)
    releases = (
        Release("poisson", 0, 0, q, z) for q, z in zip(rate.tolist(), multiplier.tolist(), strict=True)
    )
    run, counts = distinct_releases(
        releases, trace["releases"].astype(np.int64) * steps * (size if sequential else alike)
    )
    return View(
        unit="instance",
        accounting=accounting,
        law="poisson",
        relations=ADD_OR_REMOVE,
        certified=("C", "2C") if examples else ("2C",),
        violation=_violation(trace, sequential),
        uncertified=MEAN_CLIPPED,
        releases=run,
        counts=counts,
        samples=Samples(
            sampling_rate=rate,
            noise_std=std,
            bound=trace["instance_clip_l2"].astype(np.float64),
            largest=largest,
            distances=sampled,
            panels={},
            taking_part=size,
            members="sum" if sequential else "max",
            alike=alike,
        ),
    )


def _violation(trace: Trace, sequential: bool) -> str:
    """Return the assumption of the examples' view that fails; empty if all hold."""
    if sequential and not (trace["population"] == 1).all():
        return SAME_CLIENT
    if trace["repeated_rows"].any():
        return "an example is in several rows"
    return "" if (trace["holders"] > 0).all() else "a client may hold an example twice"
