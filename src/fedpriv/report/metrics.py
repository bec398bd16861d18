"""What can be read of a run: each number once, with its heading, how it is read and how it is printed.

Columns of tables, checks of claims, captions and axes of figures ask here. A new number is a line in
`METRICS` and one in `fedpriv.paper.metrics`, which says how it is asked for:

    accuracy = METRICS["accuracy"]
    measured = accuracy.sample(results, Cell("iid_n100_dp"))
    measured.interval                                                   # for machines
    accuracy.show(measured)                                             # in a table: 86.9 ± 1.3
    accuracy.words(measured, Cell("iid_n100_dp"))                       # in a sentence: 86.9 ± 1.3 %
    accuracy.by_round(results.run("iid_n100_dp"), None)                 # in a figure
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.statement import mark_epsilon
from fedpriv.audit.finding import how_counted
from fedpriv.paper.epsilons import MEASURES, EpsilonSelector, Measure
from fedpriv.paper.tables import Cell
from fedpriv.report import numbers
from fedpriv.report.collect import WIDTH
from fedpriv.report.lines import counted_by, interval_of
from fedpriv.report.numbers import Interval
from fedpriv.report.results import Results, RunResults, by_round
from fedpriv.report.sample import Sample, sample
from fedpriv.report.verdicts import UNSTABLE, is_unstable
from fedpriv.trace import ASKED, EVALUATED

ACCURACY, EPSILON = "accuracy", "epsilon"
PERCENT = " %"


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
    """Of a run, a cell, and what else its signature in `fedpriv.paper.metrics` says."""
    unit: str = ""
    """Behind the number in a sentence."""
    axis: str = ""
    """What an axis of a figure says of it."""
    say: Callable[..., str] | None = None
    """Its words in a sentence, of the sample and what `read` has; by default as in a table, with its unit."""
    by_round: Callable[..., pd.DataFrame] | None = None
    """Of a run and a selector, what it is at every round: a row a round and a column a seed."""

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
        """Return its numbers by seed."""
        return self.read(results.run(cell.run), cell, *arguments)

    def words(self, measured: Sample, cell: Cell, *arguments: object) -> str:
        """Return the numbers as a sentence has them."""
        return self.say(measured, cell, *arguments) if self.say else self.plain_words(measured)

    def plain_words(self, measured: Sample) -> str:
        """Return the numbers as a table prints them, with their unit; of what was not read, that."""
        text = self.show(measured)
        if self.percent and text == numbers.NONE:
            return f"no {self.name.partition('_')[0]}"
        return self.with_unit(text)

    def with_unit(self, text: str) -> str:
        """Return a printed number with its unit; what ends in no digit has none."""
        return text + self.unit * text[-1:].isdigit()


# Accuracies, and what else is measured where a model is evaluated.


def accuracy(run: RunResults, cell: Cell, measure: Measure = "last") -> Sample:
    """Return the accuracy within the budgets of a cell, where it has any, else under a measure."""
    drawn = measure == "best_drawn" and not cell.within
    read = run.best_drawn() if drawn else run.within(*cell.budgets)
    return Sample(read["value"], missing=0.0)


def accuracy_within(run: RunResults, cell: Cell, limit: float, selector: EpsilonSelector) -> Sample:
    """Return the accuracy at the last evaluated round before an ε first exceeds a limit."""
    return Sample(run.within((selector, limit))["value"], 0.0, epsilon_meaning(run, selector))


def accuracy_within_words(measured: Sample, cell: Cell, limit: float, selector: EpsilonSelector) -> str:
    """Return an accuracy with the ε that is not exceeded."""
    budget = mark_epsilon(f"{limit:g}", measured.meaning.get("epsilon_status", ""))
    return f"{METRICS[ACCURACY].plain_words(measured)} within ε = {budget}"


def published(run: RunResults, cell: Cell) -> Sample:
    """Return the number that the paper prints in a cell."""
    assert cell.published is not None  # of such cells alone may a claim ask it
    return Sample(cell.published)


def published_words(measured: Sample, cell: Cell) -> str:
    """Return a published number as it is printed."""
    metric = METRICS[cell.metric]
    return f"{metric.factor * measured.seeds.iloc[0]:g}{metric.unit}"


def first_round(run: RunResults, cell: Cell, target: Sample | float) -> Sample:
    """Return the first evaluated round that is at least so accurate; what is never reached takes for ever."""
    read = run.evaluations()
    targets = target_by_seed(pd.Index(read["seed"].unique()), target)
    first = read.loc[read["value"] >= read["seed"].map(targets)].groupby("seed").first()
    return Sample(first["round"].reindex(targets.index).fillna(np.inf))


def first_round_words(measured: Sample, cell: Cell, target: Sample | float) -> str:
    """Return a round with the accuracy that was to be reached."""
    rounds = numbers.round_range(measured.seeds.replace(np.inf, np.nan))
    targets = target_by_seed(measured.seeds.index, target)
    return f"round {rounds} for {METRICS[ACCURACY].plain_words(Sample(targets))}"


def target_by_seed(seeds: pd.Index, target: Sample | float) -> pd.Series:
    """Return an accuracy that is to be reached, for those of the seeds that have one."""
    known = sample(target).known
    targets = known.iloc[:, 0] if isinstance(known, pd.DataFrame) else pd.Series(known, seeds)
    return targets.loc[targets.index.intersection(seeds)]


def evaluated_metric(name: str) -> Metric:
    """Metric that is measured where a model is evaluated, if a run asks for it."""
    metric = EVALUATED[name]
    if metric.digits is None:
        label, show, unit = f"{metric.label} (%)", numbers.percent, PERCENT
    else:
        label, show, unit = metric.label, partial(numbers.short_interval, digits=metric.digits), ""
    return Metric(
        name,
        "Last round",
        label,
        show,
        lambda run, cell: Sample(run.within(*cell.budgets, metric=name)["value"]),
        unit,
        label[0].upper() + label[1:],
        by_round=lambda run, selector: by_round(run.evaluations(name)),
    )


# ε, and what goes with it.


def epsilon_meaning(run: RunResults, selector: EpsilonSelector) -> dict[str, Any]:
    """Meaning of an ε by column of the ledger: how it is counted, for whom, at which δ, its status."""
    return counted_by(selector) | run.meaning(selector, "delta")


def epsilon(
    run: RunResults, cell: Cell, selector: EpsilonSelector, rounds: pd.Series | None = None
) -> Sample:
    """Return an ε at the last round, or at the rounds given by seed; NaN where the ledger has none."""
    spent = run.epsilon(selector, rounds)
    if rounds is None and spent.empty:
        spent = pd.Series([np.nan])
    return Sample(spent, meaning=epsilon_meaning(run, selector))


def delta(run: RunResults, cell: Cell, selector: EpsilonSelector) -> Sample:
    """Return the δ at which an ε is counted."""
    rows = run.ledger(selector)
    counted = rows.groupby("seed")["delta"].first() if len(rows) else pd.Series([np.nan])
    return Sample(counted, meaning=epsilon_meaning(run, selector))


def growth(run: RunResults, cell: Cell, selector: EpsilonSelector) -> Sample:
    """Return by how much an ε exceeds its value after the first round."""
    grown = run.growth(selector)
    last = grown.iloc[-1] if len(grown) else pd.Series([np.nan])
    return Sample(last, meaning=epsilon_meaning(run, selector))


def growth_by_round(run: RunResults, selector: EpsilonSelector) -> pd.DataFrame:
    """Return the growth of an ε for a logarithmic axis, which has no point for what did not grow yet."""
    grown = run.growth(selector).iloc[1:]
    return grown.where(grown > 0).dropna(how="all")


def epsilon_by_round(run: RunResults, selector: EpsilonSelector) -> pd.DataFrame:
    """Return an ε at every round."""
    return run.ledger(selector).pivot(index="round", columns="seed", values="epsilon")


def lower_bound(run: RunResults, cell: Cell, audit: str, selector: EpsilonSelector) -> Sample:
    """Return the largest lower bound under an ε of all findings of an audit."""
    meant = f"({how_counted(selector)})"
    bounds = {
        seed: [
            finding.lower_bound for finding in findings if finding.audit == audit and meant in finding.about
        ]
        for seed, findings in run.findings().items()
    }
    largest = {seed: max(each, default=np.nan) for seed, each in bounds.items()}
    return Sample(pd.Series(largest, dtype=float))


def epsilon_text(epsilons: Sample) -> str:
    """Return an ε with the mark of its status."""
    return numbers.epsilon_of_seeds(epsilons, epsilons.meaning.get("epsilon_status", ""))


# What a client sends.


def trace_reader(column: str) -> Callable[..., Sample]:
    """Reader of a column of the trace: its mean over rounds."""
    return lambda run, cell: Sample(run.mean_of_rounds(column))


def numbers_sent(run: RunResults, cell: Cell) -> Sample:
    """Return how many numbers a client sends in a round, protected or in the clear."""
    bits, clear, sent = map(run.mean_of_rounds, ("noisy_bits", "clear_values", "upload_bytes"))
    return Sample((bits + clear).where(bits > 0, sent / WIDTH))


def float32_bytes(run: RunResults, cell: Cell) -> Sample:
    """Return the bytes of these numbers in float32."""
    return numbers_sent(run, cell) * float(WIDTH)


def times_smaller(run: RunResults, cell: Cell) -> Sample:
    """Return how many times fewer bytes a client sends than these."""
    return float32_bytes(run, cell) / Sample(run.mean_of_rounds("upload_bytes"))


def least_noise(run: RunResults, cell: Cell) -> Sample:
    """Return the least std of the noise on an upload, the mean over rounds that had any."""
    uploads = run.rounds.loc[run.rounds["cohort_size"] > 0]
    return Sample(uploads.groupby("seed")["upload_noise_std"].mean())


def upload_metric(
    name: str, label: str, show: Callable[[Sample], str], read: Callable[..., Sample]
) -> Metric:
    """Return a number about the upload of a client."""
    unit = " bytes" if name.endswith("bytes") else ""
    return Metric(name, "Sent by a client a round", label, show, read, unit)


IN_PERCENT, STD = "Accuracy (%)", "Noise, std"
EVERY = (
    Metric(
        ACCURACY,
        IN_PERCENT,
        "",
        numbers.percent,
        accuracy,
        PERCENT,
        "Test accuracy (%)",
        by_round=lambda run, selector: by_round(run.evaluations()),
    ),
    Metric(
        "accuracy_within",
        IN_PERCENT,
        "",
        numbers.percent,
        accuracy_within,
        PERCENT,
        say=accuracy_within_words,
    ),
    Metric("published", "Published (%)", "", numbers.percent, published, PERCENT, say=published_words),
    *(evaluated_metric(name) for name in ASKED),
    Metric(
        "round",
        "Read at round",
        "",
        numbers.round_range,
        lambda run, cell, metric=ACCURACY: Sample(run.within(*cell.budgets, metric=metric)["round"]),
    ),
    Metric("rounds", "First round", "", numbers.round_range, first_round, say=first_round_words),
    Metric(EPSILON, "ε", "", epsilon_text, epsilon, axis="{unit} ε", by_round=epsilon_by_round),
    Metric(  # of a column that is read within an ε
        "spent", "ε", "", epsilon_text, lambda run, cell: epsilon(run, cell, cell.within[0].selector)
    ),
    Metric("delta", "δ", "", lambda delta: numbers.delta(delta.seeds.iloc[0]), delta),
    Metric(
        "growth",
        "Growth of ε",
        "",
        numbers.size,
        growth,
        axis="{unit} εₜ − ε₁",
        say=lambda grown, cell, selector: f"{numbers.size(grown)} ({selector})",
        by_round=growth_by_round,
    ),
    Metric("lower_bound", "Lower bound of ε", "", numbers.size, lower_bound),
    Metric("gamma", "", "γ", lambda gamma: f"{gamma.seeds.mean():g}", trace_reader("gamma")),
    Metric("share_flipped", "", "Bits flipped (%)", numbers.share, trace_reader("share_flipped"), PERCENT),
    upload_metric("numbers_sent", "numbers", numbers.whole_number, numbers_sent),
    upload_metric("clear_values", "in the clear", numbers.whole_number, trace_reader("clear_values")),
    upload_metric("upload_bytes", "bytes", numbers.whole_number, trace_reader("upload_bytes")),
    upload_metric("float32_bytes", "bytes in float32", numbers.whole_number, float32_bytes),
    upload_metric(
        "times_smaller",
        "smaller than float32",
        lambda ratios: f"{numbers.short_interval(ratios, 1)}×",
        times_smaller,
    ),
    Metric("upload_noise_std", STD, "upload", numbers.three_digits, least_noise),
    Metric(
        "broadcast_noise_std", STD, "broadcast", numbers.three_digits, trace_reader("broadcast_noise_std")
    ),
)
METRICS = {metric.name: metric for metric in EVERY}
# What a table calls a number -> whose metric that is: accuracies under a measure, spreads, differences.
EVALUATED_AS = {
    **{name: METRICS[name] for name in EVALUATED},
    **{f"{name}_std": METRICS[name] for name in EVALUATED},
    **{f"{of}_{measure}": METRICS[ACCURACY] for of in ("accuracy", "gain") for measure in MEASURES},
    "accuracy_within": METRICS[ACCURACY],
}


def printed_number(line: Mapping[Any, Any], alone: bool = False) -> str:
    """Return the number of a line that `tidy` wrote, as tables print it; `alone` without its interval.

    What is published stands as it is printed, a fraction in percent. Without a number it is empty.
    """
    quantity, interval = str(line["quantity"]), interval_of(line)
    if alone:
        interval = interval._replace(n=1)
    if np.isnan(interval.mean):
        return ""
    if metric := EVALUATED_AS.get(quantity):
        return printed_metric(metric, interval, line)
    if line.get("source") == "published":
        return f"{interval.mean:g}"
    if quantity == EPSILON:
        return numbers.epsilon_of_seeds(interval, str(line.get("epsilon_status") or line["kind"]))
    whole = quantity == "round" or interval.mean >= 100
    return numbers.whole_number([interval.mean]) if whole else f"{interval.mean:.6g}"


def printed_metric(metric: Metric, interval: Interval, line: Mapping[Any, Any]) -> str:
    """Return an accuracy, or another metric of an evaluation, as tables print it."""
    if line.get("source") == "published":
        return f"{metric.factor * interval.mean:g}"
    if is_unstable(line.get("status")):
        return f"{UNSTABLE} ({metric.factor * interval.mean:.1f})"
    return metric.show(interval)
