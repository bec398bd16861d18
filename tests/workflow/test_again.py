"""What is stored is not trained again, unless it is asked for."""

import json
import shutil
from pathlib import Path

import pytest
from support.tiny import PRESET, contents, write

from fedpriv.cli import app
from fedpriv.config.files import stored_for, stored_runs
from fedpriv.config.jobs import run_rows, training_jobs
from fedpriv.config.plan import load_preset
from fedpriv.config.sizes import Sizes, Took
from fedpriv.store import parquet, summary
from fedpriv.store.rundir import RunDir, take_stored
from fedpriv.store.summary import stored_files
from fedpriv.train import loop

REFERENCE = Path("results/reference")
RUN = ("run", "config/tiny.yaml", "--paper", "tiny", "--run", "dp", "--out", "out")


@pytest.fixture
def kept(here, monkeypatch):
    """The working folder with two stored runs and nothing else that was computed: no results, no data."""
    assert app.main(["keep", "results/tiny"]) == 0
    shutil.rmtree("results/tiny")
    shutil.rmtree("resources")
    return here


@pytest.fixture
def untrained(monkeypatch):
    """No round can be trained."""
    monkeypatch.setattr(loop, "run_round", None)


def test_a_stored_run_is_taken_and_neither_trained_nor_given_data(fedpriv, kept, untrained):
    code, (spent, *_, last), err = fedpriv(*RUN)
    assert (code, err) == (0, []) and last.startswith(
        "out: is stored in results/reference/runs/tiny/dp/seed0-"
    )
    assert spent.startswith("ε = ") and not Path("resources").exists()
    assert [path.name for path in Path("out").iterdir()] == ["summary.json"]
    assert RunDir(Path("out")).stored in [path.resolve() for path in stored_files(REFERENCE)]
    assert "was there already" in fedpriv(*RUN)[1][-1]


def test_what_one_preset_stored_another_takes_as_its_own(fedpriv, kept, untrained):
    other = Path("config/other.yaml")
    other.write_text(Path("config/tiny.yaml").read_text().replace("preset: tiny", "preset: other"))
    code, (*_, last), err = fedpriv(RUN[0], other, *RUN[2:])
    assert (code, err) == (0, []) and last.startswith("out: is stored in ")
    assert summary.load_summary(Path("out/summary.json"))["preset"] == "other"
    assert fedpriv(RUN[0], other, *RUN[2:-1], "results/other/tiny/runs/dp/seed0")[0] == 0
    code, (said,), err = fedpriv("keep", "results/other")
    assert (code, err) == (0, []) and said.endswith("0 runs added, 1 stored before")


def test_a_run_that_is_asked_for_again_is_trained_to_the_same_bits(fedpriv, kept):
    assert fedpriv(*RUN)[0] == 0
    taken = RunDir(Path("out")).trace().drop(columns=["seconds", "peak_mib"])
    code, (*_, last), _ = fedpriv(*RUN, "--again")
    assert code == 0 and last.startswith("out: trained")
    assert Path("out/model.safetensors").exists() and "stored" not in summary.load_summary(
        Path("out/summary.json")
    )
    assert parquet.load_frame(Path("out/trace.parquet")).drop(columns=["seconds", "peak_mib"]).equals(taken)
    assert "was there already" in fedpriv(*RUN, "--again")[1][-1]


def planned():
    return load_preset(Path("config/tiny.yaml"))


def test_batches_have_no_stored_runs_and_a_preset_may_ask_for_everything_again(kept):
    write(kept / "config/tiny.yaml", PRESET | {"again": True})
    assert stored_for(planned(), REFERENCE) == {}
    write(kept / "config/tiny.yaml", PRESET | {"seeds": 3, "speed": {"runs_per_job": 8}})
    plan = planned()
    for some, seeds in (((), (0, 1, 2)), (stored_for(plan, REFERENCE), (2,))):
        jobs = training_jobs(plan, run_rows(plan, Sizes(plan, Took({}, {})), some))
        assert [[key.word for key in job.runs] for job in jobs] == [[f"dp/{seed}"] for seed in seeds]


def test_a_run_whose_stored_file_is_gone_is_not_finished(kept):
    key, path = next(iter(stored_runs(planned(), REFERENCE, ["tiny"]).items()))
    out = take_stored(path, Path("out"), {})
    path.unlink()
    assert not RunDir(out).holds(key.identity) and key not in stored_for(planned(), REFERENCE)


def test_a_stored_run_is_accounted_and_audited_where_it_is(fedpriv, kept):
    before = contents(kept)
    (path,) = REFERENCE.glob("runs/tiny/dp/seed0-*.parquet")
    code, out, err = fedpriv("account", path, "--json")
    assert (code, err) == (0, []) and json.loads("".join(out))["statements"]
    code, out, err = fedpriv("audit", path, "--json")
    assert (code, err) == (0, []) and json.loads("".join(out))["findings"]
    assert contents(kept) == before
