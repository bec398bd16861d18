"""Claims for tests: only how they are checked differs."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedpriv.paper.claims import Claim
from fedpriv.paper.tables import AccuracyTable
from fedpriv.report import claims


def claim(check: str, **keys: Any) -> Claim:
    """Return a claim that is checked so."""
    return Claim.model_validate({"id": "it", "place": "here", "text": "So it is.", "check": check} | keys)


def outcomes(
    frame: pd.DataFrame, check: str, declared: Mapping[str, AccuracyTable] | None = None, **keys: Any
) -> list[claims.Outcome]:
    """Return what the cases of a check say."""
    made = claim(check, **keys)
    return [claims.outcome(frame, made, case) for case in made.judged(declared or {})]
