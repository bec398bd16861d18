"""A small paper: two settings declared, one of them run."""

from pathlib import Path

import pandas as pd
import pytest
from made_runs import write_run

from fedpriv.report.collect import collect, load
from fedpriv.report.declared import BudgetTable


@pytest.fixture
def declared() -> BudgetTable:
    """Return a table of two settings; only the first was run. DP's budget ends at round 10, BDP's never."""
    columns = {
        "dp": {"label": "DP", "spend": "moments C"},
        "bdp": {"label": "BDP", "spend": "bayesian product remove_mean"},
    }
    published = {
        "dp": {"accuracy": 0.45, "epsilon": 6.0, "delta": 1e-3},
        "bdp": {"accuracy": 0.88, "epsilon": 4.0, "delta": 1e-3},
    }
    rows = [
        {
            "clients": clients,
            "baseline": {"run": f"n{clients}_none", "accuracy": 0.97},
            "run": f"n{clients}_dp",
            "published": published,
        }
        for clients in (100, 1000)
    ]
    return BudgetTable.model_validate(
        {"title": "A table", "place": "Table I", "columns": columns, "rows": rows}
    )


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    """Return three seeds of a baseline and of a private run."""
    return [
        write_run(tmp_path / "runs", run, seed, private=private, final=final)
        for run, private, final in (("n100_none", False, 0.97), ("n100_dp", True, 0.9))
        for seed in range(3)
    ]


@pytest.fixture
def runs(directories: list[Path], tmp_path: Path) -> Path:
    return collect(directories, tmp_path / "runs.parquet")


@pytest.fixture
def frame(runs: Path) -> pd.DataFrame:
    return load(runs)
