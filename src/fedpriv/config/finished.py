"""What there is of a plan's results, and which of it was made of something else than the plan says now.

Snakemake remembers what a file was made from, in a folder that may be gone, or of another machine. So
finished files say it themselves: a run its identity, a ledger its accountant and its δ, and beside what is
rendered stands a small file with the code that rendered it and what it was told.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fedpriv.config.plan import Plan
from fedpriv.config.run import Run
from fedpriv.config.targets import drawn
from fedpriv.errors import BadInput
from fedpriv.files.made import made, said
from fedpriv.files.summary import glanced

OF_PAPER = ("audit", "collect", "tables", "figures")  # steps
RULES = ("all",)  # what may be asked for by its rule and is made of everything


def beside(plan: Plan, step: str, paper: str = "") -> str:
    """Return the file that says what came of a step was made with."""
    return str(Path("results", plan.preset.preset, paper, "made", f"{step}.txt"))


def made_now(plan: Plan, step: str, paper: str = "") -> str:
    """Return what that file says of what is made now."""
    if step == "audit":
        return made("audit.finished", identities(plan, paper))
    if step == "collect":
        return made("report.collect", [identities(plan, paper), cuts(plan, paper)])
    if step == "tables":
        told = plan.papers[paper].model_dump(include={"tables", "claims"})
        return made("report.paper", {"judged": not plan.preset.show, **told})
    if step == "figures":
        return made("report.paper", {name: one.model_dump() for name, one in drawn(plan, paper).items()})
    shown = {"title", "authors", "year", "url", "tables", "figures", "notes"}
    told = [(paper.model_dump(include=shown), list(paper.runs)) for paper in plan.papers.values()]
    return made("report.page", [plan.preset.model_dump(exclude={"speed", "mirrors", "again"}), told])


def steps(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the steps that render, each with its paper."""
    yield from ((step, paper) for paper in plan.papers for step in OF_PAPER)
    if not plan.preset.show:
        yield "report", ""


def identities(plan: Plan, paper: str) -> dict[str, str]:
    """Return the identity that the run of every directory of a paper has in the plan."""
    return {key.directory(plan.preset.preset): key.identity for key in plan.keys(paper)}


def cuts(plan: Plan, paper: str) -> dict[str, str]:
    """Return by run what the preset leaves out of the runs of a paper."""
    return {name: one.cut for name, one in plan.planned[paper].items() if one.cut}


def check(planned: Mapping[str, str], runs: Mapping[str, Run]) -> None:
    """Raise BadInput unless the finished run in each directory is the planned one, and its ledger is, too.

    The directories are those of `runs` by name, which say at which δ each is counted.
    """
    from fedpriv.account.runs import made_with

    for directory, identity in planned.items():
        if (found := glanced(Path(directory))[0]) != identity:
            raise BadInput(
                f"{directory}: found {'run ' + found if found else 'no finished run'}, allowed: {identity}, "
                "that of the plan; delete the folder to train it"
            )
        ledger, account = Path(directory, "ledger.parquet"), runs[Path(directory).parent.name].account
        if ledger.exists() and said(ledger) != made_with(account):
            raise BadInput(
                f"{ledger}: found a ledger at another δ, or of another accountant, allowed: at δ "
                f"{account.delta:g} of clients and {account.instance_delta:g} of examples, by the code that "
                "is here; delete it and account the run again"
            )


def outdated(plan: Plan, asked: Iterable[str] = ()) -> set[str]:
    """Return files that were made of something else than the plan says; only those of what is `asked` for.

    What is not there is not among them, nor what is made of them. Nothing asked for is everything.
    """
    from fedpriv.account.runs import made_with

    found: set[str] = set()
    for paper, runs in plan.runs.items():
        counting = {name: made_with(run.account) for name, run in runs.items()}
        for directory, identity in identities(plan, paper).items():
            summary, ledger = Path(directory, "summary.json"), Path(directory, "ledger.parquet")
            if summary.exists() and glanced(Path(directory))[0] != identity:
                found.add(str(summary))
            if ledger.exists() and said(ledger) != counting[ledger.parts[-3]]:
                found.add(str(ledger))
    for step, paper in steps(plan):
        path = beside(plan, step, paper)
        if Path(path).exists() and said(Path(path)) != made_now(plan, step, paper):
            found.add(path)
    return {file for file in found if needed(file, [str(one) for one in asked])}


def needed(file: str, asked: Sequence[str]) -> bool:
    """Return whether what is asked for may be made of a file: whatever is below its run, paper or preset."""
    return not asked or any(word in RULES or Path(file).is_relative_to(scope(word)) for word in asked)


def scope(target: str) -> Path:
    """Return the folder of all that a file of results is made of."""
    path = Path(os.path.relpath(target))
    return path.parent if "runs" in path.parts else Path(*path.parts[: 3 if len(path.parts) > 3 else 2])
