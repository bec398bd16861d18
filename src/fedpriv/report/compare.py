"""Published beside reproduced, and the verdicts, for a terminal; reads only files that the workflow wrote."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table

from fedpriv.errors import BadInput
from fedpriv.report import cells
from fedpriv.report.interval import Interval

LAST_DIGIT = 0.005  # half of it: published accuracies are whole percents
COLOURS = {
    "reproduced": "green",
    "agrees": "green",
    "above": "green",
    "partly": "yellow",
    "unsound": "magenta",
    "below": "red",
    "not reproduced": "red",
}


def compare(directory: Path) -> RenderableType:
    """Return the accuracies and the claims of RESULTS/PAPER side by side, ready to print.

    Raises BadInput naming the folder or file that is missing or not what the workflow writes.
    """
    accuracies = Table(
        "Table", "Row", "Column", "Published (%)", "Reproduced (%)", "Verdict", title="Accuracy"
    )
    for line in published_and_reproduced(directory).to_dict("records"):
        found = Interval(*(100 * line[name] for name in ("value", "low", "high")), n=int(line["seeds"]))
        accuracies.add_row(
            line["table"],
            line["row"] if isinstance(line["row"], str) else f"{line['row']:,}",
            line["column"],
            f"{100 * line['published']:.4g}",
            cells.with_interval(found, 1),
            coloured(line["verdict"]),
        )
    claims = Table("Claim", "Place", "Verdict", title="Claims", show_lines=False)
    for claim in read(directory / "claims.csv", ["claim", "place", "verdict"]).to_dict("records"):
        claims.add_row(claim["claim"], claim["place"], coloured(claim["verdict"]))
    return Group(accuracies, claims)


def published_and_reproduced(directory: Path) -> pd.DataFrame:
    """Return a line for every accuracy that the paper's tables print: published, reproduced, verdict."""
    if not directory.is_dir():
        raise BadInput(
            f"{directory}: found no such folder, allowed: RESULTS/PAPER, as the workflow writes it"
        )
    tables = [read(path, ["table"]) for path in sorted((directory / "tables").glob("*.csv"))]
    tables = [table for table in tables if "source" in table]
    if not tables:
        raise BadInput(
            f"{directory}: found no table of published values, allowed: a paper whose tables were built"
        )
    numbers = pd.concat(tables)
    numbers = numbers.loc[numbers["quantity"] == "accuracy"]
    key = ["table", "row", "column"]
    published = numbers.loc[numbers["source"] == "published", [*key, "value"]]
    reproduced = numbers.loc[
        numbers["source"] == "reproduced", [*key, "value", "low", "high", "seeds", "status"]
    ]
    both = published.rename(columns={"value": "published"}).merge(reproduced, on=key, sort=False)
    both["seeds"] = both["seeds"].fillna(0)
    return both.assign(verdict=[verdict(line) for line in both.to_dict("records")])


def verdict(line: Mapping[Hashable, Any]) -> str:
    """Say where the reproduced accuracy stands: it agrees if its interval, rounded, holds the other."""
    if line["status"] != "ok":
        return line["status"]
    low, high = (line["value"] if np.isnan(line[end]) else line[end] for end in ("low", "high"))
    if line["published"] > high + LAST_DIGIT:
        return "below"
    return "above" if line["published"] < low - LAST_DIGIT else "agrees"


def read(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a CSV file that must have `columns`; a missing or damaged one is BadInput naming it."""
    try:
        frame = pd.read_csv(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a paper whose claims were judged") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no CSV file ({str(error).splitlines()[0]}), allowed: one") from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: what the workflow writes")
    return frame


def coloured(verdict: str) -> str:
    """Return a verdict in its colour."""
    colour = COLOURS.get(verdict, "dim")
    return f"[{colour}]{verdict}[/{colour}]"
