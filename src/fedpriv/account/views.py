"""What accountants read: a trace, as each of those sees it from whom somebody is to be protected.

Federated Learning with Bayesian Differential Privacy, section V. A trace has one view of its clients where
the server adds noise, two where clients' own noise is counted towards them (`joint`: the sum of uploads, or
single uploads), one more where clients add noise to what they send, and two of its instances where there is
noise in local training (sequential, parallel). Randomised response has readings of its own (`flips`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fedpriv.account.events import Mechanism
from fedpriv.account.response_views import responds
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd

# Distance -> the sensitivity that is for the same neighbours, and the most it can be, in units of the bound.
DISTANCES = {"remove_sum": ("C", 1.0), "remove_mean": ("C", 2.0), "pairwise": ("2C", 2.0)}

ADD_OR_REMOVE = {"C": "add_remove", "2C": "replace_one"}
ZERO_OUT = {"C": "zero_out", "2C": "replace_one"}


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

    @property
    def bounds(self) -> int:
        """Return how many upper bounds are looked at: one for each step of each member of each round."""
        steps = max((array.shape[1] for array in self.distances.values()), default=1)
        return max(1, steps * int(self.taking_part.sum()))


class View(NamedTuple):
    """Whose presence is protected from whom: the mechanisms that were run, how many, and the samples."""

    unit: str
    accounting: str  # sequential, parallel, sum, upload; empty for noise that the server adds
    law: str  # how units get into a release: poisson, fixed or full
    relations: dict[str, str]  # sensitivity -> the neighbours whom it is for
    certified: tuple[str, ...]  # the sensitivities that the mechanism enforces
    assumption_holds: bool  # False where the view rests on something that is not so
    mechanisms: list[Mechanism]  # [D], distinct
    counts: np.ndarray  # [T, D], how many of each were run in a round
    samples: Samples

    def assumptions_met(self, sensitivity: str) -> bool:
        """Return whether an ε of this view at `sensitivity` rests on nothing that is not so."""
        return self.assumption_holds and sensitivity in self.certified

    def curve(self, epsilon: np.ndarray, order: np.ndarray, accountant: str, sensitivity: str) -> Curve:
        """Return ε at `sensitivity` after every round, with what it means in this view."""
        met = self.assumptions_met(sensitivity)
        relation = self.relations[sensitivity]
        return Curve(epsilon, order, accountant, relation, sensitivity=sensitivity, assumptions_met=met)

    def running(self, costs: np.ndarray) -> np.ndarray:
        """Return the total after each round `[T, ...]` of the mechanisms' costs `[D, ...]`; 0 × ∞ = 0."""
        done = self.counts.cumsum(axis=0)
        revealed = done @ np.isinf(costs).astype(np.int64)
        return np.where(revealed > 0, np.inf, done @ np.where(np.isinf(costs), 0.0, costs))


