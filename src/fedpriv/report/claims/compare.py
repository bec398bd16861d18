"""Published beside reproduced, and the verdicts; reads only files that the workflow wrote."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.errors import BadInput
from fedpriv.report import numbers
from fedpriv.report.claims import judge
from fedpriv.report.tables.long import STATISTIC, statistic
from fedpriv.report.texts import unescape_csv

COUNTS = ("cells", "decided", *judge.COUNTS.values())  # of a claim
ACCURACY = ("Table", "Row", "Column", "Published (%)", "Reproduced (%)", "Verdict")


def papers(directory: Path) -> list[Path]:
    """Return `directory` if it is RESULTS/PAPER, or the finished papers in it if it is RESULTS."""
    found = [directory] if (directory / "claims.csv").exists() else []
    found = found or sorted(path.parent for path in directory.glob("*/claims.csv"))
    if not found:
        raise BadInput(
            f"{directory}: found no claims.csv in it or one below, allowed: RESULTS or RESULTS/PAPER"
        )
    return found


def facts(directory: Path) -> dict[str, Any]:
    """Return what was compared of RESULTS/PAPER; of RESULTS the same by paper."""
    found = {
        paper: {
            "accuracies": published_and_reproduced(paper).to_dict("records"),
            "claims": claims(paper).to_dict("records"),
        }
        for paper in papers(directory)
    }
    return found.get(directory) or {paper.name: told for paper, told in found.items()}


def claims(paper: Path) -> pd.DataFrame:
    """Return the judged claims of a paper, a line each; what is not said is the empty string."""
    columns = ["claim", "place", "verdict", "outcome", "soundness", *COUNTS]
    return read(paper / "claims.csv", columns, dict.fromkeys(COUNTS, "int64"))


def accuracies(paper: Path) -> list[Sequence[str]]:
    """Return a line for every accuracy that the paper's tables print, in words, under `ACCURACY`."""
    lines = []
    for line in published_and_reproduced(paper).to_dict("records"):
        published, reproduced = f"{100 * line['published']:.4g}", numbers.fraction_text(statistic(line))
        lines.append((line["table"], line["row"], line["column"], published, reproduced, line["verdict"]))
    return lines


def published_and_reproduced(paper: Path) -> pd.DataFrame:
    """Return a line for every accuracy that the paper's tables print: published, reproduced, verdict."""
    found = sorted((paper / "tables").glob("*.csv"))
    tables = [read(path, ["table"], dict.fromkeys(STATISTIC, "float64")) for path in found]
    tables = [table.loc[table["quantity"] == "accuracy"] for table in tables if "source" in table]
    if not tables:
        return pd.DataFrame()
    key, found = ["table", "row", "column"], pd.concat(tables)
    published = found.loc[found["source"] == "published", [*key, "value", "verdict"]]
    ours = found.loc[found["source"] == "reproduced"].reindex(
        columns=[*key, *STATISTIC, "status", "stand_in_for", "cut"], fill_value=""
    )
    both = published.rename(columns={"value": "published"}).merge(ours, on=key, sort=False)
    return both.fillna({"seeds": 0})


def read(path: Path, columns: list[str], numbers: Mapping[str, str]) -> pd.DataFrame:
    """Read a CSV file that must have `columns`; a missing or damaged one is BadInput naming it.

    What is none of `numbers`, which have their types, is text, whatever it looks like.
    """
    dtypes = defaultdict(lambda: "object", numbers)
    try:
        frame = pd.read_csv(path, dtype=dtypes, keep_default_na=False, na_values=dict.fromkeys(numbers, ""))
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a paper whose claims were judged") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no CSV file ({str(error).splitlines()[0]}), allowed: one") from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: what the workflow writes")
    return frame.map(lambda cell: unescape_csv(cell) if isinstance(cell, str) else cell)
