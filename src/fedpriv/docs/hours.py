"""What training took: hours and rates of the stored runs, by paper, data, clients and hardware."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.work import work
from fedpriv.docs import markdown
from fedpriv.docs.papers import REFERENCE
from fedpriv.files import stored
from fedpriv.files.summary import everywhere
from fedpriv.progress import duration

OPENING, CLOSING = "<!-- hours: written by `make docs` -->\n", "<!-- end of hours -->\n"
NUMBERS = ("clients", "runs", "in all", "median of a run", "examples a second")


class Spent(NamedTuple):
    """A stored run and what it took."""

    group: tuple[str, str, int, str]  # paper, data, clients, hardware
    seconds: float
    examples: float  # of passes forward and backward


def page(root: Path) -> str:
    """Return docs/stored-runs.md with its table of hours as the stored runs have it."""
    text = (root / "docs/stored-runs.md").read_text(encoding="utf-8")
    before, rest = text.split(OPENING)
    _, after = rest.split(CLOSING)
    return f"{before}{OPENING}{table(root)}{CLOSING}{after}"


def table(root: Path) -> str:
    """Return the table of hours; stored runs of a config that has changed since are left out."""
    runs = {path: stored.summary(path) for path in everywhere(root / REFERENCE)}
    presets = {told["preset"] for told in runs.values()}
    plans = {preset: load_preset(root / "config" / f"{preset}.yaml") for preset in presets}
    spent = sorted(one for path, told in runs.items() for one in run_cost(plans[told["preset"]], told, path))
    head = markdown.head(["paper", "data", *NUMBERS, "hardware"], NUMBERS)
    return head + "".join(line(list(runs)) for _, runs in groupby(spent, key=lambda one: one.group))


def run_cost(plan: Plan, told: Mapping[str, Any], path: Path) -> Iterator[Spent]:
    """Yield what a stored run took, if its preset still has it."""
    name, paper = told["run"], told["paper"]
    run = plan.runs[paper].get(name)
    if run and told["identity"] == run.identity(name, told["seed"]):
        group = paper, run.data, run.partition.clients, told["environment"]["hardware"]
        yield Spent(group, float(sum(stored.trace(path)["seconds"])), work(run).trained)


def line(runs: list[Spent]) -> str:
    """Return the runs of one group as a line of the table."""
    paper, data, clients, hardware = runs[0].group
    seconds = np.array([one.seconds for one in runs])
    rate = sum(one.examples for one in runs) / seconds.sum()
    cells = [paper, data, f"{clients:,}", len(runs), duration(seconds.sum())]
    return markdown.line([*cells, duration(float(np.median(seconds))), f"{rate:,.0f}", hardware])
