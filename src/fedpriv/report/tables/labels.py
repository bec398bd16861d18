"""The nominal (ε, δ) of NbAFL, and what they would be if its sensitivity were right."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from fedpriv.account.plans import epsilon as composed
from fedpriv.frozen import parse
from fedpriv.report import numbers
from fedpriv.report.results import Results, rows_of
from fedpriv.report.settings import config_of
from fedpriv.report.tables.columns import Columns, Read, number, trace
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.streams import Streams


def scheme_of(results: Results, run: str) -> NbAFL:
    """Return the scheme of a run; any other than NbAFL is BadInput."""
    return parse(NbAFL.model_validate, config_of(results, run)["scheme"], f"labels: {run}: scheme")


def scheme_number(value: Callable[[NbAFL], float]) -> Read:
    """Return how a number that the config alone decides is read, for every seed."""

    def read(results: Results, run: str) -> pd.Series:
        seeds = rows_of(results.runs, run)["seed"]
        return pd.Series(value(scheme_of(results, run)), index=seeds)

    return read


def delta(scheme: NbAFL) -> float:
    """Return the δ whose constant c would be: c = √(2 ln(1.25/δ))."""
    return 1.25 * float(np.exp(-(scheme.constant**2) / 2))


def least_noise(results: Results, run: str) -> pd.Series:
    """Return by seed the least std of the noise on an upload, the mean over rounds that had any."""
    rounds = rows_of(results.rounds, run)
    return rounds.loc[rounds["cohort_size"] > 0].groupby("seed")["upload_noise_std"].mean()


def if_right(results: Results, run: str) -> pd.Series:
    """Return by seed the ε of all rounds if a client with n examples moved its upload by 2C/n at most."""
    scheme, rounds = scheme_of(results, run), rows_of(results.rounds, run)
    first = rounds.iloc[0]
    # The noise is in proportion to 1/n, so that one example will do.
    alone = RoundContext(
        number=1,
        rounds=int(results.fact(run, "rounds_wanted")),
        population=int(first["population"]),
        expected=float(first["expected_cohort"]),
        examples=np.ones(1),
        fewest=1,
        tensors=(),
        streams=Streams(0, run),
    )
    multiplier = float(scheme.uplink_std(alone)[0]) / (2 * scheme.weight_clip)
    last = rounds.groupby("seed")["round"].max()
    epsilons = rows_of(results.epsilons, run)
    deltas = epsilons.loc[epsilons["accounting"] == "upload", "delta"]
    if deltas.empty:
        return pd.Series(np.nan, index=last.index)
    of = partial(composed, sampling_rate=1, noise_multiplier=multiplier, delta=float(deltas.iloc[0]))
    return last.map({count: of(rounds=count, accountant="pld").epsilon for count in set(last)})


NOMINAL, STD = "Nominal", "Noise, std"
COLUMNS: dict[str, Columns] = {
    "ratio": number(
        "", "ε/c", scheme_number(lambda scheme: scheme.epsilon / scheme.constant), numbers.rounded
    ),
    "epsilon_label": number(NOMINAL, "ε", scheme_number(lambda scheme: scheme.epsilon), numbers.rounded),
    "delta_label": number(NOMINAL, "δ", scheme_number(delta), numbers.rounded),
    "upload_noise_std": number(STD, "upload", least_noise, numbers.rounded),
    "broadcast_noise_std": trace(STD, "broadcast", "broadcast_noise_std", numbers.rounded),
    "epsilon_if": number("ε", "if 2C/n held", if_right, numbers.epsilon),
}
