"""What is behind one cell of a table: its numbers and what they mean, and the runs that they come from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.account.spend import Spend
from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.files import left, stored, summary
from fedpriv.keep import index
from fedpriv.paper.read import merge
from fedpriv.paper.spends import SPEND_COLUMNS
from fedpriv.report.claims import compare
from fedpriv.report.page.runs import common
from fedpriv.report.settings import flattened
from fedpriv.report.tables.long import STATISTIC

MACHINE = ("hardware", "engine", "code")


def show(folder: Path, table: str, row: str, column: str, configs: Path) -> dict[str, Any]:
    """Return the numbers of a cell, and a line for every run and seed behind it.

    `folder` is RESULTS/PAPER, or the same of the reference, whose runs are stored: those of the preset of
    that name in `configs`. `row` and `column` are words of the table's CSV, in any case. What
    is not there is BadInput that lists what is.
    """
    path = folder / "tables" / f"{table}.csv"
    named("table", table, sorted(one.stem for one in path.parent.glob("*.csv")))
    lines = compare.read(path, ["row", "column", "run"], dict.fromkeys([*STATISTIC, "delta"], "float64"))
    lines = lines.loc[lines["row"] == named("row", row, lines["row"])]
    lines = lines.loc[lines["column"] == named("column", column, lines["column"])]
    told = {(one["run"], one["seed"]): (one, trace) for one, trace in summaries(folder, configs)}
    names = sorted({run for run in lines["run"] if run})
    # What only some of the paper's runs have, or have otherwise.
    settings = {run: flattened(one["config"]) for (run, _), (one, _) in told.items()}
    shared = common(list(settings.values()))
    return {
        "numbers": with_deltas([number(line) for line in lines.to_dict("records")]),
        "runs": {
            run: {
                "settings": {k: v for k, v in settings[run].items() if k not in shared},
                "seeds": {seed: facts(*told[name, seed]) for name, seed in sorted(told) if name == run},
            }
            for run in names
            if run in settings
        },
        "not run": [run for run in names if run not in settings],
    }


def named(what: str, found: str, allowed: Iterable[str]) -> str:
    """Return the one of `allowed` that is meant, in whatever case; BadInput lists them."""
    names = list(dict.fromkeys(allowed))
    meant = [name for name in names if name.casefold() == found.casefold()]
    if not meant:
        raise BadInput(f"{what}: found {found or 'nothing'}, allowed: {', '.join(names) or 'none is there'}")
    return meant[0]


def summaries(folder: Path, configs: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield the summaries of the finished runs of a paper, and where their traces are: beside, or stored."""
    there = sorted(folder.glob("runs/*/seed*/summary.json"))
    yield from ((summary.load(path), left.sources(path.parent)[0]) for path in there)
    if not there:
        preset, paper, reference = folder.parent.name, folder.name, folder.parents[1]
        plan = load_preset(configs / f"{preset}.yaml")
        for path in index.stored(plan, reference, paper).values():
            yield merge(stored.summary(path), plan.labels(paper, path.parent.name)), path


def number(line: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what is said of a line of a table's CSV, nothing that does not apply."""
    return {str(key): value for key, value in line.items() if value != "" and not pd.isna(value)}


def with_deltas(numbers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same numbers; an ε has its δ, where the table has a line of its own for that."""

    def key(one: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(one.get(name) for name in ("source", "run", "unit", *SPEND_COLUMNS))

    deltas = {key(one): one["value"] for one in numbers if one["quantity"] == "delta" and "value" in one}
    return [
        {"delta": deltas[key(one)], **one} if one["quantity"] == "epsilon" and key(one) in deltas else one
        for one in numbers
    ]


def facts(told: Mapping[str, Any], trace: Path) -> dict[str, Any]:
    """Return what a reviewer asks of one run and seed."""
    wanted = ("identity", "results_version", "rounds", "test_accuracy", "evaluated_on", "seconds")
    environment = told.get("environment", {})
    return {key: told.get(key) for key in wanted} | {
        "data": told["data"]["name"],
        **{key: environment.get(key) for key in MACHINE},
        "trace": str(trace),
    }


def spoken(one: Mapping[str, Any]) -> dict[str, str]:
    """Return a number of `show` as people read it."""
    low, high = (one.get(end) for end in ("low", "high"))
    return {
        "": one.get("source", ""),
        "quantity": one["quantity"],
        "value": f"{one['value']:.6g}" if "value" in one else one.get("status", "nothing"),
        "95 % interval": f"{low:.6g} to {high:.6g}" if low is not None and high is not None else "",
        "seeds": f"{one['seeds']:g}" if "seeds" in one else "",
        "meaning": meaning(one),
    }


def meaning(one: Mapping[str, Any]) -> str:
    """Return all that gives an ε its meaning."""
    if one["quantity"] != "epsilon" or not {"kind", "value", "delta"} <= set(one):
        return ""
    told: dict[str, Any] = {field.name: one[field.name] for field in fields(Spend) if field.name in one}
    told |= {"epsilon": one["value"], "unmet": str(one.get("epsilon_status", "")).partition(": ")[2]}
    return str(Spend(**told))
