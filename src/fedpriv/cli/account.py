"""What a finished run has spent, or several on the same data: after the last round, by every accountant."""

import errno
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from fedpriv.account.ledgers import LEDGER, statements, units_of
from fedpriv.account.runs import count_run, run_trace, write_ledger
from fedpriv.account.statement import SAME_NOISE, PrivacyStatement
from fedpriv.account.together import ledger_together
from fedpriv.cli.options import CONFIGS
from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.frozen import Deltas, parse
from fedpriv.progress import print_stderr, progress
from fedpriv.store import parquet
from fedpriv.store.rundir import RunDir, run_directory

UNITS = {"delta": "clients", "instance_delta": "instances"}  # whose δ it is
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


def account_run(
    directory: Path, delta: float | None = None, instance_delta: float | None = None, configs: Path = CONFIGS
) -> list[PrivacyStatement]:
    """Write the ledger of a run directory and return every statement after the last round.

    A ledger that may not be written is a line on stderr. What is not given is the run's own (`counted_at`);
    BadInput where nobody says it and a row would need it.
    A ledger that counts at another δ belongs to whoever made it, and what was rendered from it: BadInput, as
    for a run directory that is missing or corrupt.
    """
    if not directory.is_dir():
        raise BadInput(f"There is no run in '{directory}'.")
    there = directory / "ledger.parquet"
    stated = ledger_deltas(there)
    overrides = given(delta, instance_delta)
    _check_ledger(there, stated, overrides)
    known = counted_at(directory, configs) | stated | overrides
    unsaid = [name for name in UNITS if name not in known]
    deltas = deltas_of(known, directory, configs)
    with progress("accounting", 0, 1, "run"):
        frame = count_run(directory, deltas)
    for name in unsaid:
        if ((frame["unit"] == "instance") == (name == "instance_delta")).any():
            raise nobody_says(name, directory, configs)
    try:
        write_ledger(directory, frame, deltas)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        print_stderr(f"{there}: cannot be written ({error.strerror}), so that it is only printed")
    return statements(frame, units_of(run_trace(RunDir(directory))))


def spent_by_run(path: Path, configs: Path = CONFIGS) -> list[PrivacyStatement]:
    """Return every statement after the last round of a run directory or a stored run, and write nothing.

    A ledger that is there is read. A run of which nobody says a δ has no statement.
    """
    with run_directory(path) as directory:
        if (directory / "ledger.parquet").exists():
            return statements(RunDir(directory).ledger(LEDGER))
        known = counted_at(directory, configs)
        if not known:
            return []
        with progress("accounting", 0, 1, "run"):
            return statements(count_run(directory, deltas_of(known, directory, configs)))


# Of two runs, what makes a client of one the same client of the other.
SAME_DATA = ("dataset", "photos", "partition")


def account_together(
    paths: Sequence[Path],
    delta: float | None = None,
    instance_delta: float | None = None,
    configs: Path = CONFIGS,
) -> list[PrivacyStatement]:
    """Return what runs on the same data cost together, at the δ that all of them are counted at.

    Nothing is written. Where two of them drew the same noise no ε is a guarantee. BadInput where data,
    clients or δ differ, and where the runs do not compose.
    """
    with ExitStack() as stack:
        runs = [RunDir(stack.enter_context(run_directory(path))) for path in paths]
        _check_same_data(paths, [run.summary for run in runs])
        known = [counted_at(run.path, configs) | given(delta, instance_delta) for run in runs]
        _check_same_deltas(known)
        deltas = deltas_of({name: value for at in known for name, value in at.items()}, paths[0], configs)
        traces = [run_trace(run) for run in runs]
        if _draw_alike([run.summary for run in runs]):
            traces = [trace.assign(violation=SAME_NOISE) for trace in traces]
        return statements(ledger_together(traces, deltas), units_of(traces[0]))


def given(delta: float | None, instance_delta: float | None) -> dict[str, float]:
    """Return the δ of options, those that are given."""
    options = {"delta": delta, "instance_delta": instance_delta}
    return {name: value for name, value in options.items() if value is not None}


