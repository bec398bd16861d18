"""One run by itself: what the workflow does for it in several jobs, done here in one process."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fedpriv.cli.table import NOTHING
from fedpriv.config.plan import RunKey, arrays_id, load_preset, partition_id
from fedpriv.progress import progress
from fedpriv.trace import EVALUATED

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement
    from fedpriv.store.rundir import RunDir


def default_folder(paper: str, run: str, settings: Sequence[str], seed: int) -> Path:
    """Return where a run by itself is written, with what is set in its name."""
    name = ",".join((run, *(re.sub(r"[^\w.=+-]+", "_", setting) for setting in settings)))
    return Path("results/runs", paper, name, f"seed{seed}")


def last_metrics(run: RunDir) -> str:
    """Return what a finished run measured after its last round: the metrics asked for, or else the loss."""
    asked = run.summary["config"]["evaluation"].get("metrics", ())
    last = run.trace().iloc[-1]
    values = {EVALUATED[name].label: last.get(f"test_{name}", math.nan) for name in ("accuracy", *asked)}
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    return ", ".join(f"{name} {value:.4f}" for name, value in (known or {"loss": last["test_loss"]}).items())


def statements_of(directory: Path, summary: Mapping[str, Any]) -> list[PrivacyStatement] | None:
    """Return the statements of a finished run at the δ of its summary; None where that has none."""
    from fedpriv.account.ledgers import statements
    from fedpriv.account.runs import count_run
    from fedpriv.frozen import Deltas

    at = {name: summary.get("account", {}).get(name) for name in Deltas.model_fields}
    if None in at.values():
        return None
    with progress("accounting", 0, 1, "run"):
        return statements(count_run(directory, Deltas.model_validate(at)))


def short_statement(statement: PrivacyStatement) -> str:
    """Return an ε as it stands beside an accuracy: with its mark, its accountant, and for whom it is."""
    words = (statement.accountant, statement.unit, statement.relation, statement.accounting)
    return f"{statement.shown} ({', '.join(filter(None, words))})"


def spent_texts(out: Path, statements: Sequence[PrivacyStatement] | None) -> tuple[list[str], str]:
    """Return the sentences on what a run in `out` has spent, and how its last line ends with the least ε."""
    from fedpriv.account.ledgers import least_statements  # seconds, and a mistake is named before

    if not (least := least_statements(statements or [])):
        return [NOTHING] if statements == [] else [], ""
    more = f"Every accountant: fedpriv account {shlex.quote(str(out))}"
    return [*map(str, least), more], f" at ε = {' or '.join(map(short_statement, least))}"


def train_run(
    config: Path,
    paper: str,
    name: str,
    seed: int,
    out: Path,
    resources: Path,
    faster: Mapping[str, Any],
    reference: Path | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Train one run of a preset into `out`; return what was done: trained, was there already, is stored.

    The directory of one that is stored below `reference` says where; without a reference it is trained.
    Data and partition are kept under `resources`; what is there of them is used. `faster` overrides keys of
    the preset's `speed`, where it is not None; `settings` are keys of the run laid over all that it says.
    Raises BadInput when `out` holds a finished run of another config, and OSError on a full disk.
    """
    plan = load_preset(config, (paper, name), settings)
    [(paper, runs)] = plan.runs.items()
    [(name, run)] = runs.items()
    # Only now what takes seconds to import: what is wrong with a config is a message at once.
    from fedpriv.data import source
    from fedpriv.store.files import require_room
    from fedpriv.store.rundir import RunDir, forget_stored, take_stored
    from fedpriv.train import inputs
    from fedpriv.train.loop import train

    speed = plan.preset.speed.model_copy(
        update={key: value for key, value in faster.items() if value is not None}
    )
    arrays_path = resources / f"{arrays_id(run)}.npz"
    partition_path = resources / "partitions" / partition_id(run) / f"seed{seed}.npz"
    if reference is None:
        forget_stored(out)
    key, labels = RunKey(paper, name, seed, run), plan.labels(paper, name)
    fresh = not RunDir(out).holds(key.identity)
    if fresh and reference and (stored := key.stored(reference)).exists():
        take_stored(stored, out, labels)
        return f"is stored in {stored}"
    if fresh:
        require_room(out)
        with progress(f"data of {name}", 0, 2, "file") as report:
            inputs.prepare(run, resources, source.mirrors(plan.preset.mirrors), speed)
            report({"file": 1})
            if not partition_path.exists():
                inputs.write_partition(run, seed, arrays_path, partition_path)
    # The first thing `train` does is to look at `out`: a finished run is left as it is, or refused.
    train(run, name, seed, arrays_path, partition_path, out, speed, labels)
    return "trained" if fresh else "was there already"
