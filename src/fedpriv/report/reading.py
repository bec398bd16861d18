"""Read accuracies and ε off the collected runs: at the last round, or at the last round within a budget."""

import numpy as np
import pandas as pd

from fedpriv.report.declared import Row, Rows
from fedpriv.report.spends import WORDS, Choice

# Every reading is a frame with one row a seed and these columns; NaN where there is no such round.
BASELINE = "baseline"  # the column that is the end of the baseline run
READING = ["round", "accuracy", "epsilon"]


def accuracies(frame: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return seed, round and test_accuracy of every evaluated round of `run`, once each, in order."""
    rounds = frame.loc[frame["run"] == run, ["seed", "round", "test_accuracy"]]
    return (
        rounds.dropna().drop_duplicates(["seed", "round"]).sort_values(["seed", "round"], ignore_index=True)
    )


def spent(frame: pd.DataFrame, run: str, spend: Choice) -> pd.DataFrame:
    """Return the rows of `run` that hold the ε which `spend` means, in order of seed and round."""
    chosen = frame["run"] == run
    for column, value in zip(WORDS, spend.key, strict=True):
        chosen &= frame[column] == value
    return frame.loc[chosen].sort_values(["seed", "round"])


def at_end(frame: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return the reading of `run` at its last evaluated round; ε is left out (NaN)."""
    last = accuracies(frame, run).groupby("seed").last()
    return last.rename(columns={"test_accuracy": "accuracy"}).assign(epsilon=np.nan).filter(READING)


def within(frame: pd.DataFrame, run: str, spend: Choice, budget: float) -> pd.DataFrame:
    """Return the reading of `run` at the last evaluated round before its ε first exceeds `budget`."""
    rows = spent(frame, run, spend)
    affordable = (rows["epsilon"] <= budget).groupby(rows["seed"]).cummin()
    read = rows.loc[affordable & rows["test_accuracy"].notna()].groupby("seed").last()
    read = read.rename(columns={"test_accuracy": "accuracy"}).filter(READING)
    return read.astype(float).reindex(sorted(frame.loc[frame["run"] == run, "seed"].unique()))


def epsilon_at(frame: pd.DataFrame, run: str, spend: Choice, rounds: pd.Series | None = None) -> pd.Series:
    """Return by seed the ε of `spend` at the rounds given by seed, or at the last round."""
    rows = spent(frame, run, spend)
    if rounds is None:
        return rows.groupby("seed").last().loc[:, "epsilon"]
    at = rows.loc[rows["round"].to_numpy() == rounds.reindex(rows["seed"]).to_numpy()]
    return at.set_index("seed").loc[:, "epsilon"].reindex(rounds.index)


def column(frame: pd.DataFrame, table: Rows, row: Row, name: str) -> pd.DataFrame:
    """Return the reading of one cell of a table."""
    if name == BASELINE:
        return at_end(frame, row.baseline.run)
    return within(frame, row.run, table.columns[name].spend, row.published[name].epsilon)


def present(frame: pd.DataFrame, run: str) -> bool:
    """Return whether `run` was run."""
    return bool((frame["run"] == run).any())
