"""The audits of a finished run: from its trace, its sampled distances and its ledger, without torch.

Each audit is a function of what is known of a run, which yields a finding for every ε that it has something
to say about. To add one, write it, its line here, and in `finding.py` who attacks.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from fedpriv.audit import clients, uploads
from fedpriv.audit.finding import STORED, Finding, Known, known_run
from fedpriv.progress import count_each
from fedpriv.schemes import SCHEMES
from fedpriv.store import parquet
from fedpriv.store.rundir import RunDir

RUN_KEYS = ["run", "seed"]
FINDING_COLUMNS = [*RUN_KEYS, *STORED]

AUDITS: dict[str, Callable[[Known], Iterator[Finding]]] = {
    "outlier": clients.outlier,
    "followed": clients.followed_client,
    "frequency": clients.frequency,
    "canaries": clients.canaries,
    "final_model": clients.final_model,
    "bits": uploads.bits,
    "uploads": uploads.uploads,
    "tensors": uploads.tensors,
    "example": uploads.example,
    "neighbours": uploads.neighbours,
    "client": uploads.client,
    "clear": uploads.clear,
    "unbounded": uploads.unbounded,
    "sum": uploads.total,
    "single": uploads.single,
    "batches": uploads.batch_examples,
}


def audit_run(directory: Path) -> list[Finding]:
    """Return the findings about an accounted run directory.

    Raises BadInput naming what is missing or corrupt.
    """
    run = known_run(directory)
    audits = count_each("attacking", AUDITS.values(), "audit")
    findings = [finding for audit in audits for finding in audit(run)]
    scheme = run.scheme.get("name", "")
    if scheme in SCHEMES.own:
        return findings
    alone = f"; of the trace alone, no code of {scheme or 'its scheme'} was attacked"
    return [
        finding._replace(cost=finding.cost + alone) if finding.confidence == 1 else finding
        for finding in findings
    ]


def audit_runs(directories: Sequence[Path], out: Path, made_with: str = "") -> Path:
    """Write the findings about accounted run directories to one parquet file, a row each; return it.

    `made_with` marks the plan that they are made for.
    """
    rows = [
        {name: facts[name] for name in RUN_KEYS} | finding._asdict()
        for directory in count_each("auditing", directories, "run")
        for facts in [RunDir(directory).summary]
        for finding in audit_run(directory)
    ]
    return parquet.save_frame(pd.DataFrame(rows, columns=FINDING_COLUMNS), out, made_with=made_with)


def load_findings(path: Path) -> dict[tuple[str, int], list[Finding]]:
    """Read what `audit_runs` wrote, by run and seed; anything else is BadInput naming the file."""
    frame = parquet.load_frame(path, FINDING_COLUMNS, "the findings of audits")
    findings: dict[tuple[str, int], list[Finding]] = {}
    for run, seed, *finding in frame[FINDING_COLUMNS].itertuples(index=False):
        findings.setdefault((run, seed), []).append(Finding(*finding))
    return findings
