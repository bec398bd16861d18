"""Whether an accuracy that is read at the round where a budget ends says anything of its run.

It does not where training oscillates, where the network predicts one class, and where a budget ends in the
middle of the first steps. A table then prints "unstable" and the reason, no interval.
"""

import numpy as np
import pandas as pd

from fedpriv.report.reading import accuracies
from fedpriv.report.results import Results

UNSTABLE = "unstable"
ONE_CLASS, OSCILLATES, RISES = "predicts one class", "oscillates", "rises"
MEANT = {
    ONE_CLASS: "every seed predicts one class",
    OSCILLATES: "the accuracy goes up and down from one evaluated round to the next",
    RISES: "the next evaluated round is more than 10 points better",
}
JUMP = 0.03  # between two evaluated rounds, up and down again: an oscillation
NEAR = 0.0025  # to the share of the largest class: one class is all that is predicted
STEEP = 0.1  # to the next evaluated round


def unstable(results: Results, run: str, read: pd.DataFrame) -> str:
    """Return why the reading `read` of `run` says nothing of it, or the empty string.

    A reading oscillates where accuracies of more than half of the seeds go up and down by more than 3 points
    at the round read, or where that round lies between two at which all seeds predict one class. It rises
    where the mean over seeds does, by more than 10 points to the next evaluated round.
    """
    found = read["accuracy"].to_numpy(dtype=float)
    if not len(found) or not np.isfinite(found).all():
        return ""
    evaluated = accuracies(results, run).pivot(index="round", columns="seed", values="test_accuracy")
    largest = results.fact(run, "majority")
    if (np.abs(found - largest) <= NEAR).all():
        return f"{UNSTABLE}: {ONE_CLASS}"
    seeds = [(evaluated[seed].dropna(), at) for seed, at in read["round"].items()]
    windows = np.array([around(*seed) for seed in seeds])
    steps = np.diff(windows)
    turns = (steps[:, 0] * steps[:, 1] < 0) & (np.abs(steps) > JUMP).all(axis=1)
    if turns.mean() > 0.5 or (np.abs(windows[:, [0, 2]] - largest) <= NEAR).all():
        return f"{UNSTABLE}: {OSCILLATES}"
    later = np.array([of_seed[of_seed.index > at].iloc[:1].mean() for of_seed, at in seeds])  # NaN at the end
    return f"{UNSTABLE}: {RISES}" if np.mean(later - found) > STEEP else ""


def is_unstable(status: object) -> bool:
    """Return whether the status of a number says that it is unstable."""
    return str(status).startswith(UNSTABLE)


def without_interval(mean: float) -> str:
    """Return an unstable accuracy, a fraction, in percent."""
    return f"{UNSTABLE} ({100 * mean:.1f})"


def around(evaluated: pd.Series, at: float) -> np.ndarray:
    """Return the accuracies at the round `at` and at those evaluated before and after it; at an end the next.

    Of fewer than three there is nothing to compare: NaN.
    """
    if len(evaluated) < 3:
        return np.full(3, np.nan)
    place = int(np.clip(evaluated.index.searchsorted(at), 1, len(evaluated) - 2))
    return evaluated.to_numpy(dtype=float)[place - 1 : place + 2]
