"""What training took: hours and rates of the stored runs, by paper and hardware."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.config.plan import load_preset
from fedpriv.config.work import work
from fedpriv.docs import markdown
from fedpriv.docs.papers import REFERENCE
from fedpriv.files import stored
from fedpriv.files.summary import everywhere
from fedpriv.progress import duration

OPENING, CLOSING = "<!-- hours: written by `make docs` -->\n", "<!-- end of hours -->\n"
NUMBERS = ("runs", "in all", "median of a run", "examples a second")


def page(root: Path) -> str:
    """Return docs/stored-runs.md with its table of hours as the stored runs have it."""
    before, rest = (root / "docs/stored-runs.md").read_text(encoding="utf-8").split(OPENING)
    table = markdown.head(["paper", *NUMBERS, "hardware"], NUMBERS) + "".join(lines(root))
    return f"{before}{OPENING}{table}{CLOSING}{rest.split(CLOSING)[1]}"


def lines(root: Path) -> Iterator[str]:
    """Yield a line for each paper and hardware; stored runs of a config that has changed are left out."""
    runs = {path: stored.summary(path) for path in everywhere(root / REFERENCE)}
    plans = {
        name: load_preset(root / f"config/{name}.yaml") for name in {one["preset"] for one in runs.values()}
    }
    spent: list[dict[str, Any]] = []
    for path, told in runs.items():
        run = plans[told["preset"]].runs[told["paper"]].get(told["run"])
        if run and told["identity"] == run.identity(told["run"], told["seed"]):
            facts = {"paper": told["paper"], "hardware": told["environment"]["hardware"]}
            seconds = float(sum(stored.trace(path)["seconds"]))
            spent.append(facts | {"seconds": seconds, "examples": work(run).trained})
    for (paper, hardware), some in pd.DataFrame(spent).groupby(["paper", "hardware"]):
        seconds = some["seconds"].to_numpy()
        rate = f"{some['examples'].sum() / seconds.sum():,.0f}"
        took = duration(seconds.sum()), duration(float(np.median(seconds)))
        yield markdown.line([paper, len(some), *took, rate, hardware])
