"""An archive holds runs to the last bit, and so no ε from it lies below that of its run."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedpriv.account.ledgers import ledger
from fedpriv.account.spend import Deltas
from fedpriv.files import npz, parquet
from fedpriv.keep import archive
from fedpriv.keep.add import of_run
from fedpriv.keep.unpack import unpack
from fedpriv.trace import MEASURED

# Among them zero, the smallest floats there are, and missing samples.
SAMPLES = st.sampled_from([0.0, 5e-324, 1e-300, 1e-8, 0.1, 0.25, 0.5, np.nan]) | st.floats(0, 0.5)


@pytest.fixture(scope="session")
def run(trained):
    return of_run(trained / "results/tiny/tiny/runs/dp/seed0")


def sampled(rounds):
    """Return a strategy of sampled distances of both precisions, of few clients or none."""
    shape = st.integers(0, 5).map(lambda clients: (rounds, clients))
    wide = shape.flatmap(lambda size: arrays(np.float64, size, elements=SAMPLES))
    return st.fixed_dictionaries({"remove_sum": wide | wide.map(np.float32), "panel_remove_sum": wide})


@settings(max_examples=15, deadline=None, database=None)
@given(st.data())
def test_what_is_kept_has_the_bits_and_the_epsilons_of_the_run(run, tmp_path_factory, data):
    run = run._replace(distances=data.draw(sampled(len(run.trace))))
    path = archive.write(tmp_path_factory.mktemp("archive") / "kept.parquet", [run])
    (kept,) = archive.read(path)
    assert archive.same(run, kept) and kept.summary == run.summary
    pd.testing.assert_frame_equal(kept.trace, run.trace, check_exact=True)
    deltas = Deltas(1e-3, 1e-5)
    wanted, found = (ledger(one.trace, deltas, one.distances) for one in (run, kept))
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)


@given(st.permutations(range(4)))
@settings(max_examples=8, deadline=None, database=None)
def test_the_same_runs_in_any_order_give_the_same_bytes(run, tmp_path_factory, order):
    runs = [run._replace(seed=seed, identity=f"{seed}") for seed in range(4)]
    folder = tmp_path_factory.mktemp("order")
    one = archive.write(folder / "one.parquet", runs)
    other = archive.write(folder / "other.parquet", [runs[place] for place in order])
    assert one.read_bytes() == other.read_bytes()


def test_runs_of_other_schemes_and_older_traces_lie_beside_each_other(run, tmp_path):
    old = run._replace(seed=1, identity="old", trace=run.trace.drop(columns="gamma"), distances={})
    instance = {"instance_remove_sum": np.full((2, 1, 4, 3), np.nan, dtype=np.float32)}
    other = run._replace(seed=2, identity="other", distances=instance)
    found = archive.read(archive.write(tmp_path / "kept.parquet", [other, old, run]))
    assert all(map(archive.same, found, [run, old, other]))


def test_an_unpacked_run_is_the_run_and_says_that_it_was_kept(run, tmp_path):
    out = unpack(run, tmp_path / "out")
    again = of_run(out)
    assert archive.same(run, again) and again.summary == run.summary
    assert {path.name for path in out.iterdir()} == {"trace.parquet", "distances.npz", "summary.json"}


def test_a_run_differs_by_any_bit_but_not_by_what_was_measured(run):
    measured = run.trace.assign(**dict.fromkeys(MEASURED, 1.5))
    assert archive.same(run, run._replace(trace=measured, summary={}))
    loss = run.trace["train_loss"].to_numpy().copy()
    loss[-1] = np.nextafter(loss[-1], 9)
    assert not archive.same(run, run._replace(trace=run.trace.assign(train_loss=loss)))
    for name, array in run.distances.items():
        if array.size:
            other = np.nextafter(array, 9)
            assert not archive.same(run, run._replace(distances=run.distances | {name: other}))


def test_the_files_of_an_unpacked_run_hold_what_the_trained_ones_hold(trained, run, tmp_path):
    before, out = trained / "results/tiny/tiny/runs/dp/seed0", unpack(run, tmp_path / "out")
    pd.testing.assert_frame_equal(*(parquet.load(one / "trace.parquet") for one in (out, before)))
    one, other = (npz.everything(one / "distances.npz", "") for one in (out, before))
    assert {name: array.tobytes() for name, array in one.items()} == {
        name: array.tobytes() for name, array in other.items()
    }
