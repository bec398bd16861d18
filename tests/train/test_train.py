import json
import math
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
import torch
from filelock import Timeout
from support.made_run import RUN, go, result

from fedpriv.account.check import checked_trace
from fedpriv.config.run import Server
from fedpriv.data import arrays
from fedpriv.errors import BadInput
from fedpriv.store import parquet, summary
from fedpriv.store.rundir import RunDir
from fedpriv.store.summary import FILES
from fedpriv.trace import MISSING, TRACE
from fedpriv.train import checkpoint, record
from fedpriv.train.record import RoundState
from fedpriv.train.round import learning_rate

INSTANCE = {"clip_l2": 0.5, "noise_multiplier": 0.1, "distances": 3}
JOINT = {"scheme": {"name": "joint"} | INSTANCE, "local": {"name": "fedsgd", "batch_size": 4}}


def test_a_run_leaves_a_row_a_round_distances_and_where_it_comes_from(files, tmp_path):
    out = go(RUN, files, tmp_path / "run")
    trace = pd.read_parquet(out / "trace.parquet")
    assert list(trace.columns) == list(TRACE)
    assert trace["round"].tolist() == [1, 2, 3, 4, 5, 6]
    assert trace["test_accuracy"].notna().tolist() == [False, False, False, True, False, True]
    assert "epsilon" not in trace.columns
    with np.load(out / "distances.npz") as file:
        shapes = {name: file[name].shape for name in file.files}
    sampled = dict.fromkeys(("remove_sum", "remove_mean"), (6, 3))
    assert shapes == sampled | {f"panel_{name}": (6, 2) for name in sampled}
    told, labels = summary.load_summary(out / "summary.json"), arrays.load(files).y_test.tolist()
    assert told["diverged"] is None and told["environment"]["code"].startswith(version("fedpriv"))
    assert told["environment"]["libraries"]["numpy"] == np.__version__
    assert told["data"]["majority"] == max(map(labels.count, labels)) / len(labels)


def test_rounds_that_older_code_saved_have_the_columns_that_came_later(files, tmp_path):
    whole = pd.read_parquet(go(RUN, files, tmp_path / "run") / "trace.parquet")
    rows = whole.to_dict("records")
    old = [{name: value for name, value in row.items() if name not in MISSING} for row in rows[:3]]
    found = record.trace_of(RoundState(torch.zeros(1), torch.zeros(1), rows=[*old, *rows[3:]]))
    checked_trace(found)
    assert found.drop(columns=list(MISSING)).equals(whole.drop(columns=list(MISSING)))
    assert found["holders"].tolist() == [0, 0, 0, *whole["holders"][3:]]


def test_measuring_distances_does_not_change_the_model(files, tmp_path):
    watched = go(RUN, files, tmp_path / "watched")
    blind = go(RUN | {"probe": {"clients": 0, "panel": 0}}, files, tmp_path / "blind")
    assert (watched / "model.safetensors").read_bytes() == (blind / "model.safetensors").read_bytes()


