"""Claims for tests: only how they are checked differs."""

from typing import Any

from fedpriv.report.claim import Claim


def claim(check: dict[str, Any], unsound: str = "") -> Claim:
    """Return a claim that is checked so."""
    return Claim.model_validate(
        {"id": "it", "place": "here", "text": "So it is.", "check": check, "unsound": unsound}
    )
