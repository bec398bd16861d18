"""All runs of a paper in one frame, and a run that is not there is named."""

import numpy as np
import pandas as pd
import pytest
from support.made_runs import ROUNDS, SPENDS, write_run

from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, summary
from fedpriv.report.collect import SCHEMA, collect, load
from fedpriv.trace import MISSING


def test_a_private_run_has_a_row_for_every_round_and_spend(frame):
    rows = frame[(frame["run"] == "n100_dp") & (frame["seed"] == 1)]
    assert len(rows) == ROUNDS * len(SPENDS)
    assert not rows.duplicated(["round", "accountant", "composition", "distance", "sensitivity"]).any()


def test_a_run_without_privacy_has_a_row_for_every_round(frame):
    rows = frame[(frame["run"] == "n100_none") & (frame["seed"] == 1)]
    assert list(rows["round"]) == list(range(1, ROUNDS + 1))
    assert rows["epsilon"].isna().all() and (rows["accountant"] == "").all()


def test_an_epsilon_stands_beside_the_accuracy_of_its_round(frame, directories):
    trace = pd.read_parquet(directories[3] / "trace.parquet").set_index("round")["test_accuracy"]
    rows = frame[(frame["run"] == "n100_dp") & (frame["seed"] == 0)]
    assert np.array_equal(rows["test_accuracy"], trace.reindex(rows["round"]), equal_nan=True)


def test_the_frame_has_the_columns_and_types_that_it_promises(runs):
    assert dict(load(runs).dtypes.astype(str)) == SCHEMA


def test_the_share_of_the_largest_class_is_as_it_was_told_and_unknown_of_older_runs(directories, tmp_path):
    path = directories[0] / "summary.json"
    told = summary.load(path)
    summary.save(path, told | {"data": told["data"] | {"majority": 0.3}})
    found = load(collect(directories[:2], tmp_path / "runs.parquet")).groupby("seed")["majority"].first()
    assert found[0] == 0.3 and np.isnan(found[1])


def test_the_order_of_the_folders_does_not_matter_but_for_the_order_of_rows(directories, tmp_path):
    there, back = (load(collect(order, tmp_path / "x.parquet")) for order in (directories, directories[::-1]))
    key = ["run", "seed", "round", "accountant", "composition", "sensitivity"]
    there, back = (frame.sort_values(key, ignore_index=True).astype(object) for frame in (there, back))
    pd.testing.assert_frame_equal(there, back)


@pytest.mark.parametrize("file", ["trace.parquet", "ledger.parquet", "summary.json"])
def test_a_missing_file_is_named_and_nothing_is_written(directories, tmp_path, file):
    (directories[1] / file).unlink()
    with pytest.raises(BadInput, match=file) as error:
        collect(directories, tmp_path / "runs.parquet")
    assert "n100_none/seed1" in str(error.value)
    assert not (tmp_path / "runs.parquet").exists()


@pytest.mark.parametrize("file", ["trace.parquet", "ledger.parquet", "summary.json"])
def test_a_corrupt_file_is_named(directories, tmp_path, file):
    (directories[1] / file).write_bytes((directories[1] / file).read_bytes()[:50])
    with pytest.raises(BadInput, match=file):
        collect(directories, tmp_path / "runs.parquet")


def test_a_ledger_of_rounds_that_were_not_run_is_refused(directories, tmp_path):
    path = directories[3] / "ledger.parquet"
    ledger = pd.read_parquet(path)
    ledger["round"] += 1
    parquet.save(ledger, path)
    with pytest.raises(BadInput, match=f"round {ROUNDS + 1}"):
        collect(directories, tmp_path / "runs.parquet")


def test_a_summary_without_its_data_is_refused(directories, tmp_path):
    path = directories[0] / "summary.json"
    told = summary.load(path)
    del told["data"]
    summary.save(path, told)
    with pytest.raises(BadInput, match="data"):
        collect(directories, tmp_path / "runs.parquet")


