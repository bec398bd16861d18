"""What is stored is not trained again, unless it is asked for."""

import json
import shutil
from pathlib import Path

import pytest
from support.tiny import PRESET, contents, patch, write

from fedpriv.audit.finished import audit_runs
from fedpriv.cli import app
from fedpriv.config.batches import batches
from fedpriv.config.plan import load_preset
from fedpriv.config.sizes import Sizes, Took
from fedpriv.config.targets import TAKEN, TRAINED, run_files
from fedpriv.files import left, parquet, summary
from fedpriv.keep import index
from fedpriv.keep.take import take
from fedpriv.report.collect import collect
from fedpriv.report.results import load
from fedpriv.train import loop, outputs
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


def stored_identities():
    return set(map(index.identity_of, index.everywhere(REFERENCE)))


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
    assert outputs.finished(Path("out")) in stored_identities()
    assert "was there already" in fedpriv(*RUN)[1][0]


def test_what_one_preset_stored_another_takes_as_its_own(fedpriv, kept, untrained):
    other = Path("config/other.yaml")
    other.write_text(Path("config/tiny.yaml").read_text().replace("preset: tiny", "preset: other"))
    code, (said, _), err = fedpriv(RUN[0], other, *RUN[2:])
    assert (code, err) == (0, []) and said.startswith("out: is stored in ")
    assert summary.load(Path("out/summary.json"))["preset"] == "other"
    assert fedpriv(RUN[0], other, *RUN[2:-1], "results/other/tiny/runs/dp/seed0")[0] == 0
    code, (said,), err = fedpriv("keep", "results/other")
    assert (code, err) == (0, []) and said.endswith("0 runs added, 1 stored before")


def test_a_run_that_is_asked_for_again_is_trained_to_the_same_bits(fedpriv, kept):
    assert fedpriv(*RUN)[0] == 0
    taken = left.trace(Path("out")).drop(columns=["seconds", "peak_mib"])
    code, (said, _), _ = fedpriv(*RUN, "--again")
    assert code == 0 and said.startswith("out: trained")
    assert Path("out/model.safetensors").exists() and "stored" not in summary.load(Path("out/summary.json"))
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


def trained(directory):
    return (Path(directory) / "trace.parquet").exists()


def test_a_workflow_takes_what_is_stored_and_plans_no_training_of_it(kept, untrained):
    plan = load_preset(Path("config/tiny.yaml"))
    taken = index.taken(plan, REFERENCE)
    assert list(taken) == [f"{RUNS}/seed0/", f"{RUNS}/seed1/"]
    steps.take(plan, "tiny", "dp/0", "dp/1")
    for directory, path in taken.items():
        assert sorted(run_files(plan, "tiny", taken, *TRAINED))[:2] == [
            f"{RUNS}/seed0/{name}" for name in TAKEN[::-1]
        ]
        assert outputs.finished(Path(directory)) == index.identity_of(path) and not trained(directory)
        assert not parquet.stale(Path(directory, "ledger.parquet"))
    assert index.taken(plan, REFERENCE) == taken  # in the next job, too
    audit_runs([Path(one) for one in taken], Path("findings.parquet"))
    results = load(collect([Path(one) for one in taken], Path()))
    assert set(results.runs["seed"]) == {0, 1} and results.epsilons["epsilon"].notna().any()


def test_batches_have_no_stored_runs(kept):
    write(kept / "config/tiny.yaml", PRESET | {"seeds": 3, "speed": {"runs_per_job": 8}})
    plan = load_preset(Path("config/tiny.yaml"))
    sizes, taken = Sizes(plan, Took({}, {})), index.taken(plan, REFERENCE)
    assert [one.runs for one in batches(plan, sizes)] == [[("dp", seed)] for seed in (0, 1, 2)]
    assert [one.runs for one in batches(plan, sizes, taken)] == [[("dp", 2)]]


def test_nothing_of_another_run_is_left_beside_a_stored_one(here):
    assert app.main(["keep", "results/tiny"]) == 0
    plan = load_preset(Path("config/tiny.yaml"))
    path = index.stored(plan, REFERENCE)[f"{RUNS}/seed1/"]
    out = take(path, RUNS / "seed0", {})
    assert not set(outputs.FILES) & {one.name for one in out.iterdir()} - {"summary.json"}
    assert outputs.finished(out) == index.identity_of(path)


def test_what_was_trained_here_comes_before_what_is_stored(here):
    assert app.main(["keep", "results/tiny"]) == 0
    plan = load_preset(Path("config/tiny.yaml"))
    assert index.taken(plan, REFERENCE) == {} and len(index.stored(plan, REFERENCE)) == 2
    told = summary.load(RUNS / "seed0/summary.json")
    summary.save(RUNS / "seed0/summary.json", told | {"identity": "another"})
    assert list(index.taken(plan, REFERENCE)) == [f"{RUNS}/seed0/"]


def test_a_run_whose_stored_file_is_gone_is_not_finished(kept):
    plan = load_preset(Path("config/tiny.yaml"))
    path = index.stored(plan, REFERENCE)[f"{RUNS}/seed0/"]
    out = take(path, Path("out"), {})
    path.unlink()
    assert outputs.finished(out) is None and f"{RUNS}/seed0/" not in index.taken(plan, REFERENCE)


def test_a_preset_may_ask_for_everything_again(kept):
    assert len(index.identities(load_preset(Path("config/tiny.yaml")), REFERENCE)) == 2
    write(kept / "config/tiny.yaml", PRESET | {"again": True})
    plan = load_preset(Path("config/tiny.yaml"))
    assert index.taken(plan, REFERENCE) == {} and index.identities(plan, REFERENCE) == set()


def test_a_stored_run_is_accounted_and_audited_where_it_is(fedpriv, kept):
    before = contents(kept)
    (path,) = REFERENCE.glob("runs/tiny/dp/seed0-*.parquet")
    code, out, err = fedpriv("account", path, "--json")
    assert (code, err) == (0, []) and json.loads("".join(out))["spends"]
    code, out, err = fedpriv("audit", path, "--json")
    assert (code, err) == (0, []) and json.loads("".join(out))["findings"]
    assert contents(kept) == before
