"""What is kept is not trained again, unless it is asked for."""

import shutil
from pathlib import Path

import pytest
from support.tiny import PRESET, patch, write

from fedpriv.cli import app
from fedpriv.cli.batch import train_each
from fedpriv.config.plan import load_preset
from fedpriv.config.targets import alone, inputs, trainings
from fedpriv.files import parquet, summary
from fedpriv.keep.index import identities, of_plan
from fedpriv.train import loop, outputs

RUNS = Path("results/tiny/tiny/runs/dp")
ARCHIVE = Path("results/reference/tiny/tiny/kept.parquet")
RUN = ("run", "config/tiny.yaml", "--paper", "tiny", "--run", "dp", "--out", "out")


class OneRun:
    preset, paper, run, seed = "tiny", "tiny", "dp", "0"


@pytest.fixture
def kept(here, monkeypatch):
    """The working folder with two kept runs and nothing else that was computed: no results, no data."""
    assert app.main(["keep", "results/tiny"]) == 0
    shutil.rmtree("results/tiny")
    shutil.rmtree("resources")
    return here


@pytest.fixture
def untrained(monkeypatch):
    """No round can be trained."""
    monkeypatch.setattr(loop, "run_round", None)


def test_a_kept_run_is_taken_and_neither_trained_nor_given_data(fedpriv, kept, untrained):
    code, (said,), err = fedpriv(*RUN)
    assert (code, err) == (0, []) and said.startswith("out: was kept, accuracy ")
    assert not Path("resources").exists()
    assert summary.load(Path("out/summary.json"))["kept"] is True
    assert outputs.finished(Path("out")) in identities(ARCHIVE)
    assert "was there already" in fedpriv(*RUN)[1][0]


def test_what_one_preset_kept_another_takes_as_its_own(fedpriv, kept, untrained):
    other = Path("config/other.yaml")
    other.write_text(Path("config/tiny.yaml").read_text().replace("preset: tiny", "preset: other"))
    code, (said,), err = fedpriv(RUN[0], other, *RUN[2:])
    assert (code, err) == (0, []) and said.startswith("out: was kept")
    assert summary.load(Path("out/summary.json"))["preset"] == "other"
    taken = Path("results/other/tiny/runs/dp/seed0")
    shutil.copytree("out", taken)
    code, (said,), err = fedpriv("keep", "results/other")
    assert (code, err) == (0, []) and said.endswith("0 runs added, 1 kept before")
    assert not Path("results/reference/other/tiny/kept.parquet").exists()


def test_a_run_that_is_asked_for_again_is_trained_to_the_same_bits(fedpriv, kept):
    assert fedpriv(*RUN)[0] == 0
    taken = parquet.load(Path("out/trace.parquet")).drop(columns=["seconds", "peak_mib"])
    code, (said,), _ = fedpriv(*RUN, "--again")
    assert code == 0 and said.startswith("out: trained")
    assert Path("out/model.safetensors").exists() and "kept" not in summary.load(Path("out/summary.json"))
    assert parquet.load(Path("out/trace.parquet")).drop(columns=["seconds", "peak_mib"]).equals(taken)
    assert "was there already" in fedpriv(*RUN, "--again")[1][0]


def test_a_run_of_another_config_is_not_the_kept_one(fedpriv, kept):
    patch(kept, rounds=3)
    code, (said,), _ = fedpriv(*RUN)
    assert code == 0 and said.startswith("out: trained") and "after 3 rounds" in said


def test_a_finished_run_of_another_config_is_refused_and_not_replaced_by_the_kept_one(fedpriv, kept):
    assert fedpriv(*RUN)[0] == 0
    before = Path("out/summary.json").read_bytes()
    code, _, (line,) = fedpriv(*RUN, "--seed", "1")
    assert code == 2 and "out: found the finished run of another config" in line
    assert Path("out/summary.json").read_bytes() == before


def test_a_workflow_takes_what_is_kept_and_asks_no_data_for_it(kept, untrained):
    plan = load_preset(Path("config/tiny.yaml"))
    batch = alone(OneRun)
    assert inputs(plan, batch, identities(ARCHIVE)) == [] != inputs(plan, batch)
    train_each(trainings(plan, batch), plan, 1, Path("results/reference"))
    assert outputs.finished(RUNS / "seed0") in identities(ARCHIVE)
    with pytest.raises(ExceptionGroup):  # there are no data to train on
        train_each(trainings(plan, alone(type("Two", (OneRun,), {"seed": "1"}))), plan, 1, None)


def test_the_weights_of_an_older_run_are_not_left_beside_a_kept_one(here, untrained):
    assert app.main(["keep", "results/tiny"]) == 0
    for name in ("trace.parquet", "distances.npz", "summary.json"):
        (RUNS / "seed0" / name).unlink()
    shutil.rmtree(RUNS / "seed0/resume")
    plan = load_preset(Path("config/tiny.yaml"))
    train_each(trainings(plan, alone(OneRun)), plan, 1, Path("results/reference"))
    assert sorted(path.name for path in (RUNS / "seed0").iterdir()) == sorted(
        set(outputs.FILES) - {outputs.WEIGHTS}
    )


def test_what_was_trained_here_comes_before_what_is_kept(here, untrained):
    assert app.main(["keep", "results/tiny"]) == 0
    for name in ("trace.parquet", "distances.npz", "summary.json"):
        (RUNS / "seed0" / name).unlink()
    plan = load_preset(Path("config/tiny.yaml"))
    train_each(trainings(plan, alone(OneRun)), plan, 1, Path("results/reference"))
    assert "kept" not in summary.load(RUNS / "seed0/summary.json")
    assert (RUNS / "seed0" / outputs.WEIGHTS).exists()


def test_a_preset_may_ask_for_everything_again(kept):
    reference = Path("results/reference")
    assert of_plan(load_preset(Path("config/tiny.yaml")), reference) == identities(ARCHIVE)
    write(kept / "config/tiny.yaml", PRESET | {"again": True})
    assert of_plan(load_preset(Path("config/tiny.yaml")), reference) == set()
