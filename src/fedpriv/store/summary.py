"""The summary of a run: sealed JSON, written last; its config, its data, its environment and its end."""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedpriv.errors import BadInput
from fedpriv.store.files import OPEN, check_seal, seal, writing

TRACE, DISTANCES, WEIGHTS, SUMMARY = "trace.parquet", "distances.npz", "model.safetensors", "summary.json"
FILES = (TRACE, DISTANCES, WEIGHTS, SUMMARY)
RUNS = "runs"  # the folder of the reference in which runs are stored
STORED = re.compile(r"seed([0-9]+)-([0-9a-f]{16})\.parquet")


def stored_path(reference: Path, paper: str, run: str, seed: int | str, identity: str) -> Path:
    """Path of a stored run: a file of that name holds it and nothing else, whoever asked for it."""
    return reference / RUNS / paper / run / f"seed{seed}-{identity}.parquet"


def remedy_of(path: Path) -> str:
    """Remedy for a file of ours that is not as it was written: a stored run comes with the code."""
    return (
        f"`git checkout -- {path}` brings it back" if STORED.fullmatch(path.name) else "delete it and rerun"
    )


def stored_files(reference: Path, paper: str = "*") -> list[Path]:
    """Return the files of all stored runs of a paper, or of every one."""
    paths = sorted(reference.glob(f"{RUNS}/{paper}/*/seed*-*.parquet"))
    return [path for path in paths if STORED.fullmatch(path.name) and path.is_file()]


def save_summary(path: Path, facts: Mapping[str, Any]) -> None:
    """Write `facts` atomically; a number that is not finite is refused, for JSON has none."""
    with writing(path) as partial:
        partial.write_text(json.dumps({**facts, "seal": OPEN}, indent=2, allow_nan=False) + "\n")
        seal(partial)


def with_labels(facts: Mapping[str, Any], labels: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a summary with the labels of a preset: those of its data beside what is known."""
    return {**facts, **labels, "data": facts["data"] | labels.get("data", {})}


def identity(facts: Mapping[str, Any]) -> str:
    """Return the hash of all that a run's training depends on, as its summary says it.

    Of a file of data it knows what is in it, not where it is. What is no summary is an error of look-up.
    """
    config = facts["config"]
    if isinstance(data := config.get("dataset"), dict):  # one's own
        data = f"npz-{data['sha256'][:16]}"
    words = [facts["results_version"], facts["run"], facts["seed"], {**config, "dataset": data}]
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:16]


def is_uncommitted(code: str) -> bool:
    """Whether the code of a run was changed since the commit that it names."""
    return code.endswith("-dirty")


def glance_at(directory: Path) -> tuple[str, bool]:
    """Return the identity that a run directory says, unchecked, and whether the run is stored elsewhere."""
    with suppress(OSError, ValueError, AttributeError):
        if (path := directory / SUMMARY).is_file():
            facts = json.loads(path.read_bytes())
            return str(facts.get("identity", "")), "stored" in facts
    return "", False


def load_summary(path: Path) -> dict[str, Any]:
    """Summary that was written; a missing, damaged or foreign file is BadInput naming it."""
    try:
        check_seal(path)
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a finished run") from None
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{path}: found no summary of a run ({error}), allowed: what training writes; delete it and rerun"
        ) from None
