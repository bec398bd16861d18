"""With which settings, if a paper says none, its pairs of accuracy and ε come out: a study of finished runs.

    fedpriv rerender readings/bdp2019_readings --out /tmp/readings
    python examples/readings/readings.py /tmp/readings/readings/bdp2019_readings

takes some minutes, most for the first line, which `make readings` does too. The second writes
results/readings_study: the tables beside this file, with the published pair and a line for every
configuration. settings.yaml says what is looked for, docs/hyper-parameters.md what came out.

Runs that differ in σ and C alone, at equal noise σC, are one family. At a σ of which it has no run of its
own, the one with the loosest C is counted at that σ (recount.py), if it would have clipped no update.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from recount import clipped, counted_at, with_recounted

from fedpriv.errors import BadInput
from fedpriv.paper.epsilons import SELECTOR_COLUMNS
from fedpriv.paper.paper import read_yaml
from fedpriv.report import numbers, render
from fedpriv.report.lines import STATISTIC, Line, counted_by, tidy
from fedpriv.report.metrics import epsilon_text
from fedpriv.report.notes import footnotes, preset_notes
from fedpriv.report.numbers import interval
from fedpriv.report.results import MEANING, Results, RunResults, flatten, load_results
from fedpriv.report.sample import Sample

MATCHING = {"expected": "remove_sum", "present": "remove_mean"}  # denominator -> its neighbours' distance
KEY = ["table", "row", "run", "trained", "noise_multiplier", "clip_l2", "column", "quantity"]
COLUMNS = [*KEY, *STATISTIC, "delta", *SELECTOR_COLUMNS, *MEANING]
BDP = {"product": "BDP", "product, plain mean": "BDP by the plain mean"}
END = "After the last round"
ENDS = {
    "product": "ε, bound",
    "product, 30 clients": "ε, bound, 30 clients",
    "product, plain mean": "ε, plain mean",
    "product, plain mean, 30 clients": "ε, plain mean, 30 clients",
}
ACCURACY = "accuracy (%)"


class Counting(NamedTuple):
    """An ε of a run that was counted at another σ, by the columns of the ledger."""

    accountant: str
    composition: str = ""
    distance: str = ""
    sensitivity: str = ""
    accounting: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self)


class Configuration(NamedTuple):
    """A run and the σ that it is counted at, or why it is not."""

    run: str
    noise_multiplier: float
    clip_l2: float
    denominator: str
    everybody: bool  # whether all clients take part in every round
    own: bool  # whether the run was trained with this σ
    refused: str  # that it was clipped, and why; empty: it is counted

    @property
    def moments(self) -> Counting:
        """Return the ε of DP."""
        return Counting("moments", sensitivity=counted_at(self.clip_l2))

    def estimate(self, estimator: str = "product") -> Counting:
        """Return the Bayesian ε by one of `recount.ESTIMATORS`."""
        return Counting("bayesian", estimator, MATCHING[self.denominator], counted_at(self.clip_l2))


class Outcome(NamedTuple):
    """What comes of a configuration, by seed: read within the published ε, and how far off that is."""

    dp: pd.DataFrame  # a reading: round and accuracy
    bdp: pd.DataFrame
    epsilon: pd.Series  # the Bayesian ε that is compared with the published one
    spent: pd.Series  # the ε of DP at the same round
    distance: pd.Series


class Wanted(NamedTuple):
    """A published pair, and the runs that are held against it, by the keys of settings.yaml."""

    points: float
    ratio: float
    multipliers: Sequence[float]
    caption: str
    place: str
    data: str
    clients: int
    match: str
    dp: dict[str, float]
    bdp: dict[str, float]
    keys: dict[str, str]
    baseline: dict[str, Any] | None = None

    def runs(self, results: Results) -> list[str]:
        """Return the runs that match, in their order."""
        return [run for run in dict.fromkeys(results.runs["run"]) if fnmatchcase(run, self.match)]


def declared_in(path: Path) -> dict[str, Wanted]:
    """Return what is looked for by the names of tables, as settings.yaml says it."""
    settings = read_yaml(path)
    tables = settings.pop("tables")
    return {name: Wanted(**settings, **own) for name, own in tables.items()}


def configurations(results: Results, declared: Wanted) -> list[Configuration]:
    """Return a configuration for every family of runs and every σ, in the order of the runs."""
    families: dict[str, dict[float, str]] = {}
    for run in declared.runs(results):
        config = results.run(run).config
        if not {"noise_multiplier", "clip_l2"} <= set(config["scheme"]):
            scheme = config["scheme"].get("name", "another")
            raise BadInput(f"readings: {run}: found scheme {scheme}, allowed: client_dp, with its σ and C")
        sigma, clip = (config["scheme"].pop(key) for key in ("noise_multiplier", "clip_l2"))
        family = json.dumps([config, f"{sigma * clip:.6g}"], sort_keys=True)
        families.setdefault(family, {})[sigma] = run
    return [setup for runs in families.values() for setup in of_family(results, runs, declared.multipliers)]


def of_family(
    results: Results, runs: Mapping[float, str], multipliers: Sequence[float]
) -> Iterator[Configuration]:
    """Yield the configurations of the runs of one noise, by their σ."""
    loosest = runs[min(runs)]  # in C
    for sigma in sorted({*multipliers, *runs}):
        run = runs.get(sigma, loosest)
        trace = results.run(run).rounds
        bound = float(trace["noise_std"].iloc[0]) / sigma
        reasons = [f"clipped: {why}" for _, rows in trace.groupby("seed") if (why := clipped(rows, sigma))]
        yield Configuration(
            run,
            sigma,
            bound,
            str(trace["denominator"].iloc[0]),
            bool((trace["sampling_rate"] == 1).all()),
            sigma in runs,
            next(iter(reasons), ""),
        )


def targets(results: Results, declared: Wanted) -> tuple[float, float]:
    """Return the accuracies that DP and BDP are compared with.

    They are the published ones or, with a baseline, as far below ours as these are below the published one.
    """
    moved = 0.0
    if declared.baseline:
        ours = interval(results.run(declared.baseline["run"]).last()["value"])
        moved = ours.mean - declared.baseline["accuracy"]  # NaN: it was not run
    return declared.dp["accuracy"] + moved, declared.bdp["accuracy"] + moved


def outcome(
    run: RunResults,
    declared: Wanted,
    setup: Configuration,
    goals: tuple[float, float],
    estimator: str = "product",
) -> Outcome:
    """Return what comes of a configuration that was not clipped.

    Its distance to what is published is √(x² + y² + z² + u²): x and y are how far the accuracies of DP and
    BDP, each at the last evaluated round within its published ε, are from those `goals`, over `points`; z is
    the log of the Bayesian ε over the published one, over the log of `ratio`. That ε is the one at the last
    round within the budget, if the accuracy reaches the target there; else the one at the first later round
    that does; or, where none does, at the last. u is the same as z of the ε of DP at that round, where it is
    below the published one: one run has both, and DP may have been stopped before, but not after. Without a
    round within one of the budgets there is no distance.
    """
    counting = setup.estimate(estimator)
    dp = run.within((setup.moments, declared.dp["epsilon"]))
    bdp = run.within((counting, declared.bdp["epsilon"]))
    at = compared_at(run, bdp, goals[1])
    epsilon, spent = (run.epsilon(of, at) for of in (counting, setup.moments))
    x = 100 * (dp["value"] - goals[0]) / declared.points
    y = 100 * (bdp["value"] - goals[1]) / declared.points
    z = (epsilon / declared.bdp["epsilon"]).map(math.log) / math.log(declared.ratio)
    u = (spent / declared.dp["epsilon"]).map(math.log).clip(upper=0) / math.log(declared.ratio)
    return Outcome(dp, bdp, epsilon, spent, np.sqrt(x**2 + y**2 + z**2 + u**2).replace(np.inf, np.nan))


def compared_at(run: RunResults, read: pd.DataFrame, goal: float) -> pd.Series:
    """Return by seed the round at which the ε that is compared is read."""
    rounds = run.evaluations()
    until = rounds["seed"].map(read["round"])
    # Where no round is within the budget all are later.
    enough = (rounds["value"] >= goal) & ~(rounds["round"] <= until)
    seeds = rounds["seed"]
    later = rounds["round"].where(enough).groupby(seeds).min()
    last = rounds["round"].groupby(seeds).max()
    return read["round"].where(read["value"] >= goal, later.fillna(last))


def readings_table(results: Results, declared: Wanted, name: str) -> render.PrintedTable:
    """Return the published pair, and a line for every configuration: nearest first, clipped last."""
    goals = targets(results, declared)
    setups = configurations(results, declared)
    by_setup = {setup: numbers_of(results, declared, setup, goals) for setup in setups}
    order = sorted(by_setup, key=lambda setup: (bool(setup.refused), distance_of(by_setup[setup])))
    nearest = [setup for setup in order[:1] if distance_of(by_setup[setup]) < math.inf]
    settings = {}
    for setup in order:
        config = flatten(results.run(setup.run).config)
        settings[setup] = {key: config.get(key, otherwise) for key, otherwise in declared.keys.items()}
    lines = []
    for setup in order:
        about = settings[setup] | ({"status": "nearest"} if setup in nearest else {})
        lines += tidy_lines(setup, by_setup[setup], about)
    rows = [published(declared)]
    for setup in order:
        cells = {number.heading: number.show(number.sample) for number in by_setup[setup]}
        texts = {("", key): text for key, text in settings[setup].items()}
        rows.append({("", "Run"): called(setup, setup in nearest)} | sigma_and_clip(setup) | texts | cells)
    headings = dict.fromkeys(heading for line in [*rows[1:2], *rows] for heading in line)
    names = {heading: " ".join(filter(None, heading)) for heading in headings}
    display = pd.DataFrame(
        [{name: line.get(heading, "") for heading, name in names.items()} for line in rows]
    )
    baseline = [declared.baseline["run"]] if declared.baseline else []
    used = results.of(*declared.runs(results), *baseline)
    missing = [run for run in baseline if not results.has(run)]
    notes = [
        "What is published stands as printed.",
        *how_read(declared, goals),
        *how_many(order),
        *footnotes(used),
    ]
    notes += preset_notes(used.runs, missing)
    long = tidy(name, [*COLUMNS, *declared.keys, "status"], lines)
    title = f"Configurations of {declared.place}, {declared.data}, {declared.clients:,} clients"
    caption = declared.caption.format(place=declared.place)
    return render.PrintedTable(name, title, long, display, notes, caption=caption)


class Number(NamedTuple):
    """A number of a configuration: its heading, what it is, and how it is printed."""

    heading: tuple[str, str]
    quantity: str
    sample: Sample
    show: Callable[[Any], str]
    column: str = ""  # in the CSV; by default the heading


def tidy_lines(setup: Configuration, every: Sequence[Number], about: Mapping[str, str]) -> Iterator[Line]:
    """Yield the numbers of a configuration for machines; of one that was clipped there is but its status."""
    row = f"{setup.run}, σ = {setup.noise_multiplier:g}"
    known = {
        "run": setup.run,
        "trained": "by itself" if setup.own else "counted again",
        "noise_multiplier": setup.noise_multiplier,
        "clip_l2": setup.clip_l2,
        **about,
    }
    if setup.refused:
        yield Line(row, "", "", about=known | {"status": setup.refused})
    for number in every:
        column = number.column or " ".join(filter(None, number.heading))
        yield Line(row, column, number.quantity, number.sample, known | number.sample.meaning)


def numbers_of(
    results: Results, declared: Wanted, setup: Configuration, goals: tuple[float, float]
) -> list[Number]:
    """Return every number of a configuration; of one that was clipped there is none."""
    if setup.refused:
        return []
    run = results.run(setup.run)
    over_median = Sample(setup.clip_l2 / run.mean_of_rounds("norm_median"))
    numbers_read = [Number(("", "C / median"), "over_median", over_median, numbers.three_digits)]
    for estimator, column in BDP.items():
        read = outcome(run, declared, setup, goals, estimator)
        numbers_read += outcome_numbers(run, declared, setup, read, estimator, column)
    last = Sample(run.last()["value"])
    numbers_read.append(Number((END, ACCURACY), "accuracy", last, numbers.percent))
    ends = {"ε, moments": setup.moments} | {label: setup.estimate(name) for name, label in ENDS.items()}
    numbers_read += [epsilon_number((END, label), epsilon(run, of)) for label, of in ends.items()]
    return numbers_read


def outcome_numbers(
    run: RunResults, declared: Wanted, setup: Configuration, read: Outcome, estimator: str, column: str
) -> Iterator[Number]:
    """Yield the numbers of what comes of a configuration under one estimator; those of DP with the first."""
    counting = setup.estimate(estimator)
    cells = {column: (declared.bdp, read.bdp, counting)}
    if estimator == "product":
        cells = {"DP": (declared.dp, read.dp, setup.moments)} | cells
    for label, (pair, at, counted) in cells.items():
        group = budget(label, pair)
        yield Number((group, ACCURACY), "accuracy", Sample(at["value"]), numbers.percent, label)
        yield Number((group, "round"), "round", Sample(at["round"]), numbers.round_range, label)
        yield epsilon_number((group, "ε"), epsilon(run, counted, at["round"]), column=label)
    group = budget(column, declared.bdp)
    compared = Sample(read.epsilon, meaning=epsilon(run, counting).meaning)
    yield epsilon_number((group, "ε compared"), compared, "epsilon_compared", column)
    spent = Sample(read.spent, meaning=epsilon(run, setup.moments).meaning)
    yield epsilon_number((group, "ε of DP there"), spent, "epsilon_of_dp", column)
    yield Number((group, "d"), "distance", Sample(read.distance), hundredths, column)


def epsilon(run: RunResults, counting: Counting, rounds: pd.Series | None = None) -> Sample:
    """Return an ε at the rounds given by seed, or at the last evaluated one, with what gives it meaning."""
    return Sample(
        run.epsilon(counting, rounds), meaning=counted_by(counting) | run.meaning(counting, "delta")
    )


def epsilon_number(
    heading: tuple[str, str], sample: Sample, quantity: str = "epsilon", column: str = ""
) -> Number:
    """Return an ε under its heading, printed with the mark of its status."""
    return Number(heading, quantity, sample, epsilon_text, column)


def hundredths(values: pd.Series) -> str:
    """Return the mean over seeds with two digits."""
    mean = interval(values).mean
    return numbers.NONE if math.isnan(mean) else f"{mean:.2f}"


def budget(label: str, pair: Mapping[str, float]) -> str:
    """Return what stands above the columns of DP or BDP."""
    return f"{label}, ε ≤ {pair['epsilon']:g}"


def distance_of(lines: Sequence[Number]) -> float:
    """Return the mean distance of a configuration to what was published, infinite where there is none."""
    distances = [line.sample for line in lines if line.quantity == "distance" and line.column == "BDP"]
    mean = distances[0].interval.mean if distances else math.nan
    return math.inf if math.isnan(mean) else mean


def called(setup: Configuration, nearest: bool) -> str:
    """Return what a line is called."""
    state = "clipped: train it" if setup.refused else "nearest" if nearest else ""
    return f"{setup.run} ({state})" if state else setup.run


def sigma_and_clip(setup: Configuration) -> dict[tuple[str, str], str]:
    """Return what the run is counted at; in brackets where it was trained with others."""
    sigma, clip = f"{setup.noise_multiplier:g}", f"{setup.clip_l2:.3g}"
    return {("", "σ"): sigma if setup.own else f"({sigma})", ("", "C"): clip if setup.own else f"({clip})"}


def published(declared: Wanted) -> dict[tuple[str, str], str]:
    """Return the line of what the paper prints."""
    line = {("", "Run"): "published"}
    for label, pair in (("DP", declared.dp), ("BDP", declared.bdp)):
        group = budget(label, pair)
        line |= {(group, ACCURACY): f"{100 * pair['accuracy']:g}", (group, "ε"): f"{pair['epsilon']:g}"}
    return line


def how_read(declared: Wanted, goals: tuple[float, float]) -> Iterator[str]:
    """Yield the notes that say what the columns are, and what is near."""
    dp, bdp = declared.dp["epsilon"], declared.bdp["epsilon"]
    yield (
        f"DP: at the last evaluated round before ε (moments, sensitivity C) exceeds {dp:g}. BDP: the same of "
        f"{bdp:g} and the Bayesian estimate (product) from all clients who came, by distance remove_sum, or "
        "remove_mean where the denominator is the clients present."
    )
    there = " and ".join(f"{100 * accuracy:.1f}" for accuracy in goals)
    ours = "as far below our baseline as the published ones are below theirs"
    yield (
        f"d = √(x² + y² + z² + u²): x and y are the accuracies of DP and BDP less {there} %, "
        f"{ours if declared.baseline else 'those published'}, over {declared.points:g} points; z is the log "
        f"of the compared ε over {bdp:g}, over log {declared.ratio:g}. Compared is the ε of the BDP column "
        "if its accuracy is reached there; else that of the first later round that reaches it, or of the "
        f"last round. u is that log of the ε of DP at the same round over {dp:g}, where it is negative. "
        "Without a round within one of the budgets there is no d. The least is the nearest."
    )
    yield (
        "Bound: on the mean of exp(λD), as BDP counts; plain mean: without what makes a bound of it. "
        "30 clients: at most 30 of those who came."
    )


def how_many(order: Sequence[Configuration]) -> Iterator[str]:
    """Yield the note that says which configurations were trained."""
    valid = [setup for setup in order if not setup.refused]
    again = sum(not setup.own for setup in valid)
    yield (
        f"{len(valid)} configurations of {len({setup.run for setup in valid})} runs. In brackets, {again}: "
        "the σ and C of a run that was trained with another σ at the same noise σC, and that would have "
        "clipped no update at this C either: it would have been the same run."
    )
    if gone := len(order) - len(valid):
        yield (
            f"Clipped, {gone}: at this C some update of the run with the loosest C would have been cut. That "
            "is another run, which was not trained; there is nothing to count."
        )


if __name__ == "__main__":
    folder = Path(*sys.argv[1:]) if sys.argv[1:] else Path("results/readings/bdp2019_readings")
    out = Path("results/readings_study")
    out.mkdir(parents=True, exist_ok=True)
    results = load_results(folder)
    for name, declared in declared_in(Path(__file__).with_name("settings.yaml")).items():
        counted = with_recounted(results, folder / "runs", declared.runs(results), declared.multipliers)
        render.write_table_files(readings_table(counted, declared, name), out / name)
