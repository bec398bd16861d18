"""Both ε of a row: with which settings, and by which way of counting, one run has the pair that is printed.

A row of Tables I to III prints two ε of one run. Where both accuracies are equal, both ε are its last;
where BDP's is higher, DP was stopped before, and its ε at the end is at least the printed one
(section VI-B). Accuracies are not looked at here.
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.statement import mark_epsilon
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.tables import full_title
from fedpriv.report import numbers
from fedpriv.report.lines import Line, counted_by, tidy
from fedpriv.report.notes import footnotes
from fedpriv.report.render import PrintedTable


class Row(NamedTuple):
    """What the paper prints in a row of Tables I to III, and which runs are of it."""

    place: str
    dataset: str
    law: str
    clients: int
    dp: float
    bdp: float
    stopped: bool  # whether the printed accuracy of BDP is higher than that of DP

    @property
    def name(self) -> str:
        return f"{self.place}, N = {self.clients:,}"

    def has(self, config) -> bool:
        """Return True of the config of a run of this row under a scheme that both accountants count."""
        partition = config["partition"]
        return (
            (config["dataset"], partition["law"], partition["clients"]) == self[1:4]
            and config["scheme"]["name"] == "client_dp"
            and config["cohort"]["law"] in ("poisson", "full")
        )


ROWS = [
    Row("Table I", "mnist", "shards", 100, 8, 4.0, True),
    Row("Table I", "mnist", "shards", 1000, 3, 1.5, True),
    Row("Table I", "mnist", "shards", 10_000, 1, 0.6, True),
    Row("Table II", "mnist", "iid", 100, 8, 2.0, True),
    Row("Table II", "mnist", "iid", 1000, 3, 1.0, False),
    Row("Table II", "mnist", "iid", 10_000, 1, 0.5, True),
    Row("Table III", "aptos", "iid", 100, 8, 2.1, True),
    Row("Table III", "aptos", "iid", 1000, 2, 0.5, True),
    Row("Table III", "aptos", "iid", 10_000, 1, 0.2, True),
]
DP = EpsilonSelector(accountant="moments", sensitivity="C")
WAYS = [
    EpsilonSelector(accountant="bayesian", composition=composition, distance=distance)
    for composition, distance in product(("product", "hoelder"), ("remove_mean", "remove_sum"))
]
DIGITS = {"dp": 0, "bdp": 1}  # behind the point, as printed
COLUMNS = [
    *("table", "row", "column", "quantity", "value", "run", "round", "comes_out"),
    *("noise_multiplier", "clip_l2", "sampling_rate", "accountant", "composition", "distance", "sensitivity"),
    *("unit", "relation", "sampling_law", "kind", "epsilon_status", "delta"),
]


class Pair(NamedTuple):
    """Both ε of a run at a round."""

    run: str
    round: int
    dp: float
    bdp: float

    def comes_out(self, row: Row) -> bool:
        """Return True where both ε, rounded as they are printed, are the row's."""
        dp = round(self.dp, DIGITS["dp"])
        return round(self.bdp, DIGITS["bdp"]) == row.bdp and (dp == row.dp or (row.stopped and dp > row.dp))

    def distance(self, row: Row) -> float:
        """Return how far both ε are from the printed ones, as logarithms.

        Where DP was stopped before, its ε is only far if it is too small.
        """
        dp = math.log(self.dp / row.dp)
        return math.hypot(math.log(self.bdp / row.bdp), max(-dp, 0.0) if row.stopped else dp)


def pairs_of(results, run: str, way: EpsilonSelector) -> list[Pair]:
    """Return both ε of a run's first seed after every round."""
    dp, bdp = (
        ledger.loc[ledger["seed"] == ledger["seed"].min()].set_index("round")["epsilon"]
        for ledger in (results.run(run).ledger(selector) for selector in (DP, way))
    )
    both = pd.concat({"dp": dp, "bdp": bdp}, axis="columns", join="inner").replace(0.0, np.nan).dropna()
    return [Pair(run, int(at), *each) for at, each in zip(both.index, both.to_numpy(), strict=True)]


