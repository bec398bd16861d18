import errno
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.tiny import RUN, contents, patch

from fedpriv import doctor
from fedpriv.account import ACCOUNTANTS
from fedpriv.cli import compare


def test_a_run_is_trained_once_and_then_found(fedpriv, here):
    code, out, _ = fedpriv(*RUN)
    assert (code, len(out)) == (0, 3) and out[0].startswith("ε = ")
    assert out[1] == "Every accountant: fedpriv account out"
    assert re.fullmatch(
        r"out: trained, accuracy [\d.]+ after 2 rounds at ε = [\d.]+ \(pld, client, add_remove\)", out[2]
    )
    trained = contents(here / "out")
    assert {path.name for path in trained} == {
        "trace.parquet",
        "distances.npz",
        "model.safetensors",
        "summary.json",
    }
    code, out, err = fedpriv(*RUN)
    assert (code, err) == (0, [])
    assert "was there already" in out[-1]
    assert contents(here / "out") == trained


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            ["relation add_remove, sampling law poisson, accountant pld, sensitivity C, guarantee"],
        ),
        (
            {"hooks": {"upload_noise_std": 1e-4}},
            [
                "not a guarantee: the number of participants leaks",
                "accounting sized",
                "accounting upload",
                "drawn",
            ],
        ),
        (
            {"model": {"name": "convnet2", "widths": [2, 2, 4]}, "local": {"name": "fedavg", "epochs": 1}},
            ["ε = inf at δ = 0.001"],
        ),
        (
            {"scheme": {"denominator": "present"}},
            ["not a guarantee: the number", "accounting sized, accountant pld"],
        ),
        ({"scheme": "none"}, []),
    ],
    ids=["sum", "hook", "clear", "present", "none"],
)
def test_a_run_ends_with_what_the_ledger_of_its_trace_says(changes, words, fedpriv, here):
    patch(here, **changes)
    code, (*stated, last), _ = fedpriv(*RUN)
    assert all(line.split(" at ")[0].removeprefix("ε = ") in last for line in stated if line[:1] == "ε")
    stated = [line for line in stated if not line.startswith("Every accountant: ")]
    assert code == 0 and len(stated) == len(words)
    assert all(word in line for word, line in zip(words, stated, strict=True))
    counted = json.loads("\n".join(fedpriv("account", "out", "--json")[1]))["statements"]
    assert {line.split(" at ")[0].rstrip("†‡") for line in stated} <= {
        f"ε = {float(one['epsilon']):.4g}" for one in counted
    }
    assert all(
        ("status" in one)
        and (one["status"] == "guarantee") == (one["violation"] == "" and one["kind"] == "guarantee")
        for one in counted
    )


def test_a_finished_run_of_another_config_is_not_overwritten(fedpriv, refused):
    assert fedpriv(*RUN)[0] == 0
    assert "out" in refused(*RUN, "--seed", "1")


def test_a_run_as_json_is_its_summary_and_what_it_cost(fedpriv, here):
    _, out, _ = fedpriv(*RUN, "--json")
    found = json.loads("\n".join(out))
    (*_, pld) = (one for one in found.pop("statements") if one["accountant"] == "pld")
    assert pld["epsilon"] > 0 and pld["status"] == "guarantee"
    assert found == json.loads((here / "out/summary.json").read_text())


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_run_that_diverges_says_so_beside_its_result(words, fedpriv, here):
    wild = {"scheme": "none", "server": {"learning_rate": 1e38}, "probe": {"clients": 0}, "rounds": 9}
    patch(here, **wild, cohort={"law": "full"})
    code, out, err = fedpriv(*RUN, *words)
    rounds = json.loads((here / "out/summary.json").read_text())["diverged"]
    many = f"{rounds} round" if rounds == 1 else f"{rounds} rounds"
    assert (
        code == 0 and err[-1] == f"out: diverged in round {rounds}: weights or losses are no finite numbers"
    )
    assert words or out[-1] == f"out: trained, diverged after {many}"
    assert fedpriv(*RUN, *words)[2] == err[-1:]


