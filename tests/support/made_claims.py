"""Claims for tests: only how they are checked differs."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedpriv.paper.cells import AccuracyTable
from fedpriv.paper.claims import Claim
from fedpriv.report.claims import margins


def claim(check: dict[str, Any], unsound: str = "") -> Claim:
    """Return a claim that is checked so."""
    return Claim.model_validate(
        {"id": "it", "place": "here", "text": "So it is.", "check": check, "unsound": unsound}
    )


def outcomes(
    frame: pd.DataFrame, check: dict[str, Any], tables: Mapping[str, AccuracyTable] | None = None
) -> list[margins.Outcome]:
    """Return what the cases of a check say."""
    return list(margins.outcomes(frame, claim(check).check, tables or {}))
