"""The verb that attacks: a finished run, or a mechanism by itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fedpriv.cli.options import NOISE, RATE, nested, rate
from fedpriv.cli.output import CONFIGS, AsJson, Configs, print_result
from fedpriv.errors import BadInput, require_known
from fedpriv.terminal import aside


def audit(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run directory, or a stored run."),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option("--round", help="After which round of a run; by default its last."),
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(help="Instead of a run: the name of any scheme with an ε, or global_dp_released."),
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
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Put a lower bound under ε by attacking a run or a mechanism.

    Exit code 1 if one is refuted.
    """
    if bool(mechanism) == bool(directory):
        raise BadInput(
            "audit: found " + ("RUN and --mechanism" if mechanism else "nothing") + ", allowed: one of them"
        )
    plan = {"--sample-rate": q, "--noise-multiplier": noise_multiplier, "--rounds": rounds}
    if directory:
        given = [name for name, value in plan.items() if value is not None]
        require_known("audit RUN", given + ["--set"] * bool(settings), ["--delta", "--round"])
        finished(directory, until, delta, configs, as_json)
        return
    if missing := [name for name, value in {**plan, "--delta": delta}.items() if value is None]:
        raise BadInput(f"{missing[0]}: found nothing, allowed: a number, of --mechanism {mechanism}")
    from fedpriv.audit import dry
    from fedpriv.audit.likelihood import Plan

    assert q is not None and noise_multiplier is not None and rounds is not None and delta is not None
    attacked = dry.named(mechanism, Plan(rate(q), noise_multiplier, rounds), delta, nested(settings or []))
    started = time.perf_counter()
    found = dry.audited(attacked, delta, transcripts, seed=seed)
    took = time.perf_counter() - started
    print_result(
        found.as_dict() | {"seconds": took}, [str(found), found.threat, f"{took:.1f} seconds"], as_json
    )
    if found.refuted:
        raise typer.Exit(1)


def finished(path: Path, until: int | None, delta: float | None, configs: Path, as_json: bool) -> None:
    """Audit a run directory, or a stored run; what of them is not accounted is accounted first."""
    from fedpriv.audit.finished import audited, broken_guarantees
    from fedpriv.cli.account import account_run
    from fedpriv.files import made, parquet
    from fedpriv.keep.take import run_directory

    started = time.perf_counter()
    with run_directory(path) as directory:
        ledger = directory / "ledger.parquet"
        if delta is not None or not made.said(ledger) or parquet.stale(ledger):
            account_run(directory, delta, configs=configs)
        findings = audited(directory, until)
    took = time.perf_counter() - started
    text = [*map(str, findings), *dict.fromkeys(f"{one.audit}: {one.threat}" for one in findings)]
    facts = {"findings": [one.as_dict() for one in findings], "seconds": took}
    print_result(facts, text or [f"{path}: nothing that an audit has to say anything about"], as_json)
    if refuted := broken_guarantees(findings):
        aside(f"refuted: {refuted[0]}")
        raise typer.Exit(1)
