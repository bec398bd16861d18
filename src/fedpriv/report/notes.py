"""What stands under every table, and what is said of every run.

Data, models, seeds, hardware, which ε hold, and what was not run; of a run what came out, what it took,
what it was set to, what it ran on.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

import pandas as pd

from fedpriv.account.check import nothing_bounded
from fedpriv.paper.spends import SpendSelector
from fedpriv.report import numbers
from fedpriv.report.long import display_frame
from fedpriv.report.numbers import METHOD, few_numbers, interval
from fedpriv.report.reading import last_reading
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, flatten, rows_of
from fedpriv.trace import SAMPLED

ESTIMATE = "A Bayesian ε is an estimate, never a guarantee: see docs/guarantees.md."
SIZE = (
    "Sampling mismatch: where the noise or the denominator of a sum tells how many clients came, sampling "
    "hides one only among those who might have come instead; an ε by Poisson sampling is no guarantee there."
)
DISTANCE = (
    "An estimate is of the denominator that was used: remove_sum of a public number, remove_mean of those "
    "present."
)
PRIVATE_BOUND = (
    "The bound of the sum was taken from private data (the median of the clients' norms) without noise: an ε "
    "that leaves out what it reveals is no guarantee."
)
MISMATCH = "Sampling mismatch: clients were not sampled as the accountants assume; no ε here is a guarantee."
SEQUENTIAL = (
    "Sequential accounting supposes that nobody knows which client holds an example, and that examples are "
    "dealt anew for every step. Here they stay where they are, so no sequential ε is a guarantee."
)
MEAN_CLIPPED = (
    "Where only the mean of a batch was clipped, an example-level ε at sensitivity C is what the paper "
    "claims. It is not a guarantee: that clipping certifies 2C."
)
LEAST = "The noise of clients that were not sampled is not known: no ε of accounting drawn is a guarantee."
TENSOR = (
    "Where whole tensors are flipped, an ε of one bit holds against nobody who sees another bit of the same "
    "tensor."
)
SEARCHED = (
    "Hyper-parameters were chosen among {} candidates by their accuracy on private data; no ε here pays "
    "for the search: see docs/accounting.md, tuning is not free."
)
# What each word of an accounting means.
ACCOUNTINGS = {
    "sequential": "an example is sampled with its share of all clients' examples; all clients' costs add up",
    "parallel": "an example is sampled with its share of its client's examples; the costliest client counts",
    "sum": "against who sees only the sum of the uploads, as behind secure aggregation",
    "sized": "against who sees only a sum or mean, and knows of how many clients it is",
    "upload": "against who sees every upload, such as a server without secure aggregation",
    "drawn": "the same, of a client who uploads only when it is sampled",
}
# Words of a ledger, as prose has them.
LEVELS = {"client": "client-level", "instance": "example-level"}
RELATIONS = {"add_remove": "add-or-remove", "replace_one": "replace-one", "zero_out": "zero-out"}


def unique(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the distinct rows of some columns, in order of appearance."""
    return list(frame.filter(list(columns)).drop_duplicates().itertuples(index=False, name=None))


def stand_ins(runs: pd.DataFrame) -> str:
    """Words that a title adds where substitute data were used."""
    found = substitutes(runs)
    return f" [{', '.join(found)}]" if found else ""


def substitutes(runs: pd.DataFrame) -> list[str]:
    """Return the data that were used instead of the paper's."""
    told = unique(runs, ("data", "stand_in_for"))
    return [f"{name} in place of {wanted}" for name, wanted in told if wanted]


def footnotes(results: Results, missing: Iterable[str] = ()) -> list[str]:
    """Return the notes on what the runs in `results` rest on, a sentence each; `missing` were not run."""
    runs = results.runs
    found = [
        note
        for part in (data_note, cut_note, models_note, seeds_note, divergence_note, evaluation_note)
        for note in part(runs)
    ]
    found += [*copies_note(results), *unbounded_note(results.rounds)]
    found += [*accounting_notes(results.epsilons, results.rounds), *machines_note(results)]
    names = sorted(set(missing))
    return found + ([f"Not run in this preset: {', '.join(names)}."] if names else [])


