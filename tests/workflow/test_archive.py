"""`fedpriv keep`: whole runs of the plan are stored, once; all others are refused by name."""

import csv
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.child import PROCESSES, Child, live
from support.fault import at_call, held

from fedpriv.cli import app
from fedpriv.config.sizes import INDEX_COLUMNS
from fedpriv.store import npz, parquet, rundir, summary
from fedpriv.store.rundir import take_stored
from fedpriv.store.summary import stored_files, stored_path
from fedpriv.workflow import archive
from fedpriv.workflow.archive import add_one, finished_run, is_uncommitted

RUNS = "results/tiny/tiny/runs/dp"
REFERENCE = "results/reference"
KEEP = ("keep", "results/tiny")


def seeds(here):
    return [rundir.stored_summary(path)["seed"] for path in stored_files(here / REFERENCE)]


def files(here):
    """Return what is stored, and the bytes, place on the disk and time of each file."""
    found = stored_files(here / REFERENCE)
    return {path: (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def test_finished_runs_are_stored_and_unfinished_ones_are_not(fedpriv, here):
    (here / RUNS / "seed1/summary.json").unlink()
    assert fedpriv(*KEEP) == (0, ["results/tiny: 1 runs added, 0 stored before"], [])
    assert seeds(here) == [0]


def test_what_is_stored_already_changes_no_byte(fedpriv, here):
    assert fedpriv(*KEEP)[0] == 0
    before = files(here)
    code, out, err = fedpriv(*KEEP, "--json")
    assert (code, err) == (0, [])
    there = [f"{RUNS}/seed0", f"{RUNS}/seed1"]
    assert json.loads("".join(out)) == {"added": [], "there": there, "refused": []}
    assert files(here) == before


def test_the_index_has_a_line_for_every_stored_run(fedpriv, here):
    assert fedpriv(*KEEP)[0] == 0
    with (here / REFERENCE / "runs/index.csv").open() as file:
        lines = list(csv.DictReader(file))
    told = [rundir.stored_summary(path) for path in stored_files(here / REFERENCE)]
    assert [line["identity"] for line in lines] == [one["identity"] for one in told]
    assert {(line["scheme"], line["clients"]) for line in lines} == {("client_dp", "4")}


def test_the_runs_in_git_are_those_of_their_index_and_no_file_is_large():
    reference = Path(__file__).parents[2] / REFERENCE
    with (reference / "runs/index.csv").open() as file:
        lines = list(csv.DictReader(file))
    wanted = [stored_path(reference, *(line[key] for key in INDEX_COLUMNS[:4])) for line in lines]
    assert wanted == stored_files(reference)
    assert max(path.stat().st_size for path in wanted) < 1.4e6


def test_what_was_taken_from_a_stored_run_is_stored_already(here):
    reference = here / REFERENCE
    assert add_one(here / RUNS / "seed0", finished_run(here / RUNS / "seed0"), reference)
    (path,) = stored_files(reference)
    before, out = files(here), take_stored(path, here / "out/seed0", {})
    assert [one.name for one in out.iterdir() if one.is_file()] == ["summary.json"]
    assert not add_one(out, finished_run(out), reference)
    assert files(here) == before


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def told(path, **changes):
    summary.save_summary(path, summary.load_summary(path) | changes)


REFUSED = {
    "a damaged trace": (lambda run: flip(run / "trace.parquet"), "trace.parquet"),
    "no trace": (lambda run: (run / "trace.parquet").unlink(), "trace.parquet"),
    "distances of other rounds": (
        lambda run: npz.save_npz(run / "distances.npz", {"remove_sum": np.ones((9, 2))}),
        "seed1",
    ),
    "another preset": (lambda run: told(run / "summary.json", preset="other"), "seed1: preset"),
    "a folder of another name": (lambda run: shutil.move(run, run.with_name("seedling")), "seedling: seed"),
    "a seed that the preset has not": (
        lambda run: told(shutil.move(run, run.with_name("seed9")) / "summary.json", seed=9),
        "seed9",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_damaged_or_foreign_run_is_refused_in_one_line_and_the_others_are_stored(case, fedpriv, here):
    spoil, names = REFUSED[case]
    spoil(here / RUNS / "seed1")
    code, out, err = fedpriv(*KEEP)
    assert (code, len(err)) == (2, 1)
    assert names in err[0] and "allowed: " in err[0]
    assert out == ["results/tiny: 1 runs added, 0 stored before, 1 refused"]
    assert seeds(here) == [0]


def test_another_result_under_a_stored_identity_is_refused(fedpriv, here):
    assert fedpriv(*KEEP)[0] == 0
    before = files(here)
    distances = npz.load_all(here / RUNS / "seed1/distances.npz", "")
    distances["remove_sum"] = np.nextafter(distances["remove_sum"], 1)
    npz.save_npz(here / RUNS / "seed1/distances.npz", distances)
    told(here / RUNS / "seed1/summary.json", seals={})  # as an older run says none
    code, _, err = fedpriv(*KEEP)
    assert (code, len(err)) == (2, 1)
    assert "seed1: found another result than the one stored" in err[0] and "the same bits" in err[0]
    assert files(here) == before


def test_a_run_of_an_uncommitted_tree_is_refused_unless_told(fedpriv, here, monkeypatch):
    monkeypatch.setattr(archive, "is_uncommitted", is_uncommitted)
    for seed, code in enumerate(("0.1.0+066d778bc986", "0.1.0+066d778bc986-dirty")):
        path = here / RUNS / f"seed{seed}/summary.json"
        environment = summary.load_summary(path)["environment"]
        told(path, environment=environment | {"code": code})
    code, _, err = fedpriv(*KEEP)
    assert (code, len(err), seeds(here)) == (2, 1, [0])
    assert "seed1 is of an uncommitted tree (0.1.0+066d778bc986-dirty). Commit" in err[0]
    assert fedpriv(*KEEP, "--dirty")[0] == 0 and seeds(here) == [0, 1]


def test_the_same_result_measured_elsewhere_is_the_one_that_is_stored(fedpriv, here):
    assert fedpriv(*KEEP)[0] == 0
    before = files(here)
    trace = here / RUNS / "seed1/trace.parquet"
    parquet.save_frame(parquet.load_frame(trace).assign(seconds=9.0), trace)
    told(here / RUNS / "seed1/summary.json", seconds=18.0, seals={})
    assert fedpriv(*KEEP)[0] == 0
    assert files(here) == before


@pytest.mark.parametrize("words", [("keep", "results/none"), ("keep", "results/tiny", "--configs", "none")])
def test_results_or_a_preset_that_are_not_there_are_named(words, fedpriv, here):
    code, _, err = fedpriv(*words)
    assert (code, len(err)) == (2, 1) and "none" in err[0]


def test_two_at_once_store_the_runs_of_both(here):
    """The first is held when it is about to write the index; the second needs not wait for it."""
    shutil.copytree(here / "results/tiny", here / "other/tiny")
    shutil.rmtree(here / RUNS / "seed1")
    shutil.rmtree(here / "other/tiny/tiny/runs/dp/seed0")
    arrived, go = PROCESSES.Event(), PROCESSES.Event()
    moment = partial(at_call, "fedpriv.workflow.archive", "write_index", 1, partial(held, arrived, go))
    first = Child(here, partial(app.main, (*KEEP, "--dirty")), moment)
    arrived.wait()
    assert live(here, partial(app.main, ["keep", "other/tiny", "--dirty"])).code == 0
    go.set()
    assert first.end().code == 0 and seeds(here) == [0, 1]
    assert len((here / REFERENCE / "runs/index.csv").read_text().splitlines()) == 3