def test_a_run_that_predicts_numbers_ends_with_what_was_measured_and_has_not_diverged(fedpriv, here):
    rng = np.random.default_rng(0)
    numbers = {f"y_{split}": rng.random((40, 1), dtype=np.float32) for split in ("train", "test")}
    images = {f"x_{split}": rng.integers(0, 256, (40, 28, 28), dtype=np.uint8) for split in ("train", "test")}
    np.savez(here / "mine.npz", **images, **numbers)
    own = {"dataset": {"npz": "mine.npz"}, "partition": {"law": "iid", "clients": 4}, "scheme": "none"}
    patch(here, **own, loss="mean_squared_error", probe={"clients": 0})
    code, out, err = fedpriv(*RUN)
    assert code == 0 and re.fullmatch(r"out: trained, loss \d+\.\d{4} after 2 rounds", out[-1])
    assert not any("diverged" in line for line in (*out, *err))
    patch(here, **own, loss="mean_squared_error", probe={"clients": 0}, evaluation={"metrics": ["error"]})
    code, out, _ = fedpriv(*RUN[:-1], "other")
    assert code == 0 and re.fullmatch(r"other: trained, mean absolute error [\d.]+ after 2 rounds", out[-1])


def test_a_run_ends_with_the_metrics_that_it_asked_for(fedpriv, here):
    patch(here, evaluation={"metrics": ["f1", "auroc"]})
    _, out, _ = fedpriv(*RUN)
    last = pd.read_parquet(here / "out/trace.parquet").iloc[-1]
    told = {"accuracy": "accuracy", "F1": "f1", "AUROC": "auroc"}
    measured = ", ".join(f"{word} {last[f'test_{name}']:.4f}" for word, name in told.items())
    assert out[-1].startswith(f"out: trained, {measured} after 2 rounds at ε = ")


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_an_account_of_a_run_that_may_not_be_written_to_is_printed_all_the_same(
    number, fedpriv, trained, monkeypatch
):
    code, told, _ = fedpriv("account", "out", "--json")
    (trained / "ledger.parquet").unlink()
    before = contents(trained)

    def fail(path, *_, **__):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "touch", fail)
    code, out, err = fedpriv("account", "out", "--json")
    assert (code, out) == (0, told)
    assert err == [
        f"out/ledger.parquet: cannot be written ({os.strerror(number)}), so that it is only printed"
    ]
    assert contents(trained) == before


@pytest.mark.parametrize("name", ["~", "s3:", "file:x", "hdfs:x", "gs:"])
def test_a_folder_is_the_one_of_that_name_whatever_a_library_makes_of_such_a_path(
    name, fedpriv, trained, here, monkeypatch
):
    home = here / "home"
    monkeypatch.setenv("HOME", str(home))
    shutil.copytree(trained, home / "run")  # who follows `~` meets another run
    (home / "run/trace.parquet").write_text("not this one")
    expected = fedpriv("account", "out")[1]
    before = contents(home)
    for place in (name, f"{name}/run"):
        assert fedpriv(*RUN[:-1], place)[0] == 0
        code, out, _ = fedpriv("account", place)
        assert (code, out) == (0, expected) and (here / place / "ledger.parquet").exists()
        shutil.rmtree(here / place / "resume")
    assert contents(home) == before


def test_an_account_is_every_spend_at_the_delta_of_the_run(fedpriv, trained):
    code, out, err = fedpriv("account", "out", "--json")
    statements = json.loads("\n".join(out))["statements"]
    assert (code, err) == (0, [])
    assert {statement["delta"] for statement in statements} == {1e-3}
    counting = {
        name: one
        for name, one in ACCOUNTANTS.own.items()
        if "gaussian" in one.mechanisms and "poisson" in one.laws
    }
    assert {(statement["accountant"], statement["kind"]) for statement in statements} == {
        (name, one.kind) for name, one in counting.items()
    }
    assert fedpriv("account", "out")[1][-1].startswith("What an estimate is, and why it is no guarantee")
    ledger = pd.read_parquet(trained / "ledger.parquet")
    assert sorted(ledger[ledger["round"] == 2]["epsilon"]) == sorted(
        statement["epsilon"] for statement in statements
    )


def test_an_account_keeps_the_delta_of_the_ledger_that_is_there(fedpriv, refused, trained):
    assert fedpriv("account", "out", "--delta", "1e-6")[0] == 0
    assert "allowed: 1e-06" in refused("account", "out", "--delta", "1e-3")
    _, out, _ = fedpriv("account", "out", "--json")
    assert {statement["delta"] for statement in json.loads("\n".join(out))["statements"]} == {1e-6}


def test_fetching_bundled_data_downloads_nothing(fedpriv, here):
    code, out, err = fedpriv("fetch", "digits")
    assert (code, out, err) == (0, ["digits: bundled, nothing to download"], [])
    assert not (here / "resources").exists()


