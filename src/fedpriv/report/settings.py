"""What every run was set to, what came out, what it took, and what it ran on: `runs.csv` and `runs.md`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fedpriv.paper.tables import Cell
from fedpriv.report import numbers
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import unique
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, flatten

MACHINE = ("hardware", "engine", "code", "libraries")
SHOWN = ("dataset", "rounds")  # settings with a column of their own


def settings_table(results: Results) -> PrintedTable:
    """Return a line a run, with the settings in which it differs; those of all stand below, and machines."""
    machines = {str(number): machine for number, machine in enumerate(unique(results.runs, MACHINE), start=1)}
    settings = {run: flatten(json.loads(config)) for run, config in unique(results.runs, ("run", "config"))}
    shared = shared_settings(list(settings.values()))
    lines, display = [], []
    for name, config in settings.items():
        run = results.run(name)
        first, rounds = run.runs.sort_values("seed").iloc[0], run.rounds.groupby("seed")
        last, seconds, made = rounds["round"].max(), rounds["seconds"].sum(), unique(run.runs, MACHINE)
        own = {key: text for key, text in config.items() if key not in (*shared, *SHOWN)}
        words = {
            "Run": name,
            "Data": first["data"],
            "Seeds": str(len(run.runs)),
            "Rounds": numbers.whole_number(last),
            "Accuracy (%)": METRICS["accuracy"].show(METRICS["accuracy"].sample(results, Cell(name))),
            "Seconds": numbers.short_interval(seconds, 1),
            "Machine": ", ".join(key for key, machine in machines.items() if machine in made),
            "Set to": settings_text(own),
        }
        display.append(words)
        facts = {key: first[key] for key in ("run", "data", "substitute_for")} | {"seeds": len(run.runs)}
        means = {"rounds_trained": last.mean(), "seconds_trained": round(seconds.mean(), 1)}
        lines.append({**facts, **means, **config})
    notes = [
        f"Accuracy: at the last round, on the split {' and '.join(results.runs['evaluated_on'].unique())}.",
        f"All runs: {settings_text(shared)}.",
        *data_notes(results.runs),
        *machine_notes(machines),
    ]
    title = "What every run was set to, and what it ran on"
    return PrintedTable("runs", title, for_machines(lines), pd.DataFrame(display), notes)


def for_machines(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the lines as pandas and R read them alike: a key that is set to nothing is `none`.

    One that a run does not have is NA.
    """
    frame = pd.DataFrame(lines).replace("null", "none")
    return frame.where(frame.notna(), "NA")


def data_notes(runs: pd.DataFrame) -> Iterator[str]:
    """Yield how much data there is, how it was made, and how many clients hold an example."""
    columns = ("data", "train_examples", "test_examples", "evaluated_on", "repetition", "data_note")
    for name, train, test, split, repetition, made in unique(runs, columns):
        often = f", each at {repetition:.3g} clients" if repetition > 1 else ""
        on = f"accuracy on {test:,} {split} examples." + (f" {made.removesuffix('.')}." if made else "")
        yield f"{name}: {train:,} training examples{often}; {on}"


def machine_notes(machines: Mapping[str, tuple[Any, ...]]) -> Iterator[str]:
    """Yield what each machine is, by its number, with its libraries."""
    for number, (*machine, versions) in machines.items():
        libraries = ", ".join(f"{name} {version}" for name, version in json.loads(versions or "{}").items())
        facts: dict[str, Any] = dict(zip(MACHINE, [*machine, libraries], strict=True))
        yield f"Machine {number}: {settings_text(facts)}."


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as one text."""
    return "; ".join(f"{key} {text}" for key, text in settings.items())


def shared_settings(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the settings that are in all of `settings`, with the same value."""
    first, *others = settings or [{}]
    return {key: text for key, text in first.items() if all(other.get(key) == text for other in others)}