def nearest(results, row: Row, way: EpsilonSelector) -> tuple[Pair | None, int, int]:
    """Return the pair that is nearest to the printed one, how many runs have it, and of how many runs."""
    best, having, runs = [], 0, 0
    for run in results.runs["run"].unique():
        if row.has(results.run(run).config) and (every := pairs_of(results, run, way)):
            runs += 1
            fits = [pair for pair in every if pair.comes_out(row)]
            having += bool(fits)
            best.append(min(fits or every, key=lambda pair: pair.distance(row)))
    best.sort(key=lambda pair: (not pair.comes_out(row), pair.distance(row)))
    return (best[0] if best else None), having, runs


def lines_of(results) -> Iterator[tuple[dict, list[Line]]]:
    """Yield a line for people, and its numbers for machines, of every row and way of counting."""
    for row, way in product(ROWS, WAYS):
        printed = f"{row.dp:g} and {row.bdp:g}"
        pair, having, runs = nearest(results, row, way)
        line = {"Row": row.name, "Printed": printed, "BDP counted by": f"{way.composition}, {way.distance}"}
        if not pair:
            if way == WAYS[0]:
                yield line | {"BDP counted by": "", "Comes out in": "not run"}, []
            continue
        run = results.run(pair.run)
        scheme, status = run.config["scheme"], run.status(DP)
        rate = float(run.rounds["sampling_rate"].iloc[0])
        texts = {
            "Comes out in": f"{having} of {runs} runs",
            "Nearest": pair.run,
            "σ": f"{scheme['noise_multiplier']:g}",
            "C": f"{scheme['clip_l2']:g}",
            "q": f"{rate:g}",
            "Round": str(pair.round),
            "ε of DP": mark_epsilon(numbers.size([pair.dp]), status),
            "ε of BDP": mark_epsilon(numbers.size([pair.bdp]), "estimate"),
        }
        about = {
            "run": pair.run,
            "round": pair.round,
            "comes_out": f"{having} of {runs}",
            "noise_multiplier": scheme["noise_multiplier"],
            "clip_l2": scheme["clip_l2"],
            "sampling_rate": rate,
        }
        ways = {"DP": (DP, pair.dp), "BDP": (way, pair.bdp)}
        yield (
            line | texts,
            [
                Line(
                    row.name,
                    column,
                    "epsilon",
                    epsilon,
                    about | counted_by(selector) | run.meaning(selector, "delta"),
                )
                for column, (selector, epsilon) in ways.items()
            ],
        )


def pairs(results, declared, name):
    """Return the table: for every row and way of counting how many runs have the pair, and the nearest."""
    lines = list(lines_of(results))
    of_way = {}
    for line in (line for line, some in lines if some):
        having = of_way.setdefault(line["BDP counted by"], [])
        having += [line["Row"]] if not line["Comes out in"].startswith("0 ") else []
    notes = [
        "A pair comes out where both ε, rounded to the printed digits, are the row's after the same round. "
        "Where the printed accuracy of DP is lower than that of BDP, DP was stopped before, and its ε may be "
        "larger. The round is any of at most 300. Accuracies are not looked at.",
        *(f"{way}: {len(rows)} of {len(ROWS)} rows come out." for way, rows in of_way.items()),
    ]
    used = {line["Nearest"] for line, _ in lines if "Nearest" in line}
    numbers_of_lines = [number for _, some in lines for number in some]
    return PrintedTable(
        name,
        full_title(declared),
        tidy(name, COLUMNS, numbers_of_lines),
        pd.DataFrame([line for line, _ in lines]).fillna(""),
        notes,
        details=footnotes(results.of(*sorted(used))),
        caption=declared.caption,
    )
