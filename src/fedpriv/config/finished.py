"""Which finished runs and ledgers are not those of the plan: they say themselves what they were made with.

A run says its identity, a ledger its δ and the version of the accounting. Snakemake remembers that too, in a
folder that may be gone, or of another machine.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fedpriv.config.plan import Plan, RunKey
from fedpriv.config.run import Run
from fedpriv.config.targets import files
from fedpriv.errors import BadInput
from fedpriv.files.summary import glanced


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
    from fedpriv.files.parquet import made_with

    for directory, identity in planned.items():
        if (found := glanced(Path(directory))[0]) != identity:
            raise BadInput(
                f"{directory}: found {'run ' + found if found else 'no finished run'}, allowed: {identity}, "
                "that of the plan; delete the folder to train it"
            )
        ledger, account = Path(directory, "ledger.parquet"), runs[Path(directory).parent.name].account
        if ledger.exists() and made_with(ledger) != account.made_with:
            raise BadInput(
                f"{ledger}: found a ledger at another δ, or of another accountant, allowed: at δ "
                f"{account.delta:g} of clients and {account.instance_delta:g} of examples, by the "
                "accounting that is here; delete it and account the run again"
            )


def outdated(plan: Plan, runs: Iterable[RunKey]) -> list[str]:
    """Return the summaries and ledgers of runs that say of themselves that they are not the plan's."""
    from fedpriv.files.parquet import made_with

    found = []
    for one in runs:
        summary, ledger = map(Path, files(plan, [one], "summary.json", "ledger.parquet"))
        if summary.exists() and glanced(summary.parent)[0] != one.identity:
            found.append(str(summary))
        if ledger.exists() and made_with(ledger) != one.config.account.made_with:
            found.append(str(ledger))
    return found
