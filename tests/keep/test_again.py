"""What is stored is not trained again, unless it is asked for."""

import json
import shutil
from pathlib import Path

import pytest
from support.tiny import PRESET, contents, patch, write

from fedpriv.audit.finished import audit_runs
from fedpriv.cli import app
from fedpriv.config.jobs import TAKEN, TRAINED, Sizes, Took, batches, run_files, stored, taken
from fedpriv.config.plan import load_preset
from fedpriv.report.results import collect, load
from fedpriv.store import parquet, summary
from fedpriv.store.rundir import RunDir, take
from fedpriv.store.summary import everywhere
from fedpriv.train import loop
from fedpriv.workflow import steps

RUNS = Path("results/tiny/tiny/runs/dp")
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
    code, (said, spent), err = fedpriv(*RUN)
    assert (code, err) == (0, []) and said.startswith(
        "out: is stored in results/reference/runs/tiny/dp/seed0-"
    )
    assert spent.startswith("ε = ") and not Path("resources").exists()
    assert [path.name for path in Path("out").iterdir()] == ["summary.json"]
    assert RunDir(Path("out")).stored in [path.resolve() for path in everywhere(REFERENCE)]
    assert "was there already" in fedpriv(*RUN)[1][0]


def test_what_one_preset_stored_another_takes_as_its_own(fedpriv, kept, untrained):
    other = Path("config/other.yaml")
    other.write_text(Path("config/tiny.yaml").read_text().replace("preset: tiny", "preset: other"))
    code, (said, _), err = fedpriv(RUN[0], other, *RUN[2:])
    assert (code, err) == (0, []) and said.startswith("out: is stored in ")
    assert summary.load_summary(Path("out/summary.json"))["preset"] == "other"
    assert fedpriv(RUN[0], other, *RUN[2:-1], "results/other/tiny/runs/dp/seed0")[0] == 0
    code, (said,), err = fedpriv("keep", "results/other")
    assert (code, err) == (0, []) and said.endswith("0 runs added, 1 stored before")


def test_a_run_that_is_asked_for_again_is_trained_to_the_same_bits(fedpriv, kept):
    assert fedpriv(*RUN)[0] == 0
    taken = RunDir(Path("out")).trace().drop(columns=["seconds", "peak_mib"])
    code, (said, _), _ = fedpriv(*RUN, "--again")
    assert code == 0 and said.startswith("out: trained")
    assert Path("out/model.safetensors").exists() and "stored" not in summary.load_summary(
        Path("out/summary.json")
    )
    assert parquet.load(Path("out/trace.parquet")).drop(columns=["seconds", "peak_mib"]).equals(taken)
    assert "was there already" in fedpriv(*RUN, "--again")[1][0]


def test_a_run_of_another_config_is_not_the_stored_one(fedpriv, kept):
    patch(kept, rounds=3)
    code, (said, _), _ = fedpriv(*RUN)
    assert code == 0 and said.startswith("out: trained") and "after 3 rounds" in said


def test_a_finished_run_of_another_config_is_refused_and_not_replaced_by_the_stored_one(fedpriv, kept):
    assert fedpriv(*RUN)[0] == 0
    before = Path("out/summary.json").read_bytes()
    code, _, (line,) = fedpriv(*RUN, "--seed", "1")
    assert code == 2 and "out: found the finished run of another config" in line
    assert Path("out/summary.json").read_bytes() == before


def planned():
    return load_preset(Path("config/tiny.yaml"))


def test_a_workflow_takes_what_is_stored_and_plans_no_training_of_it(kept, untrained):
    plan = planned()
    found = taken(plan, REFERENCE)
    assert [key.word for key in found] == ["dp/0", "dp/1"]
    steps.take(plan, "tiny", "dp/0", "dp/1")
    runs = [Path(key.directory("tiny")) for key in found]
    for (key, path), run in zip(found.items(), runs, strict=True):
        assert sorted(run_files(plan, plan.keys("tiny"), found, *TRAINED))[:2] == [
            f"{RUNS}/seed0/{name}" for name in TAKEN[::-1]
        ]
        assert RunDir(run).holds(key.identity) and RunDir(run).stored == path.resolve()
        assert not parquet.stale(run / "ledger.parquet")
    assert taken(plan, REFERENCE) == found  # in the next job, too
    audit_runs(runs, Path("findings.parquet"))
    results = load(collect(runs, Path()))
    assert set(results.runs["seed"]) == {0, 1} and results.epsilons["epsilon"].notna().any()


def test_batches_have_no_stored_runs(kept):
    write(kept / "config/tiny.yaml", PRESET | {"seeds": 3, "speed": {"runs_per_job": 8}})
    plan = planned()
    for some, seeds in (((), (0, 1, 2)), (taken(plan, REFERENCE), (2,))):
        jobs = batches(plan, Sizes(plan, Took({}, {})), some)
        assert [[key.word for key in job.runs] for job in jobs] == [[f"dp/{seed}"] for seed in seeds]


def test_what_was_trained_here_comes_before_what_is_stored(here):
    assert app.main(["keep", "results/tiny"]) == 0
    plan, before = planned(), contents(here)
    assert taken(plan, REFERENCE) == {} and len(stored(plan, REFERENCE, ["tiny"])) == 2
    steps.take(plan, "tiny", "dp/0")  # by hand
    (RUNS / "seed0/ledger.parquet").unlink()
    assert contents(here) == before
    told = summary.load_summary(RUNS / "seed0/summary.json")
    summary.save_summary(RUNS / "seed0/summary.json", told | {"identity": "another"})
    assert [key.word for key in taken(plan, REFERENCE)] == ["dp/0"]


def test_a_run_whose_stored_file_is_gone_is_not_finished(kept):
    key, path = next(iter(stored(planned(), REFERENCE, ["tiny"]).items()))
    out = take(path, Path("out"), {})
    path.unlink()
    assert not RunDir(out).holds(key.identity) and key not in taken(planned(), REFERENCE)


def test_a_preset_may_ask_for_everything_again(kept):
    write(kept / "config/tiny.yaml", PRESET | {"again": True})
    assert taken(planned(), REFERENCE) == {}


def test_a_stored_run_is_accounted_and_audited_where_it_is(fedpriv, kept):
    before = contents(kept)
    (path,) = REFERENCE.glob("runs/tiny/dp/seed0-*.parquet")
    code, out, err = fedpriv("account", path, "--json")
    assert (code, err) == (0, []) and json.loads("".join(out))["spends"]
    code, out, err = fedpriv("audit", path, "--json")
    assert (code, err) == (0, []) and json.loads("".join(out))["findings"]
    assert contents(kept) == before
