"""What accountants read: a trace, as each of those sees it from whom somebody is to be protected.

Federated Learning with Bayesian Differential Privacy, section V. A trace has one view of its clients where
the server adds noise (of its instances, where it holds them itself), two where clients' own noise is counted
towards them (`joint`: the sum of uploads, or single uploads), one more where clients add noise to what they
send, and two of its instances where there is noise in local training (sequential, parallel). Randomised
response has readings of its own (`flips`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedpriv.account.client_views import joint, secure_sum_views, server_views, upload_views
from fedpriv.account.events import Mechanism, planned
from fedpriv.account.response_views import responds
from fedpriv.account.trace_check import DISTANCES, central
from fedpriv.account.view import ADD_OR_REMOVE, Samples, View, distinct, effective_noise
from fedpriv.trace import own_columns

if TYPE_CHECKING:
    import pandas as pd


def views(trace: pd.DataFrame, distances: Mapping[str, np.ndarray]) -> list[View]:
    """Return every view of a checked trace and its checked distances, clients before instances."""
    unit = trace["unit"].iloc[0]
    noisy = bool((trace["upload_noise_std"] > 0).any())
    found: list[View] = []
    if joint(trace):
        found += [*secure_sum_views(trace, distances), *upload_views(trace, distances)]
    elif not responds(trace):
        protected = central(trace) or (unit != "instance" and not (unit == "none" and noisy))
        found += server_views(trace, distances) if protected else []
        found += upload_views(trace, {}) if noisy else []  # how far apart uploads are was not measured
    if unit in ("instance", "both") and not central(trace):
        found += [example_views(trace, distances, "sequential"), example_views(trace, distances, "parallel")]
    mechanism = _mechanism(trace)
    facts = {name: trace[name].to_numpy() for name in own_columns(mechanism) if name in trace}
    return [statistics_released(one, trace)._replace(mechanism=mechanism, facts=facts) for one in found]


def statistics_released(view: View, trace: pd.DataFrame) -> View:
    """Return the examples' view with the noisy statistics that were released of all of them.

    How far apart an example moves these was not measured: there is no estimate.
    """
    releases = trace["statistics_releases"].to_numpy(dtype=np.int64)
    if not releases.any():
        return view
    noise = trace["statistics_noise_multiplier"].to_numpy(dtype=np.float64)
    run, counts = distinct((planned(1.0, z) for z in noise.tolist()), releases)
    return view._replace(
        mechanisms=[*view.mechanisms, *run],
        counts=np.concatenate([view.counts, counts], axis=1),
        samples=view.samples._replace(distances={}, panels={}),
    )


def _mechanism(trace: pd.DataFrame) -> str:
    """Return what the noise of a trace is, as its scheme declares.

    Where a scheme releases nothing with Gaussian noise in it, what there is was added by hooks.
    """
    declared = str(trace["mechanism"].iloc[0])
    return "gaussian" if declared in ("none", "randomized_response") else declared


def example_views(
    trace: pd.DataFrame,
    distances: Mapping[str, np.ndarray],
    accounting: Literal["sequential", "parallel"],
) -> View:
    """Return the examples' view of the noise in local training; K noisy steps of each of n clients a round.

    `sequential` counts n·K releases, in each of which an example is with the rate B/(examples of all
    clients): true only if it is secret, and drawn anew for every step, which client holds an example.
    `parallel` counts the K releases of each client that holds it, at the largest rate of any client.
    """
    steps, size = trace["local_steps"].to_numpy(), trace["cohort_size"].to_numpy()
    holders = trace["holders"].to_numpy()
    alike = np.minimum(np.maximum(holders, 1), size)
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
    largest = DISTANCES if examples else dict.fromkeys(DISTANCES, 2.0)
    mechanisms = (
        Mechanism("poisson", 0, 0, q, z) for q, z in zip(rate.tolist(), multiplier.tolist(), strict=True)
    )
    run, counts = distinct(
        mechanisms, trace["releases"].to_numpy(dtype=np.int64) * steps * (size if sequential else alike)
    )
    return View(
        unit="instance",
        accounting=accounting,
        law="poisson",
        relations=ADD_OR_REMOVE,
        certified=("C", "2C") if examples else ("2C",),
        unmet=_unmet(trace, sequential),
        uncertified="one example may move a clipped mean by 2C",
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
            alike=alike,
        ),
    )


def _unmet(trace: pd.DataFrame, sequential: bool) -> str:
    """Return the assumption of the examples' view that fails; empty if all hold."""
    if sequential and not (trace["population"] == 1).all():
        return "the client that holds an example stays the same"
    if trace["repeated_rows"].any():
        return "an example is in several rows"
    return "" if (trace["holders"] > 0).all() else "a client may hold an example twice"