@pytest.mark.parametrize("content", [None, b"PAR1"])
def test_results_that_were_not_collected_are_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "runs.parquet").write_bytes(content)
    with pytest.raises(BadInput, match=r"runs\.parquet"):
        load(tmp_path / "runs.parquet")


def test_a_stand_in_is_in_every_row(tmp_path):
    run = write_run(tmp_path, "n100_dp", 0, scheme="client_dp", stand_in_for="mnist")
    assert set(load(collect([run], tmp_path / "runs.parquet"))["stand_in_for"]) == {"mnist"}


def test_how_the_data_were_made_is_in_every_row(tmp_path):
    run = write_run(tmp_path, "photos_dp", 0, scheme="joint", note="Features of a network.")
    assert set(load(collect([run], tmp_path / "runs.parquet"))["data_note"]) == {"Features of a network."}


def test_the_cohort_law_is_kept_beside_the_sampling_law_of_an_epsilon(tmp_path):
    run = write_run(tmp_path, "photos_dp", 0, scheme="joint")
    trace = pd.read_parquet(run / "trace.parquet").assign(sampling_law="full")
    parquet.save(trace, run / "trace.parquet")
    frame = load(collect([run], tmp_path / "runs.parquet"))
    assert set(frame["cohort_law"]) == {"full"} and set(frame["sampling_law"]) == {"poisson"}


def test_a_trace_from_before_there_was_noise_at_clients_had_none(directories, tmp_path):
    path = directories[3] / "trace.parquet"
    parquet.save(pd.read_parquet(path).drop(columns=list(MISSING), errors="ignore"), path)
    frame = load(collect(directories, tmp_path / "runs.parquet"))
    assert set(frame["instance_noise_multiplier"]) == {0.0} and set(frame["local_steps"]) == {0}


def test_a_trace_from_before_anything_else_was_sent_was_of_float32(directories, tmp_path):
    frame = load(collect(directories, tmp_path / "runs.parquet"))
    assert (frame["upload_bytes"] == 4 * frame["parameters"]).all()
    assert frame["test_accuracy_drawn"].isna().all() and set(frame["noisy_bits"]) == {0}


def test_what_a_trace_says_of_its_uploads_is_kept(tmp_path):
    run = write_run(tmp_path, "bits", 0, scheme="dpfl_bnn", drawn=0.95)
    frame = load(collect([run], tmp_path / "runs.parquet"))
    assert set(frame["upload_bytes"]) == {125.0} and set(frame["flips"]) == {"coordinate"}
    assert frame["test_accuracy_drawn"].max() == 0.95


def test_a_ledger_from_before_there_were_accountings_is_to_be_made_again(directories, tmp_path):
    path = directories[3] / "ledger.parquet"
    parquet.save(pd.read_parquet(path).drop(columns="accounting"), path)
    with pytest.raises(BadInput, match=r"ledger\.parquet: found no column accounting"):
        collect(directories, tmp_path / "runs.parquet")


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz"])
def test_a_ledger_of_another_trace_is_refused(name, directories, tmp_path):
    run = directories[3]
    npz.save(run / "distances.npz", {"remove_sum": np.zeros((ROUNDS, 3))})
    parquet.save(pd.read_parquet(run / "trace.parquet"), run / "trace.parquet")
    sources = [run / "trace.parquet", run / "distances.npz"]
    parquet.save(pd.read_parquet(run / "ledger.parquet"), run / "ledger.parquet", sources)
    collect([run], tmp_path / "fine.parquet")
    if name == "trace.parquet":
        parquet.save(pd.read_parquet(run / name).assign(train_loss=0.5), run / name)
    else:
        npz.save(run / name, {"remove_sum": np.ones((2, 3))})
    with pytest.raises(BadInput, match=f"found the ledger of another {name}"):
        collect([run], tmp_path / "runs.parquet")
