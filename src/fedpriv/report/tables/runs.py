"""A table with a run in every line: any number that can be read of a run, with its interval over seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.plans import epsilon as composed
from fedpriv.account.spend import marked, status
from fedpriv.frozen import parse
from fedpriv.paper.spends import SPEND_COLUMNS, Measure, SpendSelector
from fedpriv.paper.tables import LabelledRun, RunColumn, RunsTable, titled
from fedpriv.report import numbers
from fedpriv.report.long import STATISTIC, Number, display_frame, spend_words, tidy
from fedpriv.report.notes import LEVELS, RELATIONS, accountings, footnotes, stand_ins
from fedpriv.report.reading import (
    MEANING,
    MEASURES,
    difference,
    epsilon_at,
    fact,
    last_reading,
    meaning,
    metric_at_end,
    numbers_sent,
    spent,
    within,
)
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import WIDTH, Results, config_of, differing, flattened, rows_of
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.streams import Streams

Read = Callable[[Results, str], pd.Series]  # of a run, by seed
Show = Callable[[Iterable[float]], str]

ACCURACY, SENT = "Accuracy (%)", "Sent by a client a round"
METRIC = "Last round"
NOMINAL, STD = "Nominal", "Noise, std"
LAST, BEST = "last round", "best round of sampled clients"


class TableColumn(NamedTuple):
    """A number of every run: its heading, its name in the CSV, how it is read by seed, how it is printed."""

    group: str
    label: str
    quantity: str
    read: Read
    show: Show
    spend: SpendSelector | None = None  # whose ε it is, or that it is read within

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.group, self.label)))


Columns = Callable[[RunColumn, RunsTable], list[TableColumn]]


def number(group: str, label: str, read: Read, show: Show) -> Columns:
    """Return the function that makes a column of a number, under these headings or those declared."""

    def columns(declared: RunColumn, _: RunsTable) -> list[TableColumn]:
        headings = declared.group or group, declared.label or label
        return [TableColumn(*headings, declared.name, read, show, declared.spend)]

    return columns


def trace(group: str, label: str, name: str, show: Show) -> Columns:
    """Return the same for the mean over rounds of a column of the trace."""
    return number(group, label, partial(fact, name=name), show)


def accuracy(measure: Measure, label: str) -> Columns:
    """Return the same for the accuracy under one measure."""
    return number(
        ACCURACY, label, lambda results, run: MEASURES[measure](results, run)["accuracy"], numbers.percent
    )


def metric(name: str, label: str, show: Show) -> Columns:
    """Return the same for what else was measured at the last evaluated round."""
    return number(METRIC, label, partial(metric_at_end, name=f"test_{name}"), show)


def epsilon(declared: RunColumn, table: RunsTable) -> list[TableColumn]:
    """Return the column of an ε after the last round; a ledger that does not hold it has a dash."""
    spend = declared.spend
    assert spend

    def read(results: Results, run: str) -> pd.Series:
        return epsilon_at(results, run, spend) if len(spent(results, run, spend)) else pd.Series([np.nan])

    return number("ε", str(spend), read, numbers.size)(declared, table)


def reading_within(declared: RunColumn, name: str) -> Read:
    """Return how accuracy or round is read at the last evaluated round within a budget."""
    assert declared.spend and declared.within
    budget = declared.spend, declared.within
    return lambda results, run: within(results, run, budget)[name]


def accuracy_within(declared: RunColumn, table: RunsTable) -> list[TableColumn]:
    """Return the column of accuracies within a budget."""
    return number(ACCURACY, "", reading_within(declared, "accuracy"), numbers.percent)(declared, table)


def rounds(_: RunColumn, table: RunsTable) -> list[TableColumn]:
    """Return the columns of the rounds at which accuracies within budgets, and the last ones, are read."""
    found: list[tuple[str, Read]] = []
    for one in table.columns:
        if one.name == "accuracy_within":
            found.append((one.label, reading_within(one, "round")))
        elif one.name == "accuracy_last":
            found.append((one.label or LAST, lambda results, run: last_reading(results, run)["round"]))
    return [TableColumn("Read at round", label, "round", read, numbers.rounds) for label, read in found]


def gain(measure: Measure, label: str) -> Columns:
    """Return the function that makes the column of points over the reference, paired by seed."""

    def columns(declared: RunColumn, table: RunsTable) -> list[TableColumn]:
        def read(results: Results, run: str) -> pd.Series:
            of, over = (MEASURES[measure](results, one)["accuracy"] for one in (run, table.reference))
            return difference(of, over)

        return number("Difference (points)", label, read, numbers.percent)(declared, table)

    return columns


def float32_bytes(results: Results, run: str) -> pd.Series:
    """Return by seed the bytes of an upload's numbers in float32."""
    return WIDTH * numbers_sent(results, run)


