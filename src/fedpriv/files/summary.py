"""The summary of a run, sealed JSON: its config, data, environment and end. It is written last: finished."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedpriv.errors import BadInput
from fedpriv.files.atomic import writing
from fedpriv.files.seal import OPEN, check, seal


def save(path: Path, facts: Mapping[str, Any]) -> None:
    """Write `facts` atomically; a number that is not finite is refused, for JSON has none."""
    with writing(path) as partial:
        partial.write_text(json.dumps({**facts, "seal": OPEN}, indent=2, allow_nan=False) + "\n")
        seal(partial)


def load(path: Path) -> dict[str, Any]:
    """Return what was written; a missing, damaged or foreign file is BadInput naming it."""
    try:
        check(path)
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a finished run") from None
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{path}: found no summary of a run ({error}), allowed: what training writes; "
            "delete the run and train it again"
        ) from None
    if not isinstance(found, dict):
        raise BadInput(f"{path}: found no summary of a run, allowed: what training writes")
    return found
