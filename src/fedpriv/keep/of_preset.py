"""The kept runs of a preset, whichever preset kept them: a run is the same whoever asked for it."""

from collections.abc import Iterator
from pathlib import Path

from fedpriv.config.plan import Plan
from fedpriv.keep.archive import Kept, read
from fedpriv.keep.index import everywhere
from fedpriv.paper.read import merge


def of_preset(plan: Plan, paper: str, reference: Path) -> Iterator[Kept]:
    """Yield the kept runs of a paper that are in `plan`, each once, with the labels that the plan gives it.

    Runs of another identity than the plan's, or of a seed that it does not have, are left out. A damaged
    archive is BadInput naming it.
    """
    wanted = {identity for run in plan.runs[paper] for identity in plan.identities(paper, run).values()}
    for archive in everywhere(reference, paper):
        for one in read(archive, wanted):
            yield one._replace(summary=merge(one.summary, plan.labels(paper, one.run)))
            wanted.discard(one.identity)
