"""The findings of audits, as the collected runs hold them."""

import json

import pandas as pd

from fedpriv.audit.finding import Finding
from fedpriv.report.reading import rows_of


def written(findings: list[Finding]) -> str:
    """Return findings as a cell of the collected runs: JSON, an infinite number as Infinity."""
    return json.dumps([one._asdict() for one in findings])


def findings(frame: pd.DataFrame, run: str) -> dict[int, list[Finding]]:
    """Return by seed what audits found about `run`, in their order."""
    told = rows_of(frame, run)[["seed", "audits"]].drop_duplicates("seed").sort_values("seed")
    return {
        int(seed): [Finding(**one) for one in json.loads(text)]
        for seed, text in zip(told["seed"], told["audits"].astype(str), strict=True)
    }