def deltas_of(known: dict[str, Any], directory: Path, configs: Path) -> Deltas:
    """Return the δ of each unit, which the ledger checks; BadInput where nobody says any.

    One that nobody says is no row's: where it would be, nothing is written.
    """
    if not known:
        raise nobody_says("delta", directory, configs)
    either = next(known[name] for name in UNITS if name in known)
    return Deltas.model_construct(**dict.fromkeys(UNITS, either) | known)


def _check_ledger(path: Path, stated: dict[str, float], overrides: dict[str, float]) -> None:
    """Raise BadInput where a ledger counts at another δ than is given."""
    for name, value in overrides.items():
        if value != (before := stated.get(name, value)) and 0 < value < 1:
            raise BadInput(
                f"{name}: found {value:g}, allowed: {before:g}, at which {path} counts; or remove that file"
            )


def _check_same_deltas(known: Sequence[dict[str, float]]) -> None:
    """Raise BadInput naming a unit whose δ is not the same in all runs."""
    for name, unit in UNITS.items():
        if len(values := {at[name] for at in known if name in at}) > 1:
            each = " and ".join(f"{value:g}" for value in sorted(values))
            option = f"--{name.replace('_', '-')}"
            raise BadInput(f"{option}: found {each} for {unit}, allowed in runs together: one; give it")


def _check_same_data(paths: Sequence[Path], summaries: Sequence[dict[str, Any]]) -> None:
    """Raise BadInput naming what makes clients of one run others than those of another."""
    clients = [
        {name: summary["config"].get(name) for name in SAME_DATA}
        | {"seed": summary["seed"], "data": summary.get("data", {}).get("name")}
        for summary in summaries
    ]
    for path, other in zip(paths[1:], clients[1:], strict=True):
        if differ := [name for name, value in clients[0].items() if other[name] != value]:
            words = "by which clients are dealt" if differ == ["seed"] else "whose clients are the same"
            raise BadInput(
                f"{path}: found another {differ[0]} than in {paths[0]}, allowed in runs together: one {words}"
            )


def _draw_alike(summaries: Sequence[dict[str, Any]]) -> bool:
    """Say if two runs have the same noise, as those have whose streams are of one name and seed."""
    drawn = [
        (summary["run"], summary["seed"])
        for summary in summaries
        if not summary["config"].get("secure_noise")
    ]
    return len(drawn) > len(set(drawn))


def nobody_says(name: str, directory: Path, configs: Path) -> BadInput:
    """Return the error that asks for a δ."""
    return BadInput(
        f"{directory}: at which δ are {UNITS[name]} counted? Neither the run nor a preset in {configs} "
        f"says it: --{name.replace('_', '-')}."
    )


def counted_at(directory: Path, configs: Path) -> dict[str, Any]:
    """Return at which δ a run is counted, by their names in `Deltas`, as far as is known.

    Its preset in `configs` says it, where that still has this run; else its summary. BadInput if what a
    summary says is none.
    """
    path = directory / "summary.json"
    summary = RunDir(directory).summary if path.exists() else {}
    account = summary.get("account", {})
    if isinstance(account, dict):  # of a study also at which other σ: that is the study's own
        account = {name: value for name, value in account.items() if name != "recount"}
    own = parse(Deltas.model_validate, account, f"{path}: account")
    with suppress(BadInput, KeyError):  # of no preset that is here, or of another run now
        known = summary["paper"], summary["run"]
        plan = load_preset(configs / f"{summary['preset']}.yaml", known)
        run = plan.runs[summary["paper"]][summary["run"]]
        if run.identity(summary["run"], summary["seed"]) == summary["identity"]:
            return run.account.model_dump()
    return own.model_dump(include=own.model_fields_set)


def ledger_deltas(path: Path) -> dict[str, float]:
    """Return the δ of each unit in a ledger, by their names in `Deltas`; none if there is none."""
    with suppress(OSError, ValueError, KeyError):
        frame = parquet.load_frame(path, ["unit", "delta"])
        names = frame["unit"].map(lambda unit: "instance_delta" if unit == "instance" else "delta")
        return {str(name): float(rows.iloc[0]) for name, rows in frame["delta"].groupby(names)}
    return {}
