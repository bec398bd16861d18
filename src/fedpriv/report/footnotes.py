"""What stands under every table: data, seeds, sampling, hardware, and what was not run."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from fedpriv.report.interval import METHOD

ESTIMATE = "A Bayesian ε is an estimate, never a guarantee: see docs/accounting.md."


def unique(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple]:
    """Return the distinct rows of some columns, in order of appearance."""
    return list(frame.filter(list(columns)).drop_duplicates().itertuples(index=False, name=None))


def stand_ins(frame: pd.DataFrame) -> str:
    """Return what a title must add where other data stand in for the paper's."""
    found = [
        f"{name} in place of {wanted}" for name, wanted in unique(frame, ("data", "stand_in_for")) if wanted
    ]
    return f" [{', '.join(found)}]" if found else ""


def footnotes(frame: pd.DataFrame, missing: Iterable[str] = ()) -> list[str]:
    """Return the facts behind the runs in `frame`, a sentence each; `missing` are runs that were not run."""
    parts = (data, models, seeds, settings, accounting, machines)
    notes = [note for part in parts for note in part(frame)]
    names = sorted(set(missing))
    return notes + ([f"Not run in this preset: {', '.join(names)}."] if names else [])


def data(frame: pd.DataFrame) -> list[str]:
    """Name the data, what they stand in for, and the split that was evaluated."""
    notes = []
    columns = ("data", "stand_in_for", "train_examples", "test_examples", "evaluated_on")
    for name, wanted, train, test, split in unique(frame, columns):
        stands = f" standing in for {wanted}: these are not the paper's data" if wanted else ""
        notes.append(
            f"Data: {name}{stands}; {train:,} training examples, accuracy on {test:,} {split} examples."
        )
    return notes


def models(frame: pd.DataFrame) -> list[str]:
    """Name the models that were trained, with their sizes."""
    found = {
        (json.dumps(json.loads(config)["model"]), parameters)
        for config, parameters in unique(frame, ("config", "parameters"))
    }
    notes = []
    for described, parameters in sorted(found):
        model = json.loads(described)
        options = ", ".join(f"{key} {plain(value)}" for key, value in model.items() if key != "name")
        notes.append(f"Model: {model['name']}, {options}; {parameters:,} parameters.")
    return notes


def plain(value: Any) -> str:
    """Return a config value as a reader would write it: a list with dashes."""
    return "-".join(map(str, value)) if isinstance(value, list) else str(value)


def seeds(frame: pd.DataFrame) -> list[str]:
    """Say how many seeds there are and what the intervals mean."""
    runs = [run for run, _ in unique(frame, ("run", "seed"))]
    counts = sorted({runs.count(run) for run in runs})
    if not counts:
        return []
    found = " to ".join(map(str, sorted({counts[0], counts[-1]})))
    alone = "; one seed has no interval" if counts[0] == 1 else ""
    return [f"Seeds a run: {found}; {METHOD}{alone}. Published numbers are single runs."]


def settings(frame: pd.DataFrame) -> list[str]:
    """Say for every population how clients were drawn, how much noise there was, how often data repeat."""
    notes = []
    columns = ["population", "sampling_law", "sampling_rate", "repetition", "rounds_wanted"]
    noises = {setting: (set(), set()) for setting in sorted(unique(frame, columns))}
    for *setting, sigma, clip in unique(frame, [*columns, "noise_multiplier", "clip_l2"]):
        if sigma > 0:
            noises[tuple(setting)][0].add(sigma)
            noises[tuple(setting)][1].add(clip)
    for (population, law, rate, repetition, rounds), (sigmas, clips) in noises.items():
        noise = f"; σ = {several(sigmas)}, C = {several(clips)}" if sigmas else ""
        repeated = (
            f"an example is at {repetition:.3g} clients" if repetition > 1 else "no example is repeated"
        )
        notes.append(
            f"N = {population:,}: {law} sampling, rate {rate:g}{noise}; {rounds:,} rounds; {repeated}."
        )
    return notes


def several(values: Iterable[float]) -> str:
    """Return up to three numbers, or the range of more."""
    found = sorted(values)
    if len(found) <= 3:
        return ", ".join(f"{value:.3g}" for value in found)
    return f"{found[0]:.3g} to {found[-1]:.3g}"


def accounting(frame: pd.DataFrame) -> list[str]:
    """Say which ε are not what they seem."""
    spent = frame.loc[frame["unit"] != "none"]
    notes = [ESTIMATE] if "estimate" in set(spent["kind"]) else []
    if not all(spent["assumptions_met"]):
        notes.append(
            "Sampling mismatch: cohorts were not drawn as the accountants assume; no ε here is a guarantee."
        )
    return notes


def machines(frame: pd.DataFrame) -> list[str]:
    """Name hardware and arithmetic, and say how long the rounds took."""
    rounds = frame.drop_duplicates(["run", "seed", "round"])
    return [
        f"Computed on {hardware} in {dtype}: {some['seconds'].sum() / 60:,.0f} minutes of training in all."
        for (hardware, dtype), some in rounds.groupby(["hardware", "dtype"], observed=True)
    ]
