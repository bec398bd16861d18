"""All runs of a paper in one results, and a run that is not there is named."""

import numpy as np
import pandas as pd
import pytest
from support.made_runs import EPSILONS, ROUNDS, write_run

from fedpriv.errors import BadInput
from fedpriv.report.collect import SCHEMAS, collect
from fedpriv.report.results import load_results
from fedpriv.store import npz, parquet, summary
from fedpriv.trace import MISSING


def of(table, run, seed):
    """Return the rows of one run and seed."""
    return table[(table["run"] == run) & (table["seed"] == seed)]


def test_a_run_has_a_row_a_seed_a_row_a_round_and_if_private_a_row_for_every_epsilon(results, directories):
    for run, counted in (("n100_dp", len(EPSILONS)), ("n100_none", 0)):
        assert list(of(results.rounds, run, 1)["round"]) == list(range(1, ROUNDS + 1))
        rows = of(results.epsilons, run, 1)
        assert len(rows) == ROUNDS * counted
        assert not rows.duplicated(["round", "accountant", "composition", "distance", "sensitivity"]).any()
    told = [summary.load_summary(directory / "summary.json") for directory in directories]
    assert [*results.runs["identity"]] == [one["identity"] for one in told]
    assert not results.runs.duplicated(["run", "seed"]).any()


def test_the_files_have_the_columns_and_types_that_they_promise(runs):
    for name, schema in SCHEMAS.items():
        assert dict(pd.read_parquet(runs / f"{name}.parquet").dtypes.astype(str)) == schema


def test_the_order_of_the_folders_does_not_matter_but_for_the_order_of_rows(directories, tmp_path):
    key = ["run", "seed", "round", "accountant", "composition", "sensitivity"]
    orders = directories, directories[::-1]
    there, back = (
        load_results(collect(order, tmp_path)).epsilons.sort_values(key, ignore_index=True)
        for order in orders
    )
    pd.testing.assert_frame_equal(there, back)


@pytest.mark.parametrize("file", ["trace.parquet", "ledger.parquet", "summary.json"])
@pytest.mark.parametrize("rest", [None, 50], ids=["missing", "corrupt"])
def test_a_missing_or_corrupt_file_is_named_and_nothing_is_written(directories, tmp_path, file, rest):
    path = directories[1] / file
    whole = path.read_bytes()
    path.unlink()
    if rest:
        path.write_bytes(whole[:rest])
    with pytest.raises(BadInput, match=f"n100_none/seed1.*{file}"):
        collect(directories, tmp_path)
    assert not (tmp_path / "runs.parquet").exists()


def test_a_summary_without_its_data_is_refused(directories, tmp_path):
    path = directories[0] / "summary.json"
    told = summary.load_summary(path)
    del told["data"]
    summary.save_summary(path, told)
    with pytest.raises(BadInput, match="data"):
        collect(directories, tmp_path)


@pytest.mark.parametrize("content", [None, b"PAR1"])
def test_results_that_were_not_collected_are_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "runs.parquet").write_bytes(content)
    with pytest.raises(BadInput, match=r"runs\.parquet"):
        load_results(tmp_path)


def test_how_clients_were_sampled_and_the_sampling_law_of_an_epsilon_stand_apart(tmp_path):
    run = write_run(tmp_path, "photos_dp", 0, scheme="joint")
    trace = pd.read_parquet(run / "trace.parquet").assign(sampling_law="full", sampling_rate=1.0)
    parquet.save_frame(trace, run / "trace.parquet")
    results = load_results(collect([run], tmp_path))
    assert set(results.rounds["sampling_law"]) == {"full"}
    assert set(results.epsilons["sampling_law"]) == {"poisson"}


def test_what_an_older_trace_leaves_out_was_as_all_runs_were_then(directories, tmp_path):
    path = directories[3] / "trace.parquet"
    parquet.save_frame(pd.read_parquet(path).drop(columns=list(MISSING), errors="ignore"), path)
    results = load_results(collect(directories, tmp_path))
    rounds = results.rounds
    assert set(rounds["instance_noise_multiplier"]) == {0.0} and set(rounds["local_steps"]) == {0}
    assert set(rounds["upload_bytes"]) == {4 * one for one in results.runs["parameters"]}
    assert rounds["test_accuracy_drawn"].isna().all() and set(rounds["noisy_bits"]) == {0}


def test_what_a_trace_says_of_its_uploads_is_kept(tmp_path):
    run = write_run(tmp_path, "bits", 0, scheme="dpfl_bnn", drawn=0.95)
    results = load_results(collect([run], tmp_path))
    rounds = results.rounds
    assert set(rounds["upload_bytes"]) == {125.0} and set(rounds["flips"]) == {"coordinate"}
    assert rounds["test_accuracy_drawn"].max() == 0.95


def test_a_ledger_from_before_there_were_accountings_is_to_be_made_again(directories, tmp_path):
    path = directories[3] / "ledger.parquet"
    parquet.save_frame(pd.read_parquet(path).drop(columns="accounting"), path)
    with pytest.raises(BadInput, match=r"ledger\.parquet: found no column accounting"):
        collect(directories, tmp_path)


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz"])
def test_a_ledger_of_another_trace_is_refused(name, directories, tmp_path):
    run = directories[3]
    npz.save_npz(run / "distances.npz", {"remove_sum": np.zeros((ROUNDS, 3))})
    parquet.save_frame(pd.read_parquet(run / "trace.parquet"), run / "trace.parquet")
    sources = [run / "trace.parquet", run / "distances.npz"]
    parquet.save_frame(pd.read_parquet(run / "ledger.parquet"), run / "ledger.parquet", sources)
    collect([run], tmp_path / "fine.parquet")
    if name == "trace.parquet":
        parquet.save_frame(pd.read_parquet(run / name).assign(train_loss=0.5), run / name)
    else:
        npz.save_npz(run / name, {"remove_sum": np.ones((2, 3))})
    with pytest.raises(BadInput, match=f"found the ledger of another {name}"):
        collect([run], tmp_path)
