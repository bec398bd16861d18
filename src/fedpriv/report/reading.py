"""Read results: what was evaluated at the last round, or the last within budgets; ε; facts of rounds."""

import math
from typing import Any

import pandas as pd

from fedpriv.account.statement import status
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.tables import Cell
from fedpriv.report.results import WIDTH, Results, rows_of

# Every reading is a frame with one row a seed and these columns; NaN where there is no such round. A run
# that has diverged has no number at all: its accuracy is below every other.
READING = ["round", "value"]
DIVERGED = -math.inf
MEANING = ("unit", "relation", "sampling_law", "kind", "epsilon_status")  # of an ε, beside its selector


def evaluations(results: Results, run: str, metric: str = "accuracy", drawn: bool = False) -> pd.DataFrame:
    """Return seed, round and value of a metric at every evaluated round of `run`, once each, in order.

    `drawn` asks for the accuracy of some clients, drawn with replacement. Where all clients hold the weights
    of the server, that is the accuracy of these.
    """
    rounds = rows_of(results.rounds, run)
    values = rounds[f"test_{metric}"]
    if drawn:
        values = rounds["test_accuracy_drawn"].fillna(values)
    evaluated = rounds[["seed", "round"]].assign(value=values).dropna()
    return evaluated.sort_values(["seed", "round"], ignore_index=True)


def by_round(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Lay out evaluated values with a row a round and a column a seed."""
    return evaluated.pivot(index="round", columns="seed", values="value")


def ledger_rows(results: Results, run: str, selector: EpsilonSelector) -> pd.DataFrame:
    """Return the rows of `run` that hold the ε which `selector` means, in order of seed and round."""
    return results.epsilons.iloc[results.epsilon_rows.get((run, *selector.key), [])]


def meaning(rows: pd.DataFrame, *more: str) -> dict[str, Any]:
    """Return for whom and against whom the ε in `rows` of a ledger holds, and `more`; of no rows, nothing."""
    if rows.empty:
        return {}
    first = rows.iloc[0]
    failing = rows.loc[rows["violation"] != "", "violation"]  # of any row: a few rounds are enough
    state = {"epsilon_status": status(first["kind"], *failing.iloc[:1])}
    return {name: first[name] for name in (*MEANING, *more) if name != "epsilon_status"} | state


def status_of(results: Results, run: str, selector: EpsilonSelector) -> str:
    """Status of the ε of a run that are counted so; empty where its ledger has none."""
    return str(meaning(ledger_rows(results, run, selector)).get("epsilon_status", ""))


def last_reading(results: Results, run: str, metric: str = "accuracy") -> pd.DataFrame:
    """Return the reading of `run` at its last evaluated round."""
    return with_divergence(results, run, evaluations(results, run, metric).groupby("seed").last())


def best_drawn(results: Results, run: str) -> pd.DataFrame:
    """Return the reading of `run` at sampled clients' best round, which the test split itself decides."""
    read = evaluations(results, run, drawn=True)
    best = read.loc[read.groupby("seed")["value"].idxmax()]
    return with_divergence(results, run, best.set_index("seed"))


def reading_within(
    results: Results, run: str, *budgets: tuple[EpsilonSelector, float], metric: str = "accuracy"
) -> pd.DataFrame:
    """Return the reading of `run` at the last evaluated round before any ε first exceeds its budget.

    A seed that can afford no round has NaN.
    """
    seeds = sorted(rows_of(results.runs, run)["seed"])
    ends = pd.concat([affordable_rounds(results, run, *budget).reindex(seeds) for budget in budgets], axis=1)
    last = ends.min(axis="columns", skipna=False)
    every = evaluations(results, run, metric)
    read = every.loc[every["round"] <= every["seed"].map(last)].groupby("seed").last()
    return with_divergence(results, run, read.astype(float).reindex(last.index), last)


def with_divergence(
    results: Results, run: str, read: pd.DataFrame, until: pd.Series | None = None
) -> pd.DataFrame:
    """Return rounds read, by seed, as a reading in which a seed that has diverged has no number.

    Where a budget ended before that, by seed at round `until`, it is read as it was then.
    """
    read = read.filter(READING)
    ends = divergence_rounds(results, run)
    if until is not None:
        ends = ends.loc[ends <= until.reindex(ends.index)]
    read = read.reindex(read.index.union(ends.index))
    read.loc[ends.index, "round"], read.loc[ends.index, "value"] = ends, DIVERGED
    return read


def divergence_rounds(results: Results, run: str) -> pd.Series:
    """Return by seed the round after which the weights were no longer finite, for those where it came."""
    runs = rows_of(results.runs, run)
    ends = runs["diverged"].set_axis(runs["seed"]).sort_index()
    return ends.loc[ends > 0]


def affordable_rounds(results: Results, run: str, selector: EpsilonSelector, budget: float) -> pd.Series:
    """Return by seed the last round before ε first exceeds `budget`; a seed without any is left out."""
    rows = ledger_rows(results, run, selector)
    fine = (rows["epsilon"] <= budget).groupby(rows["seed"]).cummin()
    return rows.loc[fine, ["seed", "round"]].groupby("seed").last().loc[:, "round"]


def reading(results: Results, cell: Cell, metric: str = "accuracy") -> pd.DataFrame:
    """Return the reading of one cell of a table."""
    if cell.within:
        return reading_within(results, cell.run, *cell.budgets, metric=metric)
    return last_reading(results, cell.run, metric)


def epsilon_at(
    results: Results, run: str, selector: EpsilonSelector, rounds: pd.Series | None = None
) -> pd.Series:
    """Return by seed the ε of `selector` at the rounds given by seed, or at the last round."""
    rows = ledger_rows(results, run, selector)
    if rounds is None:
        return rows[["seed", "epsilon"]].groupby("seed").last().loc[:, "epsilon"]
    at = rows.loc[rows["round"].to_numpy() == rounds.reindex(rows["seed"]).to_numpy()]
    return at.set_index("seed").loc[:, "epsilon"].reindex(rounds.index)


def delta(results: Results, run: str, selector: EpsilonSelector) -> pd.Series:
    """Return by seed the δ at which an ε is counted."""
    return ledger_rows(results, run, selector).groupby("seed")["delta"].first()


def growth(results: Results, run: str, selector: EpsilonSelector) -> pd.DataFrame:
    """Return by how much ε exceeds its value after the first round: a row a round, a column a seed."""
    seeds = ledger_rows(results, run, selector).pivot(index="round", columns="seed", values="epsilon")
    return seeds - seeds.iloc[:1].to_numpy()


def mean_of_rounds(results: Results, run: str, name: str) -> pd.Series:
    """Return by seed the mean over rounds of a column of the trace."""
    return rows_of(results.rounds, run).groupby("seed")[name].mean()


def numbers_sent(results: Results, run: str) -> pd.Series:
    """Return by seed how many numbers a client sends in a round, protected or in the clear."""
    bits, clear, sent = (
        mean_of_rounds(results, run, name) for name in ("noisy_bits", "clear_values", "upload_bytes")
    )
    return (bits + clear).where(bits > 0, sent / WIDTH)


def float32_bytes(results: Results, run: str) -> pd.Series:
    """Return by seed the bytes of these numbers in float32."""
    return WIDTH * numbers_sent(results, run)


def least_noise(results: Results, run: str) -> pd.Series:
    """Return by seed the least std of the noise on an upload, the mean over rounds that had any."""
    trace = rows_of(results.rounds, run)
    return trace.loc[trace["cohort_size"] > 0].groupby("seed")["upload_noise_std"].mean()
