"""The (ε, δ) on the label of NbAFL, what they would be if its sensitivity were right, and what holds."""

import json
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from fedpriv.account.calibrate import epsilon as composed
from fedpriv.frozen import parse
from fedpriv.paper.spends import Choice
from fedpriv.report.cells import epsilon as shown
from fedpriv.report.cells import rounded
from fedpriv.report.declared_runs import LabelsTable
from fedpriv.report.render import Table
from fedpriv.report.run_table import ACCURACIES, Column, counted, epsilon, fact, run_table
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.streams import Streams

LABEL, STD = "On the label", "Noise, std"
NOTES = (
    "On the label: ε, and δ = 1.25 exp(−c²/2). The noise depends on ε/c alone. Its std: the least of any "
    "upload, mean over rounds, and before a broadcast.",
    "If 2C/n held: ε of all rounds' uploads, each a Gaussian release that replacing its client moves by at "
    "most 2C/n, n its examples, by privacy loss distributions at the δ of the ledger. Training promises no "
    "such thing: another client's weights may be anywhere that clipping allows.",
)
UNBOUNDED = "∞: nothing bounds an upload beneath its noise; only the server's own weights are clipped."


def labels_table(frame: pd.DataFrame, declared: LabelsTable, name: str) -> Table:
    """Return a line a run: its label, its noise, ε if the claimed sensitivity held, ε that holds."""
    holds = epsilon(declared.spend, "ε", "that holds")
    columns = (
        Column("", "ε/c", "ratio", partial(of_scheme, number=lambda it: it.epsilon / it.constant), rounded),
        Column(LABEL, "ε", "epsilon_label", partial(of_scheme, number=lambda it: it.epsilon), rounded),
        Column(LABEL, "δ", "delta_label", partial(of_scheme, number=delta), rounded),
        Column(STD, "upload", "upload_noise_std", sent, rounded),
        Column(STD, "broadcast", "broadcast_noise_std", partial(fact, name="broadcast_noise_std"), rounded),
        Column("ε", "if 2C/n held", "epsilon_if", partial(if_right, spend=declared.spend), shown),
        holds,
        ACCURACIES[0],
    )
    table = run_table(frame, declared, name, declared.lines, columns, ())
    bare = [UNBOUNDED] if (table.display == "∞").to_numpy().any() else []
    notes = [*NOTES, *bare, *counted(frame, declared.lines, [holds])]
    return table._replace(notes=[*notes, *table.notes])


def scheme_of(frame: pd.DataFrame, run: str) -> NbAFL:
    """Return the scheme of a run; any other than NbAFL is BadInput."""
    config = json.loads(frame.loc[frame["run"] == run, "config"].iloc[0])
    return parse(NbAFL.model_validate, config["scheme"], f"labels: {run}: scheme")


def of_scheme(frame: pd.DataFrame, run: str, number: Callable[[NbAFL], float]) -> pd.Series:
    """Return a number that the config alone decides, for every seed."""
    seeds = frame.loc[frame["run"] == run, "seed"].unique()
    return pd.Series(number(scheme_of(frame, run)), index=seeds)


def delta(scheme: NbAFL) -> float:
    """Return the δ whose constant c would be: c = √(2 ln(1.25/δ))."""
    return 1.25 * float(np.exp(-(scheme.constant**2) / 2))


def sent(frame: pd.DataFrame, run: str) -> pd.Series:
    """Return by seed the least std of the noise on an upload, the mean over rounds that had any."""
    return fact(frame.loc[frame["cohort_size"] > 0], run, "upload_noise_std")


def if_right(frame: pd.DataFrame, run: str, spend: Choice) -> pd.Series:
    """Return by seed the ε of all rounds if a client with n examples moved its upload by 2C/n at most."""
    scheme, rows = scheme_of(frame, run), frame.loc[frame["run"] == run]
    first = rows.iloc[0]
    alone = RoundContext(
        1,
        int(first["rounds_wanted"]),
        int(first["population"]),
        float(first["expected_cohort"]),
        np.ones(1),
        1,
        (),
        Streams(0, run),
    )
    # The noise is in proportion to 1/n, so that one example will do.
    multiplier = float(scheme.uplink_std(alone)[0]) / (2 * scheme.weight_clip)
    last = rows.groupby("seed")["round"].max()
    at = rows.loc[rows["accounting"] == spend.accounting, "delta"]
    if at.empty:
        return pd.Series(np.nan, index=last.index)
    found = {
        rounds: composed(
            sampling_rate=1,
            noise_multiplier=multiplier,
            rounds=rounds,
            delta=float(at.iloc[0]),
            accountant="pld",
        ).epsilon
        for rounds in set(last)
    }
    return last.map(found)
