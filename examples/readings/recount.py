"""One run counted at several clipping norms: where nothing is clipped, runs of equal noise σC are one run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from fedpriv.account import bayesian, moments
from fedpriv.account.check import Trace
from fedpriv.account.ledgers import LEDGER, rows
from fedpriv.account.runs import run_trace
from fedpriv.account.statement import Curve
from fedpriv.account.views import View, views
from fedpriv.report.results import Results, rows_of, to_categories
from fedpriv.store.machine import cores
from fedpriv.store.rundir import RunDir
from fedpriv.workflow.rerender import ARITHMETIC

# How the mean of exp(λ D) is estimated: from how many of the sampled clients (0: all), and the probability
# with which its upper bound may fail (0: what δ pays for; at 1/2 the bound is the plain mean).
ESTIMATORS: dict[str, tuple[int, float]] = {
    "product": (0, 0.0),
    "product, 30 clients": (30, 0.0),
    "product, plain mean": (0, 0.5),
    "product, plain mean, 30 clients": (30, 0.5),
}


def with_recounted(
    results: Results, folder: Path, runs: Sequence[str], multipliers: Sequence[float]
) -> Results:
    """Return the results with ε of clients of these runs at every σ at which they are the run, too.

    Their directories are in `folder`; δ is that of their ledgers.
    """
    each = [
        (folder / run / f"seed{seed}", multipliers, delta)
        for run in runs
        for seed, delta in deltas(rows_of(results.epsilons, run)).items()
    ]
    os.environ.update(ARITHMETIC)  # the same bytes on every machine
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        ledgers = pool.map(recounted, *zip(*each, strict=True)) if each else ()
    epsilons = pd.concat([results.epsilons.astype({"run": str}), *ledgers])
    tables = {"runs": results.runs, "rounds": results.rounds}
    return to_categories(tables | {"epsilons": epsilons.sort_values("run", kind="stable")}, results.audited)


def deltas(epsilons: pd.DataFrame) -> dict[int, float]:
    """Return the δ of clients in the ledgers of a run, by seed."""
    return epsilons.loc[epsilons["unit"] == "client"].groupby("seed")["delta"].first().to_dict()


def recounted(directory: Path, multipliers: Sequence[float], delta: float) -> pd.DataFrame:
    """Return the rows that a run's ledger would have at every σ at which this is the run."""
    run = RunDir(directory)
    ledger = recount(run_trace(run), run.distances(), multipliers, delta)
    return ledger.assign(run=directory.parent.name, seed=int(directory.name.removeprefix("seed")))


def recount(
    trace: Trace, distances: Mapping[str, np.ndarray], multipliers: Sequence[float], delta: float
) -> pd.DataFrame:
    """Return ε of clients as a ledger, at the evaluated rounds of a run whose noise is always the same.

    At each σ at which this is the run: by `moments`, and by `ESTIMATORS` of the distance that the denominator
    asks for. Its sensitivity says the clipping norm.
    """
    evaluated = ~np.isnan(trace["test_accuracy"])
    frames = [
        pd.DataFrame(rows(curve, view, trace, delta)).loc[evaluated]
        for view, curve in curves(trace, distances, multipliers, delta)
    ]
    return pd.concat([pd.DataFrame({name: [] for name in LEDGER}), *frames]).astype(LEDGER)


def curves(
    trace: Trace, distances: Mapping[str, np.ndarray], multipliers: Sequence[float], delta: float
) -> Iterator[tuple[View, Curve]]:
    """Yield ε after every round of this trace, at each σ at which a run with the same noise is this one."""
    std, sampled = trace["noise_std"], None
    for multiplier in multipliers:
        if not clipped(trace, multiplier):
            again = trace.assign(clip_l2=std / multiplier, noise_multiplier=float(multiplier))
            view = views(again, distances)[0]
            if sampled is None and view.samples.distances:  # alike at every σ: distances and noise are
                sampled = bayesian.sampled_moments(view)
            sensitivity = counted_at(float(std[0]) / multiplier)
            own = bool((trace["noise_multiplier"] == multiplier).all())
            for curve in of_view(view, sampled, delta):
                # Any other bound was met by the updates of this run, which is no property of the mechanism.
                kind = curve.kind if own or curve.kind != "guarantee" else "counterfactual"
                yield view, replace(curve, sensitivity=sensitivity, kind=kind)


def of_view(view: View, sampled: np.ndarray | None, delta: float) -> Iterator[Curve]:
    """Yield ε by `moments` at sensitivity C, and by every estimator."""
    yield next(curve for curve in moments.curves(view, delta) if curve.sensitivity == "C")
    if sampled is not None:
        for estimator, (most, failure) in ESTIMATORS.items():
            some = sampled[..., : most or None, :]  # of a round's samples, which are in random order
            yield replace(bayesian.product(view, some, delta, failure), composition=estimator)


def clipped(trace: Trace, noise_multiplier: float) -> str:
    """Return why a run with this σ and the same noise would have been another run, or the empty string.

    It would have clipped an update of this one, or this one has clipped one that it would not have.
    """
    if (trace["noise_multiplier"] == noise_multiplier).all():
        return ""
    std, own, longest = (np.asarray(trace[name]) for name in ("noise_std", "clip_l2", "norm_max"))
    allowed = np.minimum(std / noise_multiplier, own)
    over = np.flatnonzero(longest > allowed)
    if not len(over):
        return ""
    worst = over[longest[over].argmax()]
    return (
        f"an update of norm {longest[worst]:.3g} in round {worst + 1} is longer than C = {allowed[worst]:.3g}"
    )


def counted_at(clip_l2: float) -> str:
    """Return the sensitivity under which a run that is counted at this clipping norm stands."""
    return f"C = {clip_l2:.6g}"
