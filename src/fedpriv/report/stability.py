"""Whether an accuracy that is read where a budget ends says anything of its run.

It says nothing where training oscillates, where the network predicts one class, and where a budget ends in
the middle of the first steps. A table then prints "unstable" and the reason, no interval.
"""

import numpy as np
import pandas as pd

from fedpriv.report.results import RunResults, by_round
from fedpriv.report.verdicts import UNSTABLE

ONE_CLASS, OSCILLATES, RISES = "predicts one class", "oscillates", "rises"
MEANT = {
    ONE_CLASS: "every seed predicts one class",
    OSCILLATES: "the accuracy goes up and down from one evaluated round to the next",
    RISES: "the next evaluated round is more than 10 points better",
}
JUMP = 0.03  # between two evaluated rounds, up and down again: an oscillation
NEAR = 0.0025  # to the share of the largest class: one class is all that is predicted
STEEP = 0.1  # to the next evaluated round


def instability(run: RunResults, read: pd.DataFrame) -> str:
    """Reason why a reading says nothing of its run; empty: there is none.

    A reading oscillates where accuracies of more than half of the seeds go up and down by more than 3 points
    at the round read, or where that round lies between two at which all seeds predict one class. It rises
    where the mean over seeds does, by more than 10 points to the next evaluated round.
    """
    values = read["value"].to_numpy(dtype=float)
    if not len(values) or not np.isfinite(values).all():
        return ""
    rounds = by_round(run.evaluations())
    largest = run.fact("majority")
    if (np.abs(values - largest) <= NEAR).all():
        return f"{UNSTABLE}: {ONE_CLASS}"
    seeds = [(rounds[seed].dropna(), at) for seed, at in read["round"].items()]
    windows = np.array([window(accuracies, at) for accuracies, at in seeds])
    steps = np.diff(windows)
    turns = (steps[:, 0] * steps[:, 1] < 0) & (np.abs(steps) > JUMP).all(axis=1)
    if turns.mean() > 0.5 or (np.abs(windows[:, [0, 2]] - largest) <= NEAR).all():
        return f"{UNSTABLE}: {OSCILLATES}"
    later = np.array([after.loc[after.index > at].iloc[:1].mean() for after, at in seeds])  # NaN at the end
    return f"{UNSTABLE}: {RISES}" if np.mean(later - values) > STEEP else ""


def window(accuracies: pd.Series, at: float) -> np.ndarray:
    """Return the three accuracies around the round `at`, by round; at an end the next, of fewer NaN."""
    if len(accuracies) < 3:
        return np.full(3, np.nan)
    middle = int(np.clip(accuracies.index.searchsorted(at), 1, len(accuracies) - 2))
    return accuracies.to_numpy(dtype=float)[middle - 1 : middle + 2]
