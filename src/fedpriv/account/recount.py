"""One run counted at several clipping norms: where nothing is clipped, runs of equal noise σC are one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fedpriv.account import bayesian, moments
from fedpriv.account.spend import Curve
from fedpriv.account.view import View
from fedpriv.account.views import views
from fedpriv.errors import BadInput

# How the mean of exp(λ D) is estimated: from how many of the sampled clients (0: all), and the probability
# with which its upper bound may fail (0: what δ pays for; at 1/2 the bound is the plain mean).
ESTIMATORS: dict[str, tuple[int, float]] = {
    "product": (0, 0.0),
    "product, 30 clients": (30, 0.0),
    "product, plain mean": (0, 0.5),
    "product, plain mean, 30 clients": (30, 0.5),
}


def counted_at(clip_l2: float) -> str:
    """Return the sensitivity under which a ledger has a run that is counted at this clipping norm."""
    return f"C = {clip_l2:.6g}"


def clipped(trace: pd.DataFrame, noise_multiplier: float) -> str:
    """Return why a run with this σ and the same noise would have been another run, or the empty string.

    It would have clipped an update of this one, or this one has clipped one that it would not have.
    """
    if (trace["noise_multiplier"] == noise_multiplier).all():
        return ""
    std, own, longest = (trace[name].to_numpy(np.float64) for name in ("noise_std", "clip_l2", "norm_max"))
    allowed = np.minimum(std / noise_multiplier, own)
    over = np.flatnonzero(longest > allowed)
    if not len(over):
        return ""
    worst = over[longest[over].argmax()]
    return (
        f"an update of norm {longest[worst]:.3g} in round {worst + 1} is longer than C = {allowed[worst]:.3g}"
    )


def recounted(trace: pd.DataFrame, noise_multiplier: float) -> pd.DataFrame:
    """Return the trace that a run with this σ and the same noise would have written, had it the same draws.

    BadInput where it would have been another run: that one must be trained.
    """
    if reason := clipped(trace, noise_multiplier):
        raise BadInput(
            f"account.recount: found {noise_multiplier:g}, but {reason}, allowed: a run of its own for it"
        )
    bound = trace["noise_std"] / noise_multiplier
    return trace.assign(clip_l2=bound, noise_multiplier=float(noise_multiplier))


def curves(
    trace: pd.DataFrame, distances: Mapping[str, np.ndarray], multipliers: Sequence[float], delta: float
) -> Iterator[tuple[View, Curve]]:
    """Yield ε of clients after every round, at each σ at which this is the run: by `moments`, by estimators.

    The distance is the one that the denominator asks for. BadInput for a trace without noise on the sums of
    clients.
    """
    std = trace["noise_std"]
    unit, mechanism = trace["unit"].iloc[0], trace["mechanism"].iloc[0]
    alike = std.iloc[0] > 0 and std.nunique() == 1
    if multipliers and not ((unit, mechanism) == ("client", "gaussian") and alike):
        found = f"unit {unit}, mechanism {mechanism}, noise of std {std.iloc[0]:g}"
        raise BadInput(
            f"account.recount: found {found}, allowed: clients, gaussian, with the same noise in all rounds"
        )
    sampled = None  # alike at every σ: distances and noise are
    for multiplier in multipliers:
        if not clipped(trace, multiplier):
            view = views(recounted(trace, multiplier), distances)[0]
            if sampled is None and view.samples.distances:
                sampled = bayesian.sampled_moments(view)
            sensitivity = counted_at(float(std.iloc[0]) / multiplier)
            for curve in _of_view(view, sampled, delta):
                yield view, replace(curve, sensitivity=sensitivity, kind=_kind(trace, multiplier, curve))


def _kind(trace: pd.DataFrame, noise_multiplier: float, curve: Curve) -> str:
    """Return the kind of a curve at this σ: only the bound that the run clipped at can be a guarantee's.

    Any other bound was met by the updates of this run, which is no property of the mechanism.
    """
    own = bool((trace["noise_multiplier"] == noise_multiplier).all())
    return curve.kind if own or curve.kind != "guarantee" else "counterfactual"


def _of_view(view: View, sampled: np.ndarray | None, delta: float) -> Iterator[Curve]:
    yield next(curve for curve in moments.curves(view, delta) if curve.sensitivity == "C")
    if sampled is not None:
        for estimator, (most, failure) in ESTIMATORS.items():
            some = sampled[..., : most or None, :]  # of a round's samples, which are in random order
            yield replace(bayesian.product(view, some, delta, failure), composition=estimator)
