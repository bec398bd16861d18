"""The nominal (ε, δ) of NbAFL, and what they would be if its sensitivity were right."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from fedpriv.account.plans import epsilon as composed
from fedpriv.frozen import parse
from fedpriv.report import numbers
from fedpriv.report.reading import fact, rows_of
from fedpriv.report.settings import config_of
from fedpriv.report.tables.columns import Columns, Read, number, trace
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.streams import Streams


def scheme_of(frame: pd.DataFrame, run: str) -> NbAFL:
    """Return the scheme of a run; any other than NbAFL is BadInput."""
    return parse(NbAFL.model_validate, config_of(frame, run)["scheme"], f"labels: {run}: scheme")


def of_scheme(value: Callable[[NbAFL], float]) -> Read:
    """Return how a number that the config alone decides is read, for every seed."""

    def read(frame: pd.DataFrame, run: str) -> pd.Series:
        seeds = rows_of(frame, run)["seed"].unique()
        return pd.Series(value(scheme_of(frame, run)), index=seeds)

    return read


def delta(scheme: NbAFL) -> float:
    """Return the δ whose constant c would be: c = √(2 ln(1.25/δ))."""
    return 1.25 * float(np.exp(-(scheme.constant**2) / 2))


def least_noise(frame: pd.DataFrame, run: str) -> pd.Series:
    """Return by seed the least std of the noise on an upload, the mean over rounds that had any."""
    return fact(frame.loc[frame["cohort_size"] > 0], run, "upload_noise_std")


def if_right(frame: pd.DataFrame, run: str) -> pd.Series:
    """Return by seed the ε of all rounds if a client with n examples moved its upload by 2C/n at most."""
    scheme, rows = scheme_of(frame, run), rows_of(frame, run)
    first = rows.iloc[0]
    # The noise is in proportion to 1/n, so that one example will do.
    alone = RoundContext(
        number=1,
        rounds=int(first["rounds_wanted"]),
        population=int(first["population"]),
        expected=float(first["expected_cohort"]),
        examples=np.ones(1),
        fewest=1,
        tensors=(),
        streams=Streams(0, run),
    )
    multiplier = float(scheme.uplink_std(alone)[0]) / (2 * scheme.weight_clip)
    last = rows.groupby("seed")["round"].max()
    deltas = rows.loc[rows["accounting"] == "upload", "delta"]
    if deltas.empty:
        return pd.Series(np.nan, index=last.index)
    of = partial(composed, sampling_rate=1, noise_multiplier=multiplier, delta=float(deltas.iloc[0]))
    return last.map({rounds: of(rounds=rounds, accountant="pld").epsilon for rounds in set(last)})


NOMINAL, STD = "Nominal", "Noise, std"
COLUMNS: dict[str, Columns] = {
    "ratio": number("", "ε/c", of_scheme(lambda scheme: scheme.epsilon / scheme.constant), numbers.rounded),
    "epsilon_label": number(NOMINAL, "ε", of_scheme(lambda scheme: scheme.epsilon), numbers.rounded),
    "delta_label": number(NOMINAL, "δ", of_scheme(delta), numbers.rounded),
    "upload_noise_std": number(STD, "upload", least_noise, numbers.rounded),
    "broadcast_noise_std": trace(STD, "broadcast", "broadcast_noise_std", numbers.rounded),
    "epsilon_if": number("ε", "if 2C/n held", if_right, numbers.epsilon),
}
