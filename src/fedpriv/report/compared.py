"""What was published beside what was measured: read from the files of a finished paper.

>>> published_and_reproduced(Path("results/reference/laptop/bdp2019"))   # doctest: +SKIP
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from fedpriv.errors import BadInput
from fedpriv.report import render
from fedpriv.report.lines import STATISTIC
from fedpriv.report.metrics import METRICS, printed_number
from fedpriv.report.texts import unescape_csv
from fedpriv.report.verdicts import CLAIM_COUNTS, counts_text, verdict_counts
from fedpriv.trace import EVALUATED

PUBLISHED_COLUMNS = ("Table", "Row", "Column", "Published", "Reproduced", "Verdict")


def claims(paper: Path) -> pd.DataFrame:
    """Return the judged claims of a paper, a line each; the empty string stands where there is no value."""
    columns = ["claim", "place", "verdict", "outcome", "soundness", *CLAIM_COUNTS]
    return read_csv(paper / "claims.csv", columns, dict.fromkeys(CLAIM_COUNTS, "int64"))


def published_and_reproduced(paper: Path) -> pd.DataFrame:
    """Return a line for every number that the paper's tables print: published, reproduced, verdict."""
    files = sorted((paper / "tables").glob("*.csv"))
    tables = [read_csv(path, [], dict.fromkeys(STATISTIC, "float64")) for path in files]
    tables = [table.loc[table["quantity"].isin(EVALUATED)] for table in tables if "source" in table]
    if not tables:
        return pd.DataFrame()
    key, lines = ["table", "row", "column", "quantity"], pd.concat(tables)
    published = lines.loc[lines["source"] == "published", [*key, "value", "verdict"]]
    ours = lines.loc[lines["source"] == "reproduced"].reindex(
        columns=[*key, *STATISTIC, "status", "substitute_for", "cut"], fill_value=""
    )
    both = published.rename(columns={"value": "published"}).merge(ours, on=key, sort=False)
    return both.fillna({"seeds": 0})


def papers_cells(paper: Path) -> pd.DataFrame:
    """Return those of them that are the paper's: of several tables for one place the first's."""
    every = published_and_reproduced(paper)
    main = [path.stem for path in paper.glob("tables/*.json") if render.read_table(path).main]
    return every.loc[every["table"].isin(main)] if len(every) else every


def accuracies_text(papers: Iterable[str], folder: Path) -> str:
    """Return in a sentence how the published numbers of papers came out; empty where no paper has any."""
    finished = [folder / name for name in papers if (folder / name / "claims.csv").is_file()]
    counts = verdict_counts(verdict for path in finished for verdict in papers_cells(path).get("verdict", ()))
    return f"{sum(counts.values())} published numbers: {counts_text(counts)}." if counts else ""


def published_words(paper: Path) -> list[Sequence[str]]:
    """Return the published numbers in words, under `PUBLISHED_COLUMNS`."""
    lines = []
    for line in published_and_reproduced(paper).to_dict("records"):
        metric = METRICS[line["quantity"]]
        published = f"{metric.factor * line['published']:.4g}{metric.unit}"
        ours = metric.with_unit(printed_number(line))
        lines.append((line["table"], line["row"], line["column"], published, ours, line["verdict"]))
    return lines


def read_csv(path: Path, columns: list[str], numbers: Mapping[str, str]) -> pd.DataFrame:
    """Read a CSV file that must have `columns`; a missing or damaged one is BadInput naming it.

    What is none of `numbers`, which have their types, is text, whatever it looks like.
    """
    dtypes = defaultdict(lambda: "object", numbers)
    try:
        blank = dict.fromkeys(numbers, "")
        frame = pd.read_csv(path.absolute(), dtype=dtypes, keep_default_na=False, na_values=blank)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a paper whose claims were judged") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no CSV file ({str(error).splitlines()[0]}), allowed: one") from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: what the workflow writes")
    return frame.map(lambda cell: unescape_csv(cell) if isinstance(cell, str) else cell)