def times_smaller(results: Results, run: str) -> pd.Series:
    """Return by seed how many times smaller an upload is than that."""
    return float32_bytes(results, run) / fact(results, run, "upload_bytes")


def times(values: Iterable[float]) -> str:
    """Return a ratio over seeds."""
    return f"{numbers.short_interval(numbers.interval(values), 1)}×"


def decimals(values: Iterable[float], digits: int) -> str:
    """Return the mean over seeds with its interval, to so many digits; without any a dash."""
    return numbers.short_interval(numbers.interval(values), digits)


def scheme_of(results: Results, run: str) -> NbAFL:
    """Return the scheme of a run; any other than NbAFL is BadInput."""
    return parse(NbAFL.model_validate, config_of(results, run)["scheme"], f"labels: {run}: scheme")


def scheme_number(value: Callable[[NbAFL], float]) -> Read:
    """Return how a number that the config alone decides is read, for every seed."""

    def read(results: Results, run: str) -> pd.Series:
        seeds = rows_of(results.runs, run)["seed"]
        return pd.Series(value(scheme_of(results, run)), index=seeds)

    return read


def delta(scheme: NbAFL) -> float:
    """Return the δ whose constant c would be: c = √(2 ln(1.25/δ))."""
    return 1.25 * float(np.exp(-(scheme.constant**2) / 2))


def least_noise(results: Results, run: str) -> pd.Series:
    """Return by seed the least std of the noise on an upload, the mean over rounds that had any."""
    rounds = rows_of(results.rounds, run)
    return rounds.loc[rounds["cohort_size"] > 0].groupby("seed")["upload_noise_std"].mean()


def if_right(results: Results, run: str) -> pd.Series:
    """Return by seed the ε of all rounds if a client with n examples moved its upload by 2C/n at most."""
    scheme, rounds = scheme_of(results, run), rows_of(results.rounds, run)
    first = rounds.iloc[0]
    # The noise is in proportion to 1/n, so that one example will do.
    alone = RoundContext(
        number=1,
        rounds=int(results.fact(run, "rounds_wanted")),
        population=int(first["population"]),
        expected=float(first["expected_cohort"]),
        examples=np.ones(1),
        fewest=1,
        tensors=(),
        streams=Streams(0, run),
    )
    multiplier = float(scheme.uplink_std(alone)[0]) / (2 * scheme.weight_clip)
    last = rounds.groupby("seed")["round"].max()
    epsilons = rows_of(results.epsilons, run)
    deltas = epsilons.loc[epsilons["accounting"] == "upload", "delta"]
    if deltas.empty:
        return pd.Series(np.nan, index=last.index)
    of = partial(composed, sampling_rate=1, noise_multiplier=multiplier, delta=float(deltas.iloc[0]))
    return last.map({count: of(rounds=count, accountant="pld").epsilon for count in set(last)})


