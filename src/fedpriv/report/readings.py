"""Readings of a published row: runs counted at every σ, and how far they come from what was published."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.recount import clipped, counted_at
from fedpriv.errors import BadInput
from fedpriv.paper.readings import ReadingsTable
from fedpriv.report.numbers import interval
from fedpriv.report.reading import accuracies, epsilon_at, last_reading, within
from fedpriv.report.results import Results, rows_of
from fedpriv.report.settings import config_of

MATCHING = {"expected": "remove_sum", "present": "remove_mean"}  # denominator -> its neighbours' distance


class Counting(NamedTuple):
    """An ε of a run that was counted at another σ, by the columns of the ledger."""

    accountant: str
    composition: str = ""
    distance: str = ""
    right_term: str = ""
    sensitivity: str = ""
    accounting: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self)


class Reading(NamedTuple):
    """A run and the σ that it is counted at, or why it is not."""

    run: str
    noise_multiplier: float
    clip_l2: float
    denominator: str
    everybody: bool  # whether all clients take part in every round
    own: bool  # whether the run was trained with this σ
    refused: str  # clipped, or not counted, and why; empty: it is counted

    @property
    def moments(self) -> Counting:
        """Return the ε of DP."""
        return Counting("moments", sensitivity=counted_at(self.clip_l2))

    def estimate(self, estimator: str) -> Counting:
        """Return the Bayesian ε by one of `fedpriv.account.recount.ESTIMATORS`."""
        return Counting(
            "bayesian", estimator, MATCHING[self.denominator], "both_left", counted_at(self.clip_l2)
        )


class Outcome(NamedTuple):
    """What comes of a reading, by seed: read within the published ε, and how far off that is."""

    dp: pd.DataFrame  # round and accuracy, as every reading
    dp_epsilon: pd.Series
    bdp: pd.DataFrame
    bdp_epsilon: pd.Series
    epsilon: pd.Series  # the Bayesian ε that is compared with the published one
    distance: pd.Series


def readings(results: Results, declared: ReadingsTable) -> list[Reading]:
    """Return a reading for every family of runs and every σ, in the order of the runs."""
    families: dict[str, dict[float, str]] = {}
    for run in declared.names:
        if results.has(run):
            config = config_of(results, run)
            if not {"noise_multiplier", "clip_l2"} <= set(config["scheme"]):
                found = config["scheme"].get("name", "another")
                raise BadInput(f"readings: {run}: found scheme {found}, allowed: client_dp, with its σ and C")
            sigma, clip = (config["scheme"].pop(key) for key in ("noise_multiplier", "clip_l2"))
            family = json.dumps([config, f"{sigma * clip:.6g}"], sort_keys=True)
            families.setdefault(family, {})[sigma] = run
    return [one for runs in families.values() for one in family_readings(results, runs, declared.multipliers)]


def family_readings(
    results: Results, runs: Mapping[float, str], multipliers: Sequence[float]
) -> Iterator[Reading]:
    """Yield the readings of the runs of one noise, by their σ: the one with the least has the loosest C."""
    loosest = runs[min(runs)]
    for sigma in sorted({*multipliers, *runs}):
        run = runs.get(sigma, loosest)
        trace = rows_of(results.rounds, run)
        bound = float(trace["noise_std"].iloc[0]) / sigma
        reasons = [f"clipped: {why}" for _, one in trace.groupby("seed") if (why := clipped(one, sigma))]
        if counted_at(bound) not in set(rows_of(results.epsilons, run)["sensitivity"]):
            reasons.append(f"not counted: account.recount of the run has no {sigma:g}")
        yield Reading(
            run,
            sigma,
            bound,
            str(trace["denominator"].iloc[0]),
            bool((trace["sampling_rate"] == 1).all()),
            sigma in runs,
            next(iter(reasons), ""),
        )


def targets(results: Results, declared: ReadingsTable) -> tuple[float, float]:
    """Return the accuracies that DP and BDP are compared with.

    They are the published ones or, with a baseline, as far below ours as these are below the published one.
    """
    moved = 0.0
    if declared.baseline:
        ours = interval(last_reading(results, declared.baseline.run)["accuracy"]).mean  # NaN: it was not run
        moved = ours - declared.baseline.accuracy
    return declared.dp.accuracy + moved, declared.bdp.accuracy + moved


def outcome(
    results: Results,
    declared: ReadingsTable,
    one: Reading,
    wanted: tuple[float, float],
    estimator: str = "product",
) -> Outcome:
    """Return what comes of a reading that was not clipped.

    Its distance to what is published is √(x² + y² + z²): x and y are how far the accuracies of DP and BDP,
    each at the last evaluated round within its published ε, are from those `wanted`, over `points`; z is the
    log of the Bayesian ε over the published one, over the log of `ratio`. That ε is the one at the last round
    within the budget, if the accuracy reaches the target there; else the one at the first later round that
    does; or, where none does, at the last. Without a round within one of the budgets there is no distance.
    """
    spend = one.estimate(estimator)
    dp = within(results, one.run, (one.moments, declared.dp.epsilon))
    bdp = within(results, one.run, (spend, declared.bdp.epsilon))
    epsilon = epsilon_at(results, one.run, spend, compared_at(results, one.run, bdp, wanted[1]))
    x = 100 * (dp["accuracy"] - wanted[0]) / declared.points
    y = 100 * (bdp["accuracy"] - wanted[1]) / declared.points
    z = (epsilon / declared.bdp.epsilon).map(math.log) / math.log(declared.ratio)
    distance = np.sqrt(x**2 + y**2 + z**2).replace(np.inf, np.nan)
    return Outcome(
        dp,
        epsilon_at(results, one.run, one.moments, dp["round"]),
        bdp,
        epsilon_at(results, one.run, spend, bdp["round"]),
        epsilon,
        distance,
    )


def far(distance: pd.Series) -> float:
    """Return the mean distance over seeds of a reading, infinite where there is none."""
    mean = interval(distance).mean
    return math.inf if math.isnan(mean) else mean


def compared_at(results: Results, run: str, read: pd.DataFrame, wanted: float) -> pd.Series:
    """Return by seed the round at which the ε that is compared is read."""
    evaluated = accuracies(results, run)
    until = evaluated["seed"].map(read["round"])
    # Where no round is within the budget all are later.
    enough = (evaluated["test_accuracy"] >= wanted) & ~(evaluated["round"] <= until)
    seeds = evaluated["seed"]
    later = evaluated["round"].where(enough).groupby(seeds).min()
    last = evaluated["round"].groupby(seeds).max()
    return read["round"].where(read["accuracy"] >= wanted, later.fillna(last))