def data_note(runs: pd.DataFrame) -> Iterator[str]:
    """Name the data, and what they stand in for."""
    told = unique(runs, ("data", "stand_in_for"))
    stands = ", substitute data for {}"
    found = [name + (stands.format(wanted) if wanted else "") for name, wanted in told]
    if found:
        yield f"Data: {'; '.join(found)}."


def cut_note(runs: pd.DataFrame) -> Iterator[str]:
    """Say what the preset leaves out of the paper's runs."""
    if found := [f"{run} ({less})" for run, less in unique(runs, ("run", "cut")) if less]:
        yield f"Cut by the preset, so that nothing published is judged: {'; '.join(found)}."


def models_note(runs: pd.DataFrame) -> Iterator[str]:
    """Name the models that were trained, with their options and sizes."""
    told = unique(runs, ("config", "parameters"))
    found = sorted({(json.dumps(json.loads(config)["model"]), parameters) for config, parameters in told})
    names = []
    for described, parameters in found:
        model = json.loads(described)
        options = [
            f"{key} {'-'.join(map(str, value)) if isinstance(value, list) else value}"
            for key, value in model.items()
            if key != "name"
        ]
        names.append(f"{', '.join([model['name'], *options])} ({parameters:,} parameters)")
    if names:
        yield f"Model{'s' * (len(names) > 1)}: {'; '.join(names)}."


def seeds_note(runs: pd.DataFrame) -> Iterator[str]:
    """Say how many seeds there are and what the intervals mean."""
    counts = runs.groupby("run", observed=True)["seed"].nunique()
    if len(counts):
        found = " to ".join(map(str, sorted({counts.min(), counts.max()})))
        alone = "; one seed has no interval" if counts.min() == 1 else ""
        yield f"Seeds a run: {found}; {METHOD}{alone}. Published numbers are single runs."


def divergence_note(runs: pd.DataFrame) -> Iterator[str]:
    """Say which runs have diverged, and when."""
    gone = unique(runs.loc[runs["diverged"] > 0], ("run", "seed", "diverged"))
    if found := [f"{run} seed {seed} after round {round:,}" for run, seed, round in gone]:
        yield f"Diverged, their weights no longer finite: {'; '.join(found)}."


def unbounded_note(trained: pd.DataFrame) -> Iterator[str]:
    """Say in which runs there is noise on a sum of which nothing bounds a client's part."""
    bare = trained.loc[nothing_bounded(trained)]
    if runs := sorted(set(bare["run"])):
        yield (
            f"Nothing bounds what a client adds to the sum in {', '.join(runs)} (clipping of the authors' "
            "code: small updates are scaled up, large ones pass). Noise of std "
            f"{few_numbers(bare['noise_std'])} on it hides nobody: no ε holds."
        )


def copies_note(results: Results) -> Iterator[str]:
    """Say what an example is where an image has several copies and an ε is for one of them."""
    noisy = results.rounds.loc[results.rounds["instance_noise_multiplier"] > 0, "run"].unique()
    made = configs(rows_of(results.runs, *noisy))
    if found := {config.get("photos", {}).get("copies", 1) for config in made} - {1}:
        yield f"An example-level ε is for one augmented copy; an image has {few_numbers(found)}."


def evaluation_note(runs: pd.DataFrame) -> Iterator[str]:
    """Say whose weights were evaluated, where it was not the server's."""
    found = (config.get("evaluation", {}) for config in configs(runs))
    ways = dict.fromkeys((how["stride"], how["drawn"]) for how in found if how.get("models") == "clients")
    for stride, drawn in ways:
        part = f"; on one of {stride} test examples" if stride > 1 else ""
        yield (
            "Accuracy is the mean over all clients' own weights, which they have after a broadcast"
            f"{part}. Sampled: {drawn} clients, with replacement."
        )


