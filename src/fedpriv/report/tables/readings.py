"""A table with a configuration in every line: what comes of it beside what is published, best first."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from fedpriv.paper.cells import titled
from fedpriv.paper.readings import ReadingsTable
from fedpriv.paper.spends import SPEND_COLUMNS
from fedpriv.report import numbers
from fedpriv.report.notes import footnotes, stand_ins
from fedpriv.report.reading import epsilon_at, fact, last_reading, spent
from fedpriv.report.readings import Counting, Outcome, Reading, far, outcome, readings, targets
from fedpriv.report.render import Table
from fedpriv.report.results import Results
from fedpriv.report.settings import config_of, flattened
from fedpriv.report.tables.columns import Show
from fedpriv.report.tables.long import MEANING, STATISTIC, Number, display_frame, meaning, spend_words, tidy

KEY = ["table", "row", "run", "trained", "noise_multiplier", "clip_l2", "column", "quantity"]
COLUMNS = [*KEY, *STATISTIC, "delta", *SPEND_COLUMNS, *MEANING]
BDP = {"product": "BDP", "product, plain mean": "BDP by the plain mean"}
END = "After the last round"
ENDS = {
    "product": "ε, bound",
    "product, 30 clients": "ε, bound, 30 clients",
    "product, plain mean": "ε, plain mean",
    "product, plain mean, 30 clients": "ε, plain mean, 30 clients",
}
ACCURACY = "accuracy (%)"
REFUSED = {"clipped": "clipped: train it", "not counted": "not counted"}


def readings_table(results: Results, declared: ReadingsTable, name: str) -> Table:
    """Return the published pair, and a line for every reading: the nearest first, those clipped last."""
    wanted = targets(results, declared)
    found = {one: numbers_of(results, declared, one, wanted) for one in readings(results, declared)}
    order = sorted(found, key=lambda one: distance_of(found[one]))
    nearest = [one for one in order[:1] if distance_of(found[one]) < math.inf]
    settings = {one: settings_of(results, declared, one) for one in order}
    lines = [
        number | settings[one] | ({"status": "nearest"} if one in nearest else {})
        for one in order
        for number in found[one]
    ]
    long = tidy(name, [*COLUMNS, *declared.keys, "status"], lines)
    shown = [published(declared)]
    for one in order:
        there = [number for number in found[one] if "show" in number]
        cells = {number["heading"]: number["show"](number["sample"]) for number in there}
        said = {("", key): text for key, text in settings[one].items()}
        shown.append({("", "Run"): called(one, one in nearest)} | sigma_and_clip(one) | said | cells)
    headings = dict.fromkeys(heading for line in [*shown[1:2], *shown] for heading in line)
    display = display_frame([{heading: line.get(heading, "") for heading in headings} for line in shown])
    used = results.of(*declared.runs())
    missing = [run for run in declared.runs() if not results.has(run)]
    notes = [*how_read(declared, wanted), *how_many(order), *footnotes(used, missing)]
    return Table(name, titled(declared) + stand_ins(used.runs), long, display, notes)


def numbers_of(
    results: Results, declared: ReadingsTable, one: Reading, wanted: tuple[float, float]
) -> list[Number]:
    """Return every number of a reading; of one that was clipped there is none but its status."""
    key: Number = {
        "row": f"{one.run}, σ = {one.noise_multiplier:g}",
        "run": one.run,
        "trained": "by itself" if one.own else "counted again",
        "noise_multiplier": one.noise_multiplier,
        "clip_l2": one.clip_l2,
    }
    if one.refused:
        return [key | {"status": one.refused}]
    own = results.of(one.run)
    over_median = one.clip_l2 / fact(own, one.run, "norm_median")
    found = [number(("", "C / median"), "over_median", over_median, numbers.rounded)]
    for estimator, column in BDP.items():
        read = outcome(own, declared, one, wanted, estimator)
        found += outcome_numbers(own, declared, one, read, estimator, column)
    found.append(number((END, ACCURACY), "accuracy", last_reading(own, one.run)["accuracy"], numbers.percent))
    found.append(epsilon(own, one, (END, "ε, moments"), one.moments))
    found += [epsilon(own, one, (END, label), one.estimate(name)) for name, label in ENDS.items()]
    return [key | one for one in found]


def outcome_numbers(
    own: Results, declared: ReadingsTable, one: Reading, read: Outcome, estimator: str, column: str
) -> Iterator[Number]:
    """Yield the numbers of what comes of a reading under one estimator; those of DP with the first."""
    cells = {column: (declared.bdp, read.bdp, one.estimate(estimator))}
    if estimator == "product":
        cells = {"DP": (declared.dp, read.dp, one.moments)} | cells
    for label, (pair, at, spend) in cells.items():
        group = f"{label}, ε ≤ {pair.epsilon:g}"
        yield number((group, ACCURACY), "accuracy", at["accuracy"], numbers.percent, label)
        yield number((group, "round"), "round", at["round"], numbers.rounds, label)
        yield epsilon(own, one, (group, "ε"), spend, at["round"], label)
    group = f"{column}, ε ≤ {declared.bdp.epsilon:g}"
    compared = epsilon(own, one, (group, "ε compared"), one.estimate(estimator), column=column)
    yield compared | {"quantity": "epsilon_compared", "sample": read.epsilon}
    yield number((group, "d"), "distance", read.distance, hundredths, column)


def number(
    heading: tuple[str, str], quantity: str, sample: pd.Series, show: Show, column: str = ""
) -> Number:
    """Return a number under its heading; in the CSV its column is `column`, or the heading."""
    column = column or " ".join(filter(None, heading))
    return {"heading": heading, "column": column, "quantity": quantity, "sample": sample, "show": show}


def epsilon(
    own: Results,
    one: Reading,
    heading: tuple[str, str],
    spend: Counting,
    rounds: pd.Series | None = None,
    column: str = "",
) -> Number:
    """Return an ε at the rounds given by seed, or at the last evaluated one, with what gives it meaning."""
    sample = epsilon_at(own, one.run, spend, rounds)
    found = number(heading, "epsilon", sample, numbers.epsilon, column)
    return found | spend_words(spend) | meaning(spent(own, one.run, spend), "delta")


def hundredths(values: Iterable[float]) -> str:
    """Return the mean over seeds with two digits."""
    mean = numbers.interval(values).mean
    return numbers.NONE if math.isnan(mean) else f"{mean:.2f}"


def distance_of(found: Sequence[Number]) -> float:
    """Return the mean distance of a reading to what was published, infinite where there is none."""
    meant = [one for one in found if one.get("quantity") == "distance" and one["column"] == "BDP"]
    return far(meant[0]["sample"]) if meant else math.inf


def settings_of(results: Results, declared: ReadingsTable, one: Reading) -> dict[str, Any]:
    """Return what a reading was set to, by the keys that are shown."""
    config = flattened(config_of(results, one.run))
    return {key: config.get(key, otherwise) for key, otherwise in declared.keys.items()}


def called(one: Reading, nearest: bool) -> str:
    """Return what a line is called."""
    said = REFUSED[one.refused.partition(":")[0]] if one.refused else "nearest" if nearest else ""
    return f"{one.run} ({said})" if said else one.run


def sigma_and_clip(one: Reading) -> dict[tuple[str, str], str]:
    """Return what the run is counted at; in brackets where it was trained with others."""
    sigma, clip = f"{one.noise_multiplier:g}", f"{one.clip_l2:.3g}"
    return {("", "σ"): sigma if one.own else f"({sigma})", ("", "C"): clip if one.own else f"({clip})"}


def published(declared: ReadingsTable) -> dict[tuple[str, str], str]:
    """Return the line of what the paper prints."""
    line = {("", "Run"): "published"}
    for label, pair in (("DP", declared.dp), ("BDP", declared.bdp)):
        group = f"{label}, ε ≤ {pair.epsilon:g}"
        line |= {(group, ACCURACY): f"{100 * pair.accuracy:g}", (group, "ε"): f"{pair.epsilon:g}"}
    return line


def how_read(declared: ReadingsTable, wanted: tuple[float, float]) -> Iterator[str]:
    """Yield the notes that say what the columns are, and what is near."""
    dp, bdp = declared.dp.epsilon, declared.bdp.epsilon
    yield (
        f"DP: at the last evaluated round before ε (moments, sensitivity C) exceeds {dp:g}. BDP: the same of "
        f"{bdp:g} and the Bayesian estimate (product) from all clients who came, by distance remove_sum, or "
        "remove_mean where the denominator is the clients present."
    )
    there = " and ".join(f"{100 * one:.1f}" for one in wanted)
    ours = "as far below our baseline as the published ones are below theirs"
    yield (
        f"d = √(x² + y² + z²): x and y are the accuracies of DP and BDP less {there} %, "
        f"{ours if declared.baseline else 'those published'}, over {declared.points:g} points; z is the log "
        f"of the compared ε over {bdp:g}, over log {declared.ratio:g}. Compared is the ε of the BDP column "
        "if its accuracy is reached there; else that of the first later round that reaches it, or of the "
        "last round. Without a round within one of the budgets there is no d. The least is the nearest."
    )
    yield (
        "Bound: on the mean of exp(λD), as BDP counts; plain mean: without what makes a bound of it. "
        "30 clients: at most 30 of those who came."
    )


def how_many(order: Sequence[Reading]) -> Iterator[str]:
    """Yield the note that says which readings were trained."""
    valid = [one for one in order if not one.refused]
    again = sum(not one.own for one in valid)
    yield (
        f"{len(valid)} configurations of {len({one.run for one in valid})} runs. In brackets, {again}: the σ "
        "and C of a run that was trained with another σ at the same noise σC, and that would have clipped no "
        "update at this C either: it would have been the same run."
    )
    if gone := sum(one.refused.startswith("clipped") for one in order):
        yield (
            f"Clipped, {gone}: at this C some update of the run with the loosest C would have been cut. That "
            "is another run, which was not trained; there is nothing to count."
        )
