"""What a training asks for: minutes of stored runs, memory of what clients send, a GPU where it pays."""

import csv
import json
from functools import cache
from pathlib import Path
from signal import SIGTERM

import pytest

from fedpriv.config import jobs
from fedpriv.config.jobs import LENGTHS, training_jobs, weights_mb, work
from fedpriv.config.plan import make_plan
from fedpriv.config.run import Run
from fedpriv.errors import Stopped
from fedpriv.paper.paper import merge, read_yaml

ROOT = Path(__file__).parents[2]
PAPER, NAME = "bdp2019", "iid_n100_dp"


def plan(**changes):
    return planned(json.dumps(changes))  # read once


@cache
def planned(changes):
    config = read_yaml(ROOT / "config/paper.yaml")
    return make_plan(merge(config, {"again": True} | json.loads(changes)), ROOT / "config/papers")


def keys(*runs, paper=PAPER):
    return [plan().key(paper, run, 0) for run in runs]


def index(path, *rows):
    """Write an index of stored runs; what a row does not say is of `NAME` and a number."""
    usual = {"paper": PAPER, "run": NAME, "model": "cnn", "scheme": "client_dp", "examples": 1000}
    with path.open("w", newline="") as file:
        lines = csv.DictWriter(file, jobs.INDEX_COLUMNS)
        lines.writeheader()
        lines.writerows(
            usual | {"identity": number, "core_seconds": 10} | row for number, row in enumerate(rows)
        )
    return jobs.read_times(path)


NOTHING = jobs.Took({}, {})


def test_a_run_takes_the_median_of_its_stored_seeds(tmp_path):
    seeds = plan().identities(PAPER, NAME)
    rows = [{"identity": seeds[seed], "core_seconds": took} for seed, took in ((0, 30), (2, 90), (3, 40))]
    took = index(tmp_path / "index.csv", *rows, {"core_seconds": 7})
    assert jobs.Sizes(plan(), took).known(PAPER, NAME) == 40


@pytest.mark.parametrize(
    ("rows", "rate"),
    [
        ([], jobs.RATE),
        ([{"run": "x", "scheme": "none", "core_seconds": 2}], 500),
        ([{"run": "x", "scheme": "none", "core_seconds": 2}, {"run": "x", "core_seconds": 4}], 250),
        ([{"core_seconds": 2}, {"run": "x", "core_seconds": 4}], 500),
        ([{"core_seconds": 2}, {"core_seconds": ""}], 500),  # the second on a GPU
        ([{"run": "x", "model": "mlp", "core_seconds": 2}], jobs.RATE),
    ],
    ids=["nothing", "model", "scheme", "run", "gpu", "another model"],
)
def test_another_run_takes_its_work_over_the_rate_of_those_most_like_it(rows, rate, tmp_path):
    found = jobs.Sizes(plan(), index(tmp_path / "index.csv", *rows)).known(PAPER, NAME)
    assert found == pytest.approx(work(plan().runs[PAPER][NAME]).passes / rate)


HEAD = ",".join(jobs.INDEX_COLUMNS)
LINE = "tiny,dp,0,abc,tiny,digits,client_dp,4,0.1,CPU,cnn,279,{}"
SPOILT = {
    "of a spreadsheet": "\ufeff" + HEAD + "\n" + LINE.format(1),
    "with a word": f"{HEAD}\n{LINE.format('fast')}",
    "of bytes": "\udcff\udcfe",
}