QUANTITIES: dict[str, Columns] = {
    "accuracy_last": accuracy("last", LAST),
    "accuracy_best_drawn": accuracy("best_drawn", BEST),
    "accuracy_within": accuracy_within,
    "perplexity": metric("perplexity", "perplexity", partial(decimals, digits=2)),
    "auroc": metric("auroc", "AUROC (%)", numbers.percent),
    "f1": metric("f1", "F1 (%)", numbers.percent),
    "error": metric("error", "mean absolute error", partial(decimals, digits=3)),
    "gain_last": gain("last", LAST),
    "gain_best_drawn": gain("best_drawn", BEST),
    "round": rounds,
    "epsilon": epsilon,
    "gamma": trace("", "γ", "gamma", lambda values: f"{np.mean([*values]):g}"),
    "share_flipped": trace("", "Bits flipped (%)", "share_flipped", numbers.share),
    "numbers_sent": number(SENT, "numbers", numbers_sent, numbers.whole),
    "clear_values": trace(SENT, "in the clear", "clear_values", numbers.whole),
    "upload_bytes": trace(SENT, "bytes", "upload_bytes", numbers.whole),
    "float32_bytes": number(SENT, "bytes in float32", float32_bytes, numbers.whole),
    "times_smaller": number(SENT, "smaller than float32", times_smaller, times),
    "ratio": number(
        "", "ε/c", scheme_number(lambda scheme: scheme.epsilon / scheme.constant), numbers.rounded
    ),
    "epsilon_label": number(NOMINAL, "ε", scheme_number(lambda scheme: scheme.epsilon), numbers.rounded),
    "delta_label": number(NOMINAL, "δ", scheme_number(delta), numbers.rounded),
    "upload_noise_std": number(STD, "upload", least_noise, numbers.rounded),
    "broadcast_noise_std": trace(STD, "broadcast", "broadcast_noise_std", numbers.rounded),
    "epsilon_if": number("ε", "if 2C/n held", if_right, numbers.size),
}


COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, "delta", *SPEND_COLUMNS, *MEANING]
# Every ε that no ledger has: its kind, and the assumption that fails.
NOT_COUNTED = {
    "epsilon_label": ("nominal", ""),
    "epsilon_if": ("guarantee", "nothing keeps an upload within 2C/n"),
}
HOW_READ = (
    "Accuracy, last round: of all clients. Best round of sampled clients: as the authors' code prints it; "
    "the test split itself chooses the round. Where all clients hold the server's weights, both are of these."
)


def runs_table(results: Results, declared: RunsTable, name: str) -> PrintedTable:
    """Return a line a run: what it is called, what it was set to, its numbers.

    Where the best come first, a run without a first number comes last.
    """
    chosen = lines_of(results, declared)
    there = [line for line in chosen if results.has(line.run)]
    columns = columns_of(results, declared)
    found = {line: [number_of(results, line, column) for column in columns] for line in there}
    if declared.best_first:
        firsts = {
            line: numbers.interval(some[0]["sample"].fillna(0.0)).mean for line, some in found.items() if some
        }
        chosen = sorted(chosen, key=lambda line: firsts.get(line, float("-inf")), reverse=True)
    configs = {line: flattened(config_of(results, line.run)) for line in there}
    keys = declared.keys or (differing([*configs.values()]) if declared.reference else ())
    settings = {line: {key: configs.get(line, {}).get(key, "") for key in keys} for line in chosen}
    texts = [shown_line(line, settings[line], columns, found.get(line)) for line in chosen]
    display = display_frame(texts or [{("", "Run"): f"not run: {declared.match}"}])
    lines = [{**number, **settings[line]} for line in chosen for number in found.get(line, [])]
    long = tidy(name, [*COLUMNS, *keys, "status"], lines)
    if long["status"].isna().all():  # no run has diverged
        long = long.drop(columns="status")
    used = results.of(*(line.run for line in there))
    notes = [
        *([f"∞: {declared.infinite}"] if declared.infinite and (display == "∞").to_numpy().any() else []),
        *how_counted(columns, [number for some in found.values() for number in some]),
        *how_compared(declared, chosen),
        *footnotes(used, [line.run for line in chosen if line not in found]),
    ]
    return PrintedTable(name, titled(declared) + stand_ins(used.runs), long, display, notes)