def configs(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the distinct configs of the runs."""
    return [json.loads(config) for config in runs["config"].unique()]


def machines_note(results: Results) -> Iterator[str]:
    """Name the hardware, say how long training took, and where all else is that runs were set to."""
    told = unique(results.runs, ("hardware", "results_version"))
    where = "; ".join(f"{hardware}, results version {version}" for hardware, version in told)
    if where:
        minutes = results.rounds["seconds"].sum() / 60
        yield f"Trained in {minutes:,.0f} minutes on {where}. What each run was set to: runs.md."


def accounting_notes(epsilons: pd.DataFrame, rounds: pd.DataFrame) -> list[str]:
    """Say which ε are not what they seem; `rounds` are those that they were spent in."""
    counted = epsilons.loc[epsilons["unit"] != "none"]
    notes = [ESTIMATE] if "estimate" in set(counted["kind"]) else []
    bounded = rounds[["run", "seed", "round", "clip_private", "per_example_clip"]]
    unmet = counted.loc[~counted["assumptions_met"]].merge(bounded, on=["run", "seed", "round"])
    examples, bits = unmet["unit"] == "instance", unmet["sensitivity"] == "bit"
    law, guarantees, private = unmet["sampling_law"], unmet["kind"] == "guarantee", unmet["clip_private"] == 1
    in_turn = ~law.isin(SAMPLED)
    poisson = ~examples & ((law == "poisson") | (law == "full") & ~guarantees)
    reasons = {
        PRIVATE_BOUND: private,
        MISMATCH: ~examples & ~bits & ~poisson & ~in_turn & (unmet["accounting"] != "drawn"),
        LEAST: unmet["accounting"] == "drawn",
        SIZE: poisson & ~private & guarantees,
        DISTANCE: poisson & ~private & ~guarantees,
        TENSOR: bits,
        SEQUENTIAL: unmet["accounting"] == "sequential",
        MEAN_CLIPPED: examples & ~unmet["per_example_clip"],
    }
    return notes + [reason for reason, rows in reasons.items() if rows.any()]


def accountings(spends: Iterable[SpendSelector]) -> list[str]:
    """Say what the accountings among `spends` mean."""
    words = {spend.accounting for spend in spends}
    return [f"{word}: {meaning}." for word, meaning in ACCOUNTINGS.items() if word in words]


FACTS = ("run", "data", "stand_in_for", "seeds", "rounds_trained", "seconds_trained")  # of the CSV, means
SHOWN = ("dataset", "rounds")  # settings with a column of their own
MACHINE = ("hardware", "engine", "code", "libraries")


class Runs(NamedTuple):
    """The runs of a paper: a line each, the settings that all of them share, the machines by letter."""

    lines: list[dict[str, Any]]
    shared: dict[str, str]
    machines: dict[str, dict[str, str]]
    settings: dict[str, dict[str, str]]  # all of them, by run
    seconds: float  # of training, of all runs and seeds


def runs(results: Results, declared: Sequence[str]) -> Runs:
    """Facts of the runs in `results`; a run that is only `declared` was not run."""
    machines = {letter(number): one for number, one in enumerate(unique(results.runs, MACHINE))}
    settings = {run: flatten(json.loads(config)) for run, config in unique(results.runs, ("run", "config"))}
    shared = shared_settings(list(settings.values()))
    lines = []
    for name in declared:
        if not results.has(name):
            lines.append({"run": name})
            continue
        found = set(unique(rows_of(results.runs, name), MACHINE))
        lines.append(
            run_facts(results.of(name))
            | {"run": name, "machines": [key for key, machine in machines.items() if machine in found]}
            | {"settings": {key: text for key, text in settings[name].items() if key not in shared}}
        )
    told = {
        key: dict(zip(MACHINE, one, strict=True)) | {"libraries": libraries(one[-1])}
        for key, one in machines.items()
    }
    return Runs(lines, shared, told, settings, results.rounds["seconds"].sum())


def runs_table(results: Results) -> PrintedTable:
    """Return a line a run, with the settings in which it differs; those of all stand below, and machines."""
    found = runs(results, list(dict.fromkeys(results.runs["run"])))
    shown = [shown_line(one) for one in found.lines]
    keys = list(dict.fromkeys(key for settings in found.settings.values() for key in settings))
    told = [{**{name: one[name] for name in FACTS}, **found.settings[one["run"]]} for one in found.lines]
    notes = [
        f"Accuracy: at the last round, on the split {' and '.join(results.runs['evaluated_on'].unique())}.",
        f"All runs: {settings_text(found.shared)}.",
        *details(results),
        *(f"Machine {letter}: {settings_text(machine)}." for letter, machine in found.machines.items()),
    ]
    tidy = pd.DataFrame(told, columns=[*FACTS, *keys])
    title = "What every run was set to, and what it ran on"
    return PrintedTable("runs", title, tidy, display_frame(shown), notes)


def shown_line(one: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return the cells of one run."""
    words = {name.capitalize(): str(one[name]) for name in ("run", "data", "seeds", "rounds")}
    words |= {"Accuracy (%)": one["accuracy"], "Seconds": one["seconds"]}
    words |= {"Machine": ", ".join(one["machines"])}
    words["Set to"] = settings_text({key: text for key, text in one["settings"].items() if key not in SHOWN})
    return {("", name): text for name, text in words.items()}


def settings_text(settings: Mapping[str, str]) -> str:
    """Return settings as one text."""
    return "; ".join(f"{key} {text}" for key, text in settings.items())


def details(results: Results) -> Iterator[str]:
    """Yield how much data there is, how it was made, and how many clients hold an example."""
    columns = ("data", "train_examples", "test_examples", "evaluated_on", "repetition", "data_note")
    for name, train, test, split, repetition, made in unique(results.runs, columns):
        often = f", each at {repetition:.3g} clients" if repetition > 1 else ""
        how = f" {made.removesuffix('.')}." if made else ""
        yield f"{name}: {train:,} training examples{often}; accuracy on {test:,} {split} examples.{how}"


def run_facts(of_run: Results) -> dict[str, Any]:
    """Return the facts of one run as text; the numbers are means over seeds."""
    runs, rounds = of_run.runs.sort_values("seed").set_index("seed"), of_run.rounds.groupby("seed")
    first = runs.iloc[0]
    return {
        "data": first["data"],
        "stand_in_for": first["stand_in_for"],
        "seeds": len(runs),
        "identities": runs["identity"].to_dict(),
        "accuracy": numbers.percent(last_reading(of_run, first["run"])["accuracy"]),
        "evaluated_on": first["evaluated_on"],
        "diverged": {seed: after for seed, after in runs["diverged"].items() if after},
        "rounds": numbers.whole_number(rounds["round"].max()),
        "rounds_trained": rounds["round"].max().mean(),
        "seconds_trained": round(rounds["seconds"].sum().mean(), 1),
        "seconds": numbers.short_interval(interval(rounds["seconds"].sum()), 1),
        "peak_mib": numbers.whole_number([of_run.rounds["peak_mib"].max()]),
    }


def shared_settings(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the settings that are in all of `settings`, with the same value."""
    first, *others = settings or [{}]
    return {key: text for key, text in first.items() if all(one.get(key) == text for one in others)}


def libraries(text: str) -> str:
    """Return JSON of versions by name as words."""
    return ", ".join(f"{name} {version}" for name, version in json.loads(text or "{}").items())


def letter(number: int) -> str:
    """Return the letters that number 0, 1, ... goes by: A to Z, then AA."""
    above, last = divmod(number, len(ascii_uppercase))
    return (letter(above - 1) if above else "") + ascii_uppercase[last]