def test_the_same_seed_gives_the_same_bits_with_any_threads_and_another_seed_does_not(files, tmp_path):
    once, again, other = (
        result(go(RUN, files, tmp_path / name, seed)) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert once == again == result(go(RUN, files, tmp_path / "threads", 1, threads=3))
    assert once[2] != other[2]


@pytest.mark.parametrize(
    "cohort", [{"law": "poisson", "rate": 1e-9}, {"law": "fixed", "size": 3}, {"law": "full"}], ids=str
)
def test_every_cohort_law_trains_even_when_nobody_comes(files, tmp_path, cohort):
    out = go(RUN | JOINT | {"cohort": cohort}, files, tmp_path / "run")
    trace = pd.read_parquet(out / "trace.parquet")
    with np.load(out / "distances.npz") as file:
        assert file["instance_remove_sum"].shape == (6, 1, trace["cohort_size"].max(), 3)
    assert set(trace["sampling_law"]) == {cohort["law"]}
    assert trace["test_loss"].notna().any()


def test_the_same_examples_are_looked_at_in_every_round_the_last_one_too(files, tmp_path):
    data = arrays.load(files)
    fewer = data._replace(x_test=data.x_test[::3], y_test=data.y_test[::3])
    alone = arrays.save(tmp_path / "fewer" / "noise.npz", fewer)
    every = RUN | {"evaluate_every": 1}
    strided = go(every | {"evaluation": {"stride": 3}}, files, tmp_path / "strided")
    expected = pd.read_parquet(go(every, alone, tmp_path / "alone") / "trace.parquet")["test_loss"]
    assert pd.read_parquet(strided / "trace.parquet")["test_loss"].tolist() == expected.tolist()


def test_global_dp_runs_only_the_rounds_its_budget_allows(files, tmp_path):
    scheme = {"name": "global_dp", "clip": "median", "noise_multiplier": 1.0}
    budget = {"epsilon": 5.0, "delta": 1e-2}
    out = go(RUN | {"scheme": scheme | {"budget": budget}, "rounds": 50}, files, tmp_path / "run")
    summary = json.loads((out / "summary.json").read_text())
    assert 0 < summary["rounds"] < summary["rounds_wanted"] == 50


def test_instance_distances_have_a_place_for_every_step_client_and_sample(files, tmp_path):
    local = {"name": "fedavg", "steps": 2, "batch_size": 4}
    out = go(RUN | {"scheme": {"name": "instance"} | INSTANCE, "local": local}, files, tmp_path / "run")
    trace = pd.read_parquet(out / "trace.parquet")
    with np.load(out / "distances.npz") as file:
        assert sorted(file.files) == ["instance_remove_mean", "instance_remove_sum"]
        found = file["instance_remove_sum"]
    assert found.shape == (6, 2, trace["cohort_size"].max(), 3)
    present = np.isfinite(found).any(axis=(1, 3)).sum(axis=1)
    assert present.tolist() == trace["cohort_size"].tolist()
    assert set(trace["unit"]) == {"instance"}
    assert trace["rate_parallel"].unique() == pytest.approx([0.4])
    assert trace["rate_sequential"].unique() == pytest.approx([4 / 80])


def test_a_joint_run_measures_the_norms_of_noise_free_gradients(files, tmp_path):
    out = go(RUN | JOINT | {"cohort": {"law": "full"}, "probe": {"clients": 8}}, files, tmp_path / "run")
    trace = pd.read_parquet(out / "trace.parquet")
    with np.load(out / "distances.npz") as file:
        assert "remove_mean" not in file.files
        norms = file["remove_sum"]
    assert norms.max(axis=1) == pytest.approx(trace["norm_max"].to_numpy())
    assert norms.min(axis=1) == pytest.approx(trace["norm_min"].to_numpy())
    assert trace["noise_shares"].tolist() == [7] * 6
    assert (trace["noise_std"] == 0).all()
    assert (norms <= 0.5).all()


def test_noise_of_clients_does_not_depend_on_threads_or_on_who_else_is_there(files, tmp_path):
    assert result(go(RUN | JOINT, files, tmp_path / "one", threads=1)) == result(
        go(RUN | JOINT, files, tmp_path / "three", threads=3)
    )


def test_a_batch_larger_than_a_client_stops_the_run_before_it_starts(files, tmp_path):
    local = {"name": "fedsgd", "batch_size": 11}
    with pytest.raises(BadInput, match=r"local\.batch_size: found 11, allowed: at most 10"):
        go(RUN | JOINT | {"local": local}, files, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_the_schedule_goes_from_the_full_rate_to_the_final_fraction(schedule):
    server = Server(learning_rate=0.4, schedule=schedule, final_fraction=0.25)
    rates = [learning_rate(server, round_number, 11) for round_number in range(1, 12)]
    assert rates[0] == pytest.approx(0.4)
    assert rates[-1] == pytest.approx(0.4 if schedule == "constant" else 0.1)
    assert rates == sorted(rates, reverse=True)
    assert math.isclose(learning_rate(server, 1, 1), 0.4)


WILD = RUN | {"scheme": "none", "server": {"learning_rate": 1e38}, "rounds": 9, "probe": {"clients": 0}}


def test_a_run_whose_weights_are_no_longer_finite_ends_as_diverged(files, tmp_path):
    out = go(WILD, files, tmp_path / "run")
    told, trace = summary.load_summary(out / "summary.json"), pd.read_parquet(out / "trace.parquet")
    assert 0 < told["diverged"] < 9 and told["rounds"] == told["diverged"] == len(trace)
    assert told["test_accuracy"] is None and np.isnan(trace["test_accuracy"].iloc[-1])


def test_a_lock_that_a_machine_without_locks_left_is_named_with_who_made_it(tmp_path, monkeypatch):
    left = tmp_path / "run/resume/lock"
    left.parent.mkdir(parents=True)
    left.write_text("4711\nnode7\n")
    monkeypatch.setattr(
        checkpoint.FileLock, "acquire", lambda *_, **__: (_ for _ in ()).throw(Timeout(str(left)))
    )
    with pytest.raises(BadInput) as told, checkpoint.lock_run(left.with_name("state.safetensors")):
        pass
    assert str(told.value).endswith(f"one at a time (4711 node7); delete {left} if that is gone")


@pytest.mark.parametrize("gone", [["trace.parquet"], ["summary.json"], list(FILES)], ids=str)
def test_a_finished_run_whose_files_were_removed_is_put_back_without_training(gone, files, tmp_path):
    out = go(RUN, files, tmp_path / "run")
    times = parquet.load_frame(out / "trace.parquet")["seconds"].tolist()
    for name in gone:
        (out / name).unlink()
    again = go(RUN, files, tmp_path / "run")
    assert parquet.load_frame(again / "trace.parquet")["seconds"].tolist() == times
    assert RunDir(again).summary


@pytest.mark.parametrize("name", FILES)
def test_what_was_kept_of_a_finished_run_is_not_put_back_if_it_is_damaged(name, files, tmp_path):
    out = go(RUN, files, tmp_path / "run")
    wanted, (kept,) = result(out), (out / "resume").glob(f"*/{name}")
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)
    for one in FILES:
        (out / one).unlink()
    assert result(go(RUN, files, tmp_path / "run")) == wanted