def test_what_fails_is_one_line_and_exit_code_1(fedpriv, monkeypatch):
    def fail(*_):
        raise RuntimeError("the disk\nis full")

    monkeypatch.setattr(doctor, "diagnose", fail)
    code, _, err = fedpriv("doctor")
    assert code == 1
    assert err == ["fedpriv: RuntimeError: the disk is full (--debug for the traceback)"]
    with pytest.raises(RuntimeError):
        fedpriv("doctor", "--debug")


TEXT = "No space left on device"
FULL = {
    "plain": OSError(errno.ENOSPC, TEXT),
    "with its path": OSError(f"results/x: {OSError(errno.ENOSPC, TEXT)}"),
    "Arrow's": OSError(f"I/O error: {TEXT} (os error) (errno 28)"),
    "safetensors'": OSError(f"results/x: Error while serializing: I/O error: {TEXT} (os error 28)"),
    "before training": OSError(f"results/x: no room ({OSError(errno.ENOSPC, TEXT)}); it was not trained"),
}


@pytest.mark.parametrize("error", FULL.values(), ids=FULL)
def test_a_full_disk_is_one_line_that_says_what_to_do(error, fedpriv, monkeypatch):

    def fail(*_):
        raise error

    monkeypatch.setattr(doctor, "diagnose", fail)
    code, _, (line,) = fedpriv("doctor")
    assert code == 1 and TEXT in line and line.endswith("make room; the same command starts anew")


def test_a_key_that_is_set_makes_a_result_of_its_own_that_is_compared_by_seed(fedpriv, here):
    assert fedpriv(*RUN[:-2])[0] == 0
    code, out, _ = fedpriv(*RUN[:-2], "--set", "server.learning_rate=0.2", "--json")
    told = json.loads("".join(out))
    one, other = (f"results/runs/tiny/dp{name}" for name in ("", ",server.learning_rate=0.2"))
    assert code == 0 and told["config"]["server"]["learning_rate"] == 0.2
    assert told["identity"] != json.loads((here / one / "seed0/summary.json").read_text())["identity"]
    _, out, _ = fedpriv("compare", one, other, "--json")
    found = json.loads("".join(out))
    assert found["settings"] == [{"key": "server.learning_rate", "A": "1.0", "B": "0.2"}]
    (cell,) = found["cells"]
    assert cell["difference"]["n"] == 1
    assert cell["difference"]["mean"] == pytest.approx(cell["second"]["mean"] - cell["first"]["mean"])
    (epsilon,) = cell["epsilons"]  # of the same noise
    assert epsilon["A"] == epsilon["B"] and not cell["at_unequal_epsilon"]
    assert fedpriv(*RUN[:-2], "--set", "scheme.noise_multiplier=2")[0] == 0
    noisy = "results/runs/tiny/dp,scheme.noise_multiplier=2"
    _, out, _ = fedpriv("compare", one, noisy)
    (line,) = (line for line in out if line.startswith("ε"))
    assert "unit client, relation add_remove" in line and "accountant pld" in line
    assert "at unequal ε" in line and f"{epsilon['A']['epsilon']:.4g}" in line


def test_two_tables_are_compared_cell_by_cell_and_what_is_no_result_is_refused(fedpriv, refused, results):
    code, out, _ = fedpriv("compare", "results/tiny/tiny", "results/tiny/tiny", "--json")
    cells = json.loads("".join(out))["cells"]
    assert code == 0 and cells and all(one["difference"]["mean"] == 0 for one in cells)
    assert not any(one["at_unequal_epsilon"] for one in cells)
    assert "No result 'nowhere'." in refused("compare", "results/tiny/tiny", "nowhere")


@pytest.mark.parametrize(
    ("first", "second", "unequal"),
    [(1.0, 1.05, False), (1.06, 1.0, True), (1.0, None, True), (np.inf, np.inf, False), (np.inf, 9.0, True)],
)
def test_two_epsilons_are_unequal_where_they_differ_by_more_than_a_twentieth(first, second, unequal):
    sides = {"A": first, "B": second}
    both = {side: None if epsilon is None else {"epsilon": epsilon} for side, epsilon in sides.items()}
    assert compare.unequal(both) is unequal


def test_of_two_stored_results_of_a_seed_that_of_the_same_settings_is_compared(fedpriv, refused):
    folder = Path(__file__).parents[2] / "results/reference/runs/bdp2019/noniid_n1000_instance"
    files = sorted(folder.glob("seed0-*.parquet"))
    assert len(files) == 2 and "two results of a seed" in refused("compare", str(folder), str(folder))
    for file in files:
        code, out, _ = fedpriv("compare", str(file), str(folder), "--json")
        (cell,) = json.loads("".join(out))["cells"]
        assert code == 0 and cell["difference"]["mean"] == 0
