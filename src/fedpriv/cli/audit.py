"""The verb that attacks: a finished run, or a mechanism by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedpriv.cli.options import CONFIGS, NOISE, RATE, AsJson, Configs, nested, print_result, rate, take_only
from fedpriv.cli.table import NOTHING, Table
from fedpriv.cli.traces import Ignored, deltas, is_trace, require_run, rows_of
from fedpriv.errors import BadInput
from fedpriv.progress import print_stderr

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement
    from fedpriv.audit.finding import Finding


def audit(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="RUN", help="A run directory, a stored run, or TRACE.csv, a plain trace."),
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(help="Instead of a run: the name of any scheme with an ε."),
    ] = "",
    q: Annotated[float | None, typer.Option(*RATE, help="Of a mechanism: sampling rate.")] = None,
    noise_multiplier: Annotated[
        float | None, typer.Option(*NOISE, help="Of a mechanism: noise std over the clipping norm.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Of a mechanism: how many rounds.")] = None,
    delta: Annotated[float | None, typer.Option(help="δ; that of the run if not given.")] = None,
    transcripts: Annotated[
        int, typer.Option(min=100, help="Of a mechanism: how many with the client.")
    ] = 12_000,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Of a mechanism: a key of its scheme, hooks.KEY, or cohort.law; repeatable.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of a mechanism: its randomness.")] = 0,
    ignore: Ignored = None,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Put a lower bound under ε by attacking a run or a mechanism.

    Of a trace the worst client is attacked that it allows for. Exit code 1 if one is refuted.
    """
    if bool(mechanism) == bool(directory):
        raise BadInput("What is attacked? Either RUN or --mechanism.")
    plan: dict[str, Any] = {
        "--sample-rate": q,
        "--noise-multiplier": noise_multiplier,
        "--rounds": rounds,
        "--delta": delta,
    }
    started = time.perf_counter()
    if directory:
        findings, why = audit_path(directory, plan, settings, ignore, configs)
        print_findings(directory, findings, why, time.perf_counter() - started, as_json)
        return
    if missing := [name for name, value in plan.items() if value is None]:
        raise BadInput(f"{missing[0]} is missing: a number, of --mechanism {mechanism}.")
    from fedpriv.audit import dry
    from fedpriv.audit.clients import AlikeRounds
    from fedpriv.report.results import flatten

    alike = AlikeRounds(rate(plan["--sample-rate"]), plan["--noise-multiplier"], plan["--rounds"])
    target = dry.mechanism_by_name(mechanism, alike, plan["--delta"], nested(settings or []))
    finding = dry.audit_mechanism(target, plan["--delta"], transcripts, seed=seed)
    took = time.perf_counter() - started
    facts = finding.as_dict() | {"settings": target.settings, "seconds": took}
    settings_line = ", ".join(f"{key}={text}" for key, text in flatten(target.settings).items())
    lines = [str(finding), f"{mechanism} with {settings_line}", finding.threat, finding.scope]
    lines += [f"{took:.1f} seconds"]
    print_result(facts, lines, as_json)
    if finding.refuted:
        raise typer.Exit(1)


def audit_path(
    path: Path,
    plan: Mapping[str, Any],
    settings: list[str] | None,
    ignore: list[str] | None,
    configs: Path,
) -> tuple[list[Finding], str]:
    """Audit a trace or a run, which take neither the options of a `plan` but its δ, nor `settings`.

    Return the findings, and why there is none.
    """
    options = [name for name, value in plan.items() if value is not None] + ["--set"] * bool(settings)
    if is_trace(path):
        take_only("audit TRACE.csv", options, ["--delta", "--ignore"])
        at = deltas(path, plan["--delta"], None)
        from fedpriv.audit.traces import audit_trace

        with rows_of(path) as trace:
            return audit_trace(trace, at, ignore or ()), ""
    take_only("audit RUN", options + ["--ignore"] * bool(ignore), ["--delta"])
    return audit_finished(path, plan["--delta"], configs)


def audit_finished(path: Path, delta: float | None, configs: Path) -> tuple[list[Finding], str]:
    """Audit a run directory, or a stored run; what of them is not accounted is accounted first.

    Return the findings, and why there is none.
    """
    require_run(path)
    from fedpriv.account.ledgers import LEDGER, statements
    from fedpriv.audit.finished import audit_run
    from fedpriv.cli.account import account_run
    from fedpriv.frozen import Deltas
    from fedpriv.store import parquet
    from fedpriv.store.rundir import RunDir, run_directory

    with run_directory(path) as directory:
        ledger = directory / "ledger.parquet"
        counted = Deltas.counted_here(parquet.made_with(ledger))
        if delta is not None or not counted or parquet.changed_source(ledger):
            account_run(directory, delta, configs=configs)
        return audit_run(directory), why_nothing(statements(RunDir(directory).ledger(LEDGER)))


def why_nothing(statements: Sequence[PrivacyStatement]) -> str:
    """Return why no attack has anything to say about what was released."""
    from fedpriv.account.statement import SIZE_SEEN

    if not statements:
        return NOTHING
    violations = dict.fromkeys(statement.violation for statement in statements if statement.violation)
    if SIZE_SEEN in violations:
        return (
            "the server divides by the number of clients who came, or adds noise by that number; an attack "
            "needs a sum whose denominator and noise are known beforehand"
        )
    return "; ".join(violations) or "no attack knows this mechanism under this sampling law"


def print_findings(path: Path, findings: Sequence[Finding], why: str, took: float, as_json: bool) -> None:
    """Print findings, or `why` there is none, and end with exit code 1 where one refutes a guarantee."""
    from fedpriv.audit.finding import broken_guarantees

    lines = [
        {
            "about": finding.about,
            "ε": finding.stated,
            "lower bound": f"{finding.lower_bound:.4g}",
            "verdict": finding.verdict,
            "audit": finding.audit.replace("_", " "),
            "status": finding.kind,
            "δ": f"{finding.delta:g}",
            "confidence": finding.sure,
            "broken": finding.broken,
            "cost": finding.cost,
        }
        for finding in findings
    ]
    threats = dict.fromkeys(f"{finding.audit.replace('_', ' ')}: {finding.threat}" for finding in findings)
    nothing = f"{path}: nothing of it can be attacked"
    parts = [Table("", lines), *threats] if findings else [": ".join(filter(None, (nothing, why)))]
    facts = {"findings": [finding.as_dict() for finding in findings], "seconds": took}
    facts |= {} if findings else {"why": why}
    print_result(facts, parts, as_json)
    if refuted := broken_guarantees(findings):
        print_stderr(f"refuted: {refuted[0]}")
        raise typer.Exit(1)
