"""A table of papers: how many of their published accuracies are reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fedpriv.docs.cells import head, line
from fedpriv.frozen import Frozen
from fedpriv.report.claims.compare import published_and_reproduced
from fedpriv.report.claims.yardstick import ANOTHER_NETWORK, NOT_JUDGED, NOT_RUN, REACHED, outcome
from fedpriv.report.stability import UNSTABLE

HEADS = ["Paper", "Reproduced here", "Published accuracies", "In one sentence"]
UNLIKE = "not comparable (substitute data)"
BASELINES = "baselines of another network"
ORDER = (*REACHED.values(), UNSTABLE, BASELINES, UNLIKE, NOT_RUN)


class Paper(Frozen):
    """One line: the results that are counted, and what is said of them."""

    of: str  # preset/paper
    tables: tuple[str, ...]  # whose cells count; none: the paper prints no accuracy
    name: str
    here: str  # what of it is reproduced
    says: str


class Counts(Frozen):
    """What a comment asks for."""

    papers: tuple[Paper, ...]


def lines(asked: Counts, reference: Path) -> Iterator[str]:
    """Yield the lines of one table."""
    yield head(HEADS)
    for paper in asked.papers:
        yield line([paper.name, paper.here, counted(reference / paper.of, paper.tables), paper.says])


def counted(results: Path, tables: tuple[str, ...]) -> str:
    """Return how many cells of these tables are reached, and what the others are."""
    if not tables:
        return "none in a table"
    cells = published_and_reproduced(results)
    found = Counter(cells.loc[cells["table"].isin(tables), "verdict"].map(plain))
    several = ", ".join(f"{found[one]} {one}" for one in ORDER if found[one])
    return f"{sum(found.values())}: {several}"


def plain(verdict: str) -> str:
    """Return a verdict without its reason."""
    return {NOT_JUDGED: UNLIKE, ANOTHER_NETWORK: BASELINES}.get(verdict) or outcome(verdict)