@pytest.mark.parametrize("content", SPOILT.values(), ids=SPOILT)
def test_an_index_that_nobody_can_read_is_named_and_stops_nothing(content, tmp_path, capsys):
    path = tmp_path / "index.csv"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    assert jobs.read_times(path) == NOTHING == jobs.read_times(tmp_path / "no.csv")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: found no index of stored runs (")


def test_nobody_knows_how_fast_a_network_of_ones_own_is_before_one_was_stored(tmp_path, monkeypatch):
    (tmp_path / "own_net_of_sizes.py").write_text("import torch\nclass Net(torch.nn.Linear):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = plan(patches={f"{PAPER}/{NAME}": {"model": {"name": "module", "module": "own_net_of_sizes:Net"}}})
    size = jobs.Sizes(own, NOTHING)
    assert size.known(PAPER, NAME) is None and size.runtime(keys(NAME)) == 65
    took = index(tmp_path / "index.csv", {"core_seconds": 2})
    assert jobs.Sizes(own, took).known(PAPER, NAME) == work(own.runs[PAPER][NAME]).passes / 500


def test_a_job_asks_for_the_minutes_of_all_its_runs_and_a_retry_for_more_of_what_was_short(tmp_path):
    took = jobs.Took({seed: 600.0 for seed in plan().identities(PAPER, NAME).values()}, {})
    size = jobs.Sizes(plan(), took)
    assert size.runtime(keys(NAME)) == 5 + 15 and size.runtime(keys(NAME), attempt=3) == 3 * 20
    log = tmp_path / "train.log"
    log.write_text(str(Stopped(SIGTERM, "none seed 0: 3 of 9 rounds are saved")))
    assert [size.runtime(keys(NAME), attempt, str(log)) for attempt in (1, 2, 3)] == [20, 40, 60]
    memory = [size.mem_mb(keys(NAME), 0, attempt, str(log)) for attempt in (1, 2, 3)]
    assert memory == [memory[0], memory[0], 2 * memory[0]]
    log.write_text("killed by the kernel, which says nothing here")
    assert [size.runtime(keys(NAME), attempt, str(log)) for attempt in (1, 2, 3)] == [20, 20, 40]
    killed = [size.mem_mb(keys(NAME), 0, attempt, str(log)) for attempt in (1, 2, 3)]
    assert killed == [memory[0], 2 * memory[0], 3 * memory[0]]
    assert size.runtime(keys(NAME, NAME)) == 5 + 30
    assert size.priority(keys(NAME, NAME)) == 20
    assert jobs.Sizes(plan(speed={"threads": 4}), took).runtime(keys(NAME)) == 9


def test_memory_grows_with_what_a_round_sends_with_the_input_and_with_the_attempt():
    size, runs = jobs.Sizes(plan(), NOTHING), plan().runs
    large, small = "inverted_poisson_n10000", "none_n100"
    of = {name: keys(name, paper="global_dp") for name in (large, small)}
    sent = weights_mb(runs["global_dp"][large])
    assert 1000 < sent == pytest.approx(4e-6 * 507.5 * 531_400, rel=0.01)
    gpu = jobs.CUDA * size.gpu(of[large])
    assert size.mem_mb(of[large]) == pytest.approx(2 * (1000 + 2 * sent) + gpu, abs=1)
    assert size.mem_mb(of[large], 100, attempt=3) == pytest.approx(3 * (size.mem_mb(of[large]) + 400), abs=3)
    both = of[small] + of[large]
    assert size.mem_mb(of[small]) < size.mem_mb(of[large]) == size.mem_mb(both)


@pytest.mark.parametrize(
    ("model", "seconds", "pays"),
    [
        ({"name": "cnn", "widths": [8, 16]}, 600, True),
        ({"name": "cnn", "widths": [8, 16]}, 59, False),
        ({"name": "cnn", "widths": [1, 1]}, 600, False),
        ({"name": "resnet50_head"}, 600, False),
        ({"name": "mlp"}, 600, True),
    ],
)
def test_a_gpu_is_asked_for_where_it_pays(model, seconds, pays):
    run = {
        "dataset": "mnist",
        "partition": {"law": "iid", "clients": 100},
        "scheme": "none",
        "cohort": "full",
    }
    assert jobs.gpu_pays(Run.model_validate(run | {"model": model}), seconds) == pays


def test_the_papers_ask_for_a_gpu_for_networks_and_not_for_a_layer_on_features():
    asked = plan()
    size = jobs.Sizes(asked, jobs.read_times(ROOT / jobs.INDEX))
    wants = {
        asked.runs[paper][name].model.name: size.wants_gpu(paper, name)
        for paper in asked.runs
        for name in asked.runs[paper]
        if size.seconds(paper, name) > 120
    }
    assert wants == {"bnn": True, "cnn": True, "convnet2": True, "mlp": True, "resnet50_head": False}
    for device, answer in (("cpu", False), ("cuda", True)):
        told = jobs.Sizes(plan(speed={"device": device}), NOTHING)
        assert {told.wants_gpu(PAPER, name) for name in asked.runs[PAPER]} == {answer}


def test_runs_that_share_a_job_are_about_as_long_and_an_hour_together():
    asked = plan()
    size = jobs.Sizes(asked, jobs.read_times(ROOT / jobs.INDEX))
    found = training_jobs(asked, size)
    assert sorted(key.directory("paper") for job in found for key in job.runs) == sorted(
        f"results/paper/{paper}/runs/{run}/seed{seed}"
        for paper in asked.runs
        for run in asked.runs[paper]
        for seed in range(5)
    )
    for job in found:
        took = [size.seconds(key.paper, key.run) for key in job.runs]
        assert max(took) <= 5 * min(took) or max(took) < 60
        assert sum(took) <= 3600 or len(took) == 1
        assert len({size.wants_gpu(key.paper, key.run) for key in job.runs}) == 1
        assert len({key.seed for key in job.runs}) == 1
    assert all(seconds * count <= 3600 for seconds, count in LENGTHS.items() if count > 1)


def test_one_more_seed_makes_more_batches_and_leaves_the_others_as_they_are():
    few, more = (
        {batch for batch in map(str, training_jobs(one, jobs.Sizes(one, NOTHING)))}
        for one in (plan(), plan(seeds=6))
    )
    assert few < more
