from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import Deltas
from fedpriv.account.runs import count_run
from fedpriv.cli.account import account_run
from fedpriv.errors import BadInput
from fedpriv.store import npz, parquet, summary


@pytest.fixture
def finished(make_instances, tmp_path: Path) -> Path:
    """Return a run directory of a joint run, as far as accounting reads it."""
    trace = make_instances(rounds=3, joint=True, per_example=False)
    parquet.save_frame(trace, tmp_path / "trace.parquet")
    npz.save_npz(tmp_path / "distances.npz", dict(remove_sum=np.full((3, 8), 0.1)))
    told = {"account": {"delta": 1e-3, "instance_delta": 1e-4}}
    summary.save_summary(tmp_path / "summary.json", told)
    return tmp_path


def deltas(directory: Path, **asked: float) -> dict[str, float]:
    """Return unit -> δ of what a run has spent."""
    return {statement.unit: statement.delta for statement in account_run(directory, **asked)}


def test_each_unit_is_counted_at_the_runs_own_delta(finished: Path) -> None:
    assert deltas(finished) == {"client": 1e-3, "instance": 1e-4}


@pytest.mark.parametrize(
    ("said", "asked", "missing"),
    [
        ({}, {}, "--delta"),
        ({"delta": 1e-3}, {}, "--instance-delta"),
        ({}, {"delta": 1e-3}, "--instance-delta"),
        ({"instance_delta": 1e-3}, {}, "--delta"),
    ],
)
def test_a_delta_that_nobody_says_is_asked_for_in_one_line_and_never_made_up(
    finished: Path, said: dict[str, float], asked: dict[str, float], missing: str
) -> None:
    summary.save_summary(finished / "summary.json", {"account": said})
    with pytest.raises(BadInput, match=rf"at which δ are .* counted\? .*: {missing}\."):
        account_run(finished, **asked)
    assert not (finished / "ledger.parquet").exists()
    both = {"delta": 1e-3, "instance_delta": 1e-4}
    assert deltas(finished, **both) == {"client": 1e-3, "instance": 1e-4}


def test_a_delta_of_a_unit_that_no_row_is_about_is_not_asked_for(make_trace, tmp_path: Path) -> None:
    parquet.save_frame(make_trace(rounds=3), tmp_path / "trace.parquet")
    npz.save_npz(tmp_path / "distances.npz", {})
    assert deltas(tmp_path, delta=1e-3) == {"client": 1e-3}


@pytest.mark.parametrize("name", ["delta", "instance_delta"])
def test_a_ledger_that_counts_at_another_delta_is_left_alone(finished: Path, name: str) -> None:
    assert deltas(finished, delta=1e-6, instance_delta=1e-7) == {"client": 1e-6, "instance": 1e-7}
    before = pd.read_parquet(finished / "ledger.parquet")
    with pytest.raises(BadInput, match=rf"^{name}: found 0.001, allowed: 1e-0\d, at which .*ledger.parquet"):
        account_run(finished, **{name: 1e-3})
    pd.testing.assert_frame_equal(pd.read_parquet(finished / "ledger.parquet"), before)
    assert deltas(finished) == {"client": 1e-6, "instance": 1e-7}


@pytest.mark.parametrize(
    ("data", "dedup", "holds"),
    [
        ({"name": "mnist"}, "keep", True),
        ({"name": "aptos"}, "keep", False),  # some of its photographs are there twice
        ({"name": "aptos"}, "drop", True),
        ({"name": "aptos", "distinct": 100}, "keep", True),  # then `holders` is of equal examples
    ],
    ids=str,
)
def test_an_older_run_does_not_know_who_holds_an_example_that_is_there_twice(
    data, dedup, holds, make_instances, tmp_path
) -> None:
    parquet.save_frame(make_instances(rounds=1, clients=10).assign(holders=1), tmp_path / "trace.parquet")
    npz.save_npz(tmp_path / "distances.npz", {})
    config = {"photos": {"dedup": dedup}, "partition": {"repeat": False}}
    summary.save_summary(tmp_path / "summary.json", {"data": data, "config": config})
    rows = count_run(tmp_path, Deltas(delta=1e-5, instance_delta=1e-5)).query("accounting == 'parallel'")
    assert (
        np.isfinite(rows[rows["assumptions_met"] & (rows["kind"] == "guarantee")]["epsilon"].min()) == holds
    )