def views(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return every view of a checked trace and its checked distances, clients before instances."""
    unit = trace["unit"].iloc[0]
    noisy = bool((trace["upload_noise_std"] > 0).any())
    found: list[View] = []
    if joint(trace):
        found += [of_sum(trace, distances), of_uploads(trace, distances)]
    elif not responds(trace):
        protected = unit != "instance" and not (unit == "none" and noisy)
        found += [of_server(trace, distances)] if protected else []
        found += [of_uploads(trace, {})] if noisy else []  # how far apart uploads are was not measured
    if unit in ("instance", "both"):
        found += [of_instances(trace, distances, "sequential"), of_instances(trace, distances, "parallel")]
    return found


def joint(trace: pd.DataFrame) -> bool:
    """Return whether the noise of local training is counted towards clients."""
    return trace["unit"].iloc[0] == "both" and bool((trace["noise_shares"] > 0).all())


def of_server(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> View:
    """Return the clients' view where the server adds the noise; a trace without privacy has this one too."""
    multiplier, std = (trace[name].to_numpy(dtype=np.float64) for name in ("noise_multiplier", "noise_std"))
    unit = "none" if trace["unit"].iloc[0] == "none" else "client"
    return _of_clients(trace, distances, unit, "", multiplier, std, ADD_OR_REMOVE)


def of_sum(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> View:
    """Return the clients' view of who sees the sum of noisy uploads alone (joint accounting).

    The client's update is replaced by zero and its noise is kept; `noise_shares` of the others are counted.
    """
    std = np.sqrt(trace["noise_shares"].to_numpy()) * trace["instance_noise_std"].to_numpy()
    multiplier = over_bound(std, trace["clip_l2"].to_numpy(dtype=np.float64))
    return _of_clients(trace, distances, "client", "sum", multiplier, std, ZERO_OUT)


def of_uploads(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> View:
    """Return the clients' view of who receives each upload by itself: one share of noise and no sampling.

    It is that of a client in every round in which anybody sent something. In joint training the noise is that
    of local training, else what was added to the upload; without a bound beneath it, it hides nothing.
    """
    noise_std, clip_l2 = (
        ("instance_noise_std", "clip_l2") if joint(trace) else ("upload_noise_std", "upload_l2")
    )
    std, bound = (trace[name].to_numpy(dtype=np.float64) for name in (noise_std, clip_l2))
    seen = trace.assign(sampling_law="full", sampling_rate=1.0, clip_l2=bound)
    sent = (trace["cohort_size"] > 0).to_numpy(dtype=np.int64)
    return _of_clients(seen, distances, "client", "upload", over_bound(std, bound), std, ZERO_OUT, sent)


def of_instances(
    trace: pd.DataFrame,
    distances: Mapping[str, np.ndarray],
    accounting: Literal["sequential", "parallel"],
) -> View:
    """Return the examples' view of the noise in local training; K noisy steps of each of n clients a round.

    `sequential` counts n·K releases, in each of which an example is with the rate B/(examples of all
    clients): true only if it is secret, and drawn anew for every step, which client holds an example.
    `parallel` counts the K releases of the one client that holds it, at the largest rate of any client.
    """
    steps, size = trace["local_steps"].to_numpy(), trace["cohort_size"].to_numpy()
    sequential = accounting == "sequential"
    rate = trace[f"rate_{accounting}"].to_numpy(dtype=np.float64)
    multiplier, std = (
        effective_noise(trace, trace[f"instance_noise_{name}"].to_numpy(dtype=np.float64))
        for name in ("multiplier", "std")
    )
    examples = bool(trace["per_example_clip"].all())
    sampled = {name: distances.get(f"instance_{name}") for name in DISTANCES}
    sampled = {name: array for name, array in sampled.items() if array is not None}
    # Only the clipped mean of a batch is bounded where examples are not: any two are within 2C.
    largest = {name: most if examples else 2.0 for name, (_, most) in DISTANCES.items()}
    mechanisms = (
        Mechanism("poisson", 0, 0, q, z) for q, z in zip(rate.tolist(), multiplier.tolist(), strict=True)
    )
    run, counts = distinct(mechanisms, steps * (size if sequential else size > 0))
    return View(
        unit="instance",
        accounting=accounting,
        law="poisson",
        relations=ADD_OR_REMOVE,
        certified=("C", "2C") if examples else ("2C",),
        assumption_holds=not sequential or bool((trace["population"] == 1).all()),
        mechanisms=run,
        counts=counts,
        samples=Samples(
            sampling_rate=rate,
            noise_std=std,
            bound=trace["instance_clip_l2"].to_numpy(dtype=np.float64),
            largest=largest,
            distances=sampled,
            panels={},
            taking_part=size,
            members="sum" if sequential else "max",
        ),
    )


def distinct(mechanisms: Iterable[Mechanism], times: np.ndarray) -> tuple[list[Mechanism], np.ndarray]:
    """Return the distinct ones of the rounds' mechanisms `[T]` and how many of each a round had `[T, D]`."""
    by_round = list(mechanisms)
    column = {one: index for index, one in enumerate(dict.fromkeys(by_round))}
    counts = np.zeros((len(by_round), len(column)), dtype=np.int64)
    counts[np.arange(len(by_round)), [column[one] for one in by_round]] = times
    return list(column), counts


def over_bound(std: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return noise multipliers `[T]`, at most what floats can hold; 0, no noise, for a bound of zero."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(bound > 0, np.minimum(std / bound, np.finfo(np.float64).max), 0.0)


def effective_noise(trace: pd.DataFrame, noise: np.ndarray) -> np.ndarray:
    """Return the noise of every round that hides anything `[T]`.

    There is none where a client sends something in the clear as well (statistics of batch normalisation):
    that is computed from its data and released as it is, and no noise on the rest makes up for it.
    """
    return np.where(trace["clear_values"] > 0, 0.0, noise)


def _of_clients(
    trace: pd.DataFrame,
    distances: Mapping[str, np.ndarray],
    unit: str,
    accounting: str,
    multiplier: np.ndarray,
    std: np.ndarray,
    relations: dict[str, str],
    released: np.ndarray | None = None,
) -> View:
    """Return a view of clients, each of whom a release has once at most; by default every round is one."""
    law = trace["sampling_law"].iloc[0]
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
    run, counts = distinct(mechanisms, once if released is None else released)
    return View(
        unit=unit,
        accounting=accounting,
        law=law,
        relations=relations,
        certified=("C", "2C"),
        assumption_holds=True,
        mechanisms=run,
        counts=counts,
        samples=Samples(
            sampling_rate=trace["sampling_rate"].to_numpy(dtype=np.float64),
            noise_std=effective_noise(trace, std),
            bound=trace["clip_l2"].to_numpy(dtype=np.float64),
            largest={name: most for name, (_, most) in DISTANCES.items()},
            distances={name: distances[name][:, None, None] for name in DISTANCES if name in distances},
            panels={name: distances[f"panel_{name}"] for name in DISTANCES if f"panel_{name}" in distances},
            taking_part=once,
            members="sum",
        ),
    )
