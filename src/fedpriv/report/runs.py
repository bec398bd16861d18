"""What is said of every run: what came out, what it took, what it was set to, what it ran on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

import pandas as pd

from fedpriv.report import numbers
from fedpriv.report.notes import unique
from fedpriv.report.numbers import interval
from fedpriv.report.reading import last_reading
from fedpriv.report.render import Table
from fedpriv.report.results import Results, rows_of
from fedpriv.report.settings import flattened
from fedpriv.report.tables.long import display_frame

FACTS = ("run", "data", "stand_in_for", "seeds", "rounds", "seconds")  # of the table for machines
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
    """Return what there is to say of the runs in `results`; a run that is only `declared` was not run."""
    machines = {letter(number): one for number, one in enumerate(unique(results.runs, MACHINE))}
    settings = {run: flattened(json.loads(config)) for run, config in unique(results.runs, ("run", "config"))}
    shared = common(list(settings.values()))
    lines = []
    for name in declared:
        if not results.has(name):
            lines.append({"run": name})
            continue
        found = set(unique(rows_of(results.runs, name), MACHINE))
        lines.append(
            line(results.of(name))
            | {"run": name, "machines": [key for key, machine in machines.items() if machine in found]}
            | {"settings": {key: text for key, text in settings[name].items() if key not in shared}}
        )
    told = {
        key: dict(zip(MACHINE, one, strict=True)) | {"libraries": libraries(one[-1])}
        for key, one in machines.items()
    }
    return Runs(lines, shared, told, settings, results.rounds["seconds"].sum())


def runs_table(results: Results) -> Table:
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
    return Table("runs", title, tidy, display_frame(shown), notes)


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


def line(of_run: Results) -> dict[str, Any]:
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
        "rounds": numbers.whole(rounds["round"].max()),
        "seconds": numbers.short_interval(interval(rounds["seconds"].sum()), 1),
        "peak_mib": numbers.whole([of_run.rounds["peak_mib"].max()]),
    }


def common(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
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