def shown_line(
    line: LabelledRun,
    settings: Mapping[str, str],
    columns: Sequence[TableColumn],
    found: Sequence[Number] | None,
) -> dict[tuple[str, str], str]:
    """Return the cells of one line; a run that was not run has dashes for numbers."""
    texts = [numbers.NONE] * len(columns)
    if found is not None:
        texts = [shown(one, number) for one, number in zip(columns, found, strict=True)]
    return (
        {("", "Run"): line.label if found is not None else f"{line.label} (not run)"}
        | {("", key): text for key, text in settings.items()}
        | {(one.group, one.label): text for one, text in zip(columns, texts, strict=True)}
    )


def shown(column: TableColumn, number: Number) -> str:
    """Return a number in words; an ε with the mark of what it is."""
    text = column.show(number["sample"])
    return marked(text, number.get("epsilon_status", "")) if column.quantity.startswith("epsilon") else text


def lines_of(results: Results, declared: RunsTable) -> list[LabelledRun]:
    """Return the lines as declared, or the reference and the runs that match, under their own names."""
    if declared.lines:
        return [*declared.lines]
    matching = (run for run in results.runs["run"].unique() if fnmatchcase(run, declared.match))
    runs = dict.fromkeys(filter(None, [declared.reference, *matching]))
    return [LabelledRun(run=run, label=run) for run in runs]


def columns_of(results: Results, declared: RunsTable) -> list[TableColumn]:
    """Return the columns; there are no gains over a reference that was not run."""
    gains = results.has(declared.reference)
    wanted = [one for one in declared.columns if gains or not one.name.startswith("gain")]
    return [column for one in wanted for column in QUANTITIES[one.name](one, declared)]


def number_of(results: Results, line: LabelledRun, column: TableColumn) -> Number:
    """Return a number of one run; an ε, or what is read within one, with everything that gives it meaning."""
    found: Number = {"row": line.label, "run": line.run, "column": column.name, "quantity": column.quantity}
    found["sample"] = column.read(results, line.run)
    if column.quantity in NOT_COUNTED:
        kind, unmet = NOT_COUNTED[column.quantity]
        found |= {"kind": kind, "epsilon_status": status(kind, unmet)}
    if column.spend:
        found |= spend_words(column.spend) | meaning(spent(results, line.run, column.spend), "delta")
    return found


def how_counted(columns: Iterable[TableColumn], found: Sequence[Number]) -> Iterator[str]:
    """Yield the notes that say at which δ, for whom and against whom the ε of the columns are counted."""
    said: dict[str, list[str]] = {}
    epsilons = [column for column in columns if column.quantity == "epsilon"]
    for column in epsilons:
        there = [line for line in found if line["column"] == column.name]
        meant = {line["row"]: meant_by(line) for line in there if line.get("unit", "none") != "none"}
        for one in dict.fromkeys(meant.values()):
            rows = ", ".join(row for row, other in meant.items() if other == one)
            of = f" of {rows}" * (len(set(meant.values())) > 1)
            said.setdefault(one, []).append(f"{column.label} ({column.spend}){of}")
    yield from (f"ε {'; '.join(labels)}: {meant}." for meant, labels in said.items())
    yield from accountings(column.spend for column in epsilons if column.spend)


def meant_by(line: Number) -> str:
    """Return whose ε a number is, against which neighbours, at which δ, and what it is."""
    level, relation = LEVELS.get(line["unit"], line["unit"]), RELATIONS[line["relation"]]
    whose = f"{level}, {relation} neighbours, δ = {numbers.delta(line['delta'])}"
    return f"{whose}; {line['epsilon_status']}"


def how_compared(declared: RunsTable, chosen: Sequence[LabelledRun]) -> Iterator[str]:
    """Yield the notes that say at which round accuracies are read, and against what."""
    for one in declared.columns:
        if one.name == "accuracy_within":
            yield f"{one.label}: at the last evaluated round before ε ({one.spend}) exceeds {one.within:g}."
    if declared.reference:
        yield f"Differences: points over {declared.reference}, paired by seed."
    if any(one.name == "accuracy_best_drawn" for one in declared.columns):
        yield HOW_READ
    if declared.match and not any(line.run != declared.reference for line in chosen):
        yield f"Not run in this preset: {declared.match}."
