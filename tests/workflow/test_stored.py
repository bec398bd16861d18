"""A stored run is the run to the last bit, and so no ε from it lies below that of the run."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedpriv.account import Deltas
from fedpriv.account.ledgers import ledger
from fedpriv.store import npz, parquet, rundir
from fedpriv.store.rundir import RunDir, take_stored
from fedpriv.trace import MEASURED
from fedpriv.workflow.archive import finished_run

# Among them zero, the smallest floats there are, and missing samples.
SAMPLES = st.sampled_from([0.0, 5e-324, 1e-300, 1e-8, 0.1, 0.25, 0.5, np.nan]) | st.floats(0, 0.5)


@pytest.fixture(scope="session")
def run(trained):
    return finished_run(trained / "results/tiny/tiny/runs/dp/seed0")


def sampled(rounds):
    """Return a strategy of sampled distances of both precisions, of few clients or none."""
    shape = st.integers(0, 5).map(lambda clients: (rounds, clients))
    wide = shape.flatmap(lambda size: arrays(np.float64, size, elements=SAMPLES))
    return st.fixed_dictionaries({"remove_sum": wide | wide.map(np.float32), "panel_remove_sum": wide})


@settings(max_examples=15, database=None)
@given(st.data())
def test_what_is_stored_has_the_bits_and_the_epsilons_of_the_run(run, tmp_path_factory, data):
    run = run._replace(distances=data.draw(sampled(len(run.trace))))
    folder = tmp_path_factory.mktemp("stored")
    one, other = (rundir.write_stored(folder / f"{name}.parquet", run) for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    found = rundir.read_stored(one)
    assert rundir.same_run(run, found) and found.summary == run.summary
    pd.testing.assert_frame_equal(found.trace, run.trace, check_exact=True)
    deltas = Deltas(delta=1e-3, instance_delta=1e-5)
    ledgers = (ledger(one.trace, deltas, one.distances) for one in (found, run))
    pd.testing.assert_frame_equal(*ledgers, check_exact=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"distances": {}},
        {"distances": {"instance_remove_sum": np.full((2, 1, 4, 3), np.nan, dtype=np.float32)}},
        # One row for all rounds: what was seen when training was over.
        {"distances": {"canary_cosines": np.linspace(-1, 1, 7, dtype=np.float32)[np.newaxis]}},
        {"distances": {"remove_sum": np.zeros((2, 0)), "panel_remove_sum": np.full((2, 3), 1e-300)}},
    ],
)
def test_arrays_of_every_shape_come_back(changes, run, tmp_path):
    other = run._replace(**changes)
    found = rundir.read_stored(rundir.write_stored(tmp_path / "one.parquet", other))
    assert rundir.same_run(found, other)


@pytest.mark.parametrize("rounds", [1, 2])
def test_traces_that_are_old_or_short_or_the_same_in_every_round_come_back(rounds, run, tmp_path):
    changed = {
        "train_loss": [-0.0, 0.0][:rounds],
        "test_loss": math.nan,
        "clip_l2": math.inf,
        "not_finite": 2**62 + 1,
    }
    trace = run.trace.drop(columns="gamma").head(rounds).assign(**changed)
    other = run._replace(trace=trace, distances={})
    found = rundir.read_stored(rundir.write_stored(tmp_path / "one.parquet", other))
    pd.testing.assert_frame_equal(found.trace, trace, check_exact=True)
    assert np.signbit(found.trace["train_loss"]).tolist() == [True, False][:rounds]


def test_the_directory_of_a_stored_run_gives_what_the_trained_one_gives(trained, run, tmp_path):
    before = trained / "results/tiny/tiny/runs/dp/seed0"
    path = rundir.write_stored(tmp_path / "stored/one.parquet", run)
    out = take_stored(path, tmp_path / "out", {"preset": "other"})
    assert [one.name for one in out.iterdir()] == ["summary.json"]
    again = finished_run(out)
    assert rundir.same_run(run, again) and again.summary == run.summary | {"preset": "other"}
    pd.testing.assert_frame_equal(RunDir(out).trace(), parquet.load_frame(before / "trace.parquet"))
    one, other = RunDir(out).distances(), npz.load_all(before / "distances.npz", "")
    assert {name: array.tobytes() for name, array in one.items()} == {
        name: array.tobytes() for name, array in other.items()
    }


def test_a_results_folder_may_be_moved_together_with_the_stored_runs(run, tmp_path):
    path = rundir.write_stored(tmp_path / "here/reference/one.parquet", run)
    take_stored(path, tmp_path / "here/results/seed0", {})
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "link").symlink_to(tmp_path / "there/results")
    for place in ("there/results", "link"):
        assert RunDir(tmp_path / place / "seed0").trace().equals(run.trace)


def test_a_run_differs_by_any_bit_but_not_by_what_was_measured(run):
    measured = run.trace.assign(**dict.fromkeys(MEASURED, 1.5))
    assert rundir.same_run(run, run._replace(trace=measured))
    loss = run.trace["train_loss"].to_numpy().copy()
    loss[-1] = np.nextafter(loss[-1], 9)
    assert not rundir.same_run(run, run._replace(trace=run.trace.assign(train_loss=loss)))
    for name, array in run.distances.items():
        if array.size:
            other = np.nextafter(array, 9)
            assert not rundir.same_run(run, run._replace(distances=run.distances | {name: other}))
