"""Which finished runs and ledgers are not those of the plan: they say themselves what they were made with.

A run says its identity, a ledger its δ and the version of the accounting. Snakemake remembers that too, in a
folder that may be gone, or of another machine.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fedpriv.config.plan import Plan
from fedpriv.config.run import Run
from fedpriv.config.targets import Batch
from fedpriv.errors import BadInput


def identities(plan: Plan, paper: str) -> dict[str, str]:
    """Return the identity that the run of every directory of a paper has in the plan."""
    return {
        Batch(plan.preset.preset, paper, [(run, seed)]).files("")[0]: identity
        for run in plan.planned[paper]
        for seed, identity in plan.identities(paper, run).items()
    }


def cuts(plan: Plan, paper: str) -> dict[str, str]:
    """Return by run what the preset leaves out of the runs of a paper."""
    return {name: one.cut for name, one in plan.planned[paper].items() if one.cut}


def check(planned: Mapping[str, str], runs: Mapping[str, Run]) -> None:
    """Raise BadInput unless the finished run in each directory is the planned one, and its ledger is, too.

    The directories are those of `runs` by name, which say at which δ each is counted.
    """
    from fedpriv.files.parquet import made_with

    for directory, identity in planned.items():
        if (found := identity_in(Path(directory, "summary.json"))) != identity:
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


def identity_in(path: Path) -> str:
    """Return the identity that a summary says, unchecked and fast; nothing where there is none."""
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads(path.read_bytes()).get("identity", ""))
    return ""


def outdated(plan: Plan, batch: Batch) -> list[str]:
    """Return the summaries and ledgers of a batch that say of themselves that they are not the plan's."""
    from fedpriv.files.parquet import made_with

    found = []
    for run, seed in batch.runs:
        planned = plan.planned[batch.paper][run].run
        summary, ledger = map(
            Path, batch._replace(runs=[(run, seed)]).files("summary.json", "ledger.parquet")
        )
        if summary.exists() and identity_in(summary) != planned.identity(run, seed):
            found.append(str(summary))
        if ledger.exists() and made_with(ledger) != planned.account.made_with:
            found.append(str(ledger))
    return found
