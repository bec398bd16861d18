"""What can be read of a run: each number once, with its heading, how it is read and how it is printed.

Columns of tables, checks of claims, places in captions and axes of figures ask here. A new number is a line
in `METRICS` and one in `fedpriv.paper.metrics`, which says how it is asked for:

    METRICS["accuracy"].sample(results, Cell("iid_n100_dp")).words      # 86.9 ± 1.3 %
    METRICS["epsilon"].sample(results, Cell("iid_n100_dp"), selector).interval
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.statement import mark_epsilon
from fedpriv.audit.finding import how_counted
from fedpriv.paper.epsilons import EpsilonSelector, Measure
from fedpriv.paper.tables import Cell
from fedpriv.report import numbers, reading
from fedpriv.report.numbers import STATISTIC, UNSTABLE, Interval, Number, is_unstable, selector_words
from fedpriv.report.reading import ledger_rows, mean_of_rounds
from fedpriv.report.results import Results
from fedpriv.report.sample import ACCURACY, EPSILON, Sample, sample
from fedpriv.trace import ASKED, EVALUATED


class Metric(NamedTuple):
    """A number of a run, or of a cell of a table."""

    name: str
    group: str
    """Its heading in a table."""
    label: str
    """Below that; of an ε by default how that is counted."""
    show: Callable[[Any], str]
    """How its cell in a table is printed: of a `Sample`, or of what is left of it, an `Interval`."""
    read: Callable[..., Sample]
    """Of results, a cell, and what else its signature in `fedpriv.paper.metrics` says."""
    unit: str = ""
    """Behind the number in a sentence."""
    axis: str = ""
    """What an axis of a figure says of it."""

    @property
    def percent(self) -> bool:
        """Whether a fraction is printed in percent."""
        return self.unit == PERCENT

    @property
    def factor(self) -> int:
        """By which a number is printed larger."""
        return 100 if self.percent else 1

    @property
    def noun(self) -> str:
        """The metric in a sentence."""
        return (self.label or self.name).removesuffix(" (%)")

    def sample(self, results: Results, cell: Cell, *arguments: object) -> Sample:
        """Return its numbers by seed, and what they are in words."""
        measured = self.read(results, cell, *arguments)
        measured.kind = measured.kind or self.name
        measured.words = measured.words or self.words(measured)
        return measured

    def words(self, measured: Sample) -> str:
        """Return the number as a sentence has it, with its unit; of one that was not read, that."""
        text = self.show(measured)
        if self.percent and text == numbers.NONE:
            return f"no {self.name.partition('_')[0]}"
        return self.with_unit(text)

    def with_unit(self, text: str) -> str:
        """Return a printed number with its unit; what ends in no digit has none."""
        return text + self.unit * text[-1:].isdigit()


PERCENT = " %"


def accuracy(results: Results, cell: Cell, measure: Measure = "last") -> Sample:
    """Return the accuracy within the budgets of a cell, where it has any, else under a measure."""
    drawn = measure == "best_drawn" and not cell.within
    read = reading.best_drawn(results, cell.run) if drawn else reading.reading(results, cell)
    return Sample(read["value"])


def accuracy_within(results: Results, cell: Cell, limit: float, selector: EpsilonSelector) -> Sample:
    """Return the accuracy at the last evaluated round before an ε first exceeds a limit."""
    accuracies = Sample(reading.reading_within(results, cell.run, (selector, limit))["value"])
    accuracies.meaning = epsilon_meaning(results, cell, selector)
    budget = mark_epsilon(f"{limit:g}", accuracies.meaning.get("epsilon_status", ""))
    accuracies.words = f"{METRICS['accuracy'].words(accuracies)} within ε = {budget}"
    return accuracies


def published_value(results: Results, cell: Cell) -> Sample:
    """Return the number that the paper prints in a cell; the difference of two accuracies is a gain."""
    assert cell.published is not None
    of = METRICS[cell.metric]
    kind = "" if cell.metric == ACCURACY else cell.metric
    return Sample(cell.published, f"{of.factor * cell.published:g}{of.unit}", kind)


def first_round(results: Results, cell: Cell, target: Sample | float) -> Sample:
    """Return the first evaluated round that is at least so accurate; what is never reached takes for ever."""
    read = reading.evaluations(results, cell.run)
    seeds, known = pd.Index(read["seed"].unique()), sample(target).known
    targets = known.iloc[:, 0] if isinstance(known, pd.DataFrame) else pd.Series(known, seeds)
    targets = targets.loc[targets.index.intersection(seeds)]
    first = read.loc[read["value"] >= read["seed"].map(targets)].groupby("seed").first()
    rounds = first["round"].reindex(targets.index)
    words = f"round {numbers.round_range(rounds)} for {METRICS['accuracy'].words(Sample(targets))}"
    return Sample(rounds.fillna(np.inf), words)


def epsilon_meaning(results: Results, cell: Cell, selector: EpsilonSelector) -> Number:
    """Meaning of an ε by column of the ledger: how it is counted, for whom, at which δ, its status."""
    return selector_words(selector) | reading.meaning(ledger_rows(results, cell.run, selector), "delta")


def ledger_reader(values: Callable[[Results, str, EpsilonSelector], pd.Series]) -> Callable[..., Sample]:
    """Reader of a number about an ε; a ledger that does not hold that gives NaN."""

    def read(results: Results, cell: Cell, selector: EpsilonSelector) -> Sample:
        there = len(ledger_rows(results, cell.run, selector))
        series = values(results, cell.run, selector) if there else pd.Series([np.nan])
        return Sample(series, meaning=epsilon_meaning(results, cell, selector))

    return read


def growth(results: Results, cell: Cell, selector: EpsilonSelector) -> Sample:
    """Return by how much an ε exceeds its value after the first round."""
    grown = ledger_reader(lambda *of: reading.growth(*of).iloc[-1])(results, cell, selector)
    grown.words = f"{numbers.size(grown)} ({selector})"
    return grown


def lower_bound(results: Results, cell: Cell, audit: str, selector: EpsilonSelector) -> Sample:
    """Return the largest lower bound under an ε of all findings of an audit."""
    meant = f"({how_counted(selector)})"
    bounds = {
        seed: [finding.lower_bound for finding in some if finding.audit == audit and meant in finding.about]
        for seed, some in results.findings(cell.run).items()
    }
    return Sample(pd.Series({seed: max(some, default=np.nan) for seed, some in bounds.items()}, dtype=float))


def run_reader(series: Callable[[Results, str], pd.Series]) -> Callable[..., Sample]:
    """Reader of a number of a whole run, by seed, whatever the budgets of its cell."""
    return lambda results, cell: Sample(series(results, cell.run))


def trace_reader(name: str) -> Callable[..., Sample]:
    """Reader of a column of the trace: its mean over rounds."""
    return run_reader(partial(mean_of_rounds, name=name))


def epsilon_text(epsilons: Sample) -> str:
    """Return an ε with the mark of its status."""
    return numbers.epsilon_of_seeds(epsilons, epsilons.meaning.get("epsilon_status", ""))


def evaluated_metric(name: str) -> Metric:
    """Metric that is measured where a model is evaluated, if a run asks for it."""
    of = EVALUATED[name]

    def read(results: Results, cell: Cell) -> Sample:
        return Sample(reading.reading(results, cell, name)["value"])

    if of.digits is None:
        label, show, unit = f"{of.label} (%)", numbers.percent, PERCENT
    else:
        label, show, unit = of.label, partial(numbers.short_interval, digits=of.digits), ""
    return Metric(name, "Last round", label, show, read, unit, label[0].upper() + label[1:])


def upload_metric(
    name: str, label: str, show: Callable[[Sample], str], read: Callable[..., Sample]
) -> Metric:
    """Return a number about the upload of a client."""
    unit = " bytes" if name.endswith("bytes") else ""
    return Metric(name, "Sent by a client a round", label, show, read, unit)


IN_PERCENT, STD = "Accuracy (%)", "Noise, std"
EVERY = (
    Metric("accuracy", IN_PERCENT, "", numbers.percent, accuracy, PERCENT, "Test accuracy (%)"),
    Metric("accuracy_within", IN_PERCENT, "", numbers.percent, accuracy_within, PERCENT),
    Metric("published", "Published (%)", "", numbers.percent, published_value, PERCENT),
    *(evaluated_metric(name) for name in ASKED),
    Metric(
        "round",
        "Read at round",
        "",
        numbers.round_range,
        lambda results, cell: Sample(reading.reading(results, cell)["round"]),
    ),
    Metric("rounds", "First round", "", numbers.round_range, first_round),
    Metric("epsilon", "ε", "", epsilon_text, ledger_reader(reading.epsilon_at), axis="{unit} ε"),
    Metric(  # of a column that is read within an ε
        "spent",
        "ε",
        "",
        epsilon_text,
        lambda results, cell: METRICS[EPSILON].sample(results, cell, cell.within[0].selector),
    ),
    Metric("delta", "δ", "", lambda delta: numbers.delta(delta.seeds.iloc[0]), ledger_reader(reading.delta)),
    Metric("growth", "Growth of ε", "", numbers.size, growth, axis="{unit} εₜ − ε₁"),
    Metric("lower_bound", "Lower bound of ε", "", numbers.size, lower_bound),
    Metric("gamma", "", "γ", lambda gamma: f"{gamma.seeds.mean():g}", trace_reader("gamma")),
    Metric("share_flipped", "", "Bits flipped (%)", numbers.share, trace_reader("share_flipped"), PERCENT),
    upload_metric("numbers_sent", "numbers", numbers.whole_number, run_reader(reading.numbers_sent)),
    upload_metric("clear_values", "in the clear", numbers.whole_number, trace_reader("clear_values")),
    upload_metric("upload_bytes", "bytes", numbers.whole_number, trace_reader("upload_bytes")),
    upload_metric(
        "float32_bytes", "bytes in float32", numbers.whole_number, run_reader(reading.float32_bytes)
    ),
    upload_metric(
        "times_smaller",
        "smaller than float32",
        lambda ratios: f"{numbers.short_interval(ratios, 1)}×",
        run_reader(
            lambda results, run: (
                reading.float32_bytes(results, run) / mean_of_rounds(results, run, "upload_bytes")
            )
        ),
    ),
    Metric("upload_noise_std", STD, "upload", numbers.three_digits, run_reader(reading.least_noise)),
    Metric(
        "broadcast_noise_std", STD, "broadcast", numbers.three_digits, trace_reader("broadcast_noise_std")
    ),
)
METRICS = {metric.name: metric for metric in EVERY}


def printed_number(line: Mapping[Any, Any], alone: bool = False) -> str:
    """Return the number of a line that `tidy` wrote, as tables print it; `alone` without its interval.

    What is published stands as it is printed, a fraction in percent. Without a number it is empty.
    """
    quantity = str(line["quantity"])
    cells = (line.get(name, "") for name in STATISTIC)
    mean, low, high, seeds = (float("nan" if cell == "" else cell) for cell in cells)
    interval = Interval(mean, low, high, 1 if np.isnan(seeds) or alone else int(seeds))
    if np.isnan(interval.mean):
        return ""
    metric = quantity if quantity in EVALUATED else quantity.partition("_")[0]
    factor = METRICS[metric].factor if metric in EVALUATED else 1
    if line.get("source") == "published":
        return f"{factor * interval.mean:g}"
    if is_unstable(line.get("status")):
        return f"{UNSTABLE} ({factor * interval.mean:.1f})"
    if metric in EVALUATED:
        return METRICS[metric].show(interval)
    if quantity == EPSILON:
        return numbers.epsilon_of_seeds(interval, str(line.get("epsilon_status") or line["kind"]))
    whole = quantity == "round" or interval.mean >= 100
    return numbers.whole_number([interval.mean]) if whole else f"{interval.mean:.6g}"
