"""What a training asks for: minutes of stored runs, memory of what clients send, a GPU where it pays."""

import csv
import json
from functools import cache
from pathlib import Path
from signal import SIGTERM

import pytest

from fedpriv.config import sizes
from fedpriv.config.jobs import LENGTHS, run_rows, training_job, training_jobs
from fedpriv.config.plan import make_plan
from fedpriv.config.run import Run
from fedpriv.config.sizes import weights_mb, work
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


def job(size, *runs, paper=PAPER):
    """Return one job of some runs at seed 0."""
    rows = {row.run: row for row in run_rows(size.plan, size) if row.paper == paper and row.seed == 0}
    return training_job(size.plan, [rows[run] for run in runs])


def index(path, *rows):
    """Write an index of stored runs; what a row does not say is of `NAME` and a number."""
    usual = {"paper": PAPER, "run": NAME, "model": "cnn", "scheme": "client_dp", "examples": 1000}
    with path.open("w", newline="") as file:
        lines = csv.DictWriter(file, sizes.INDEX_COLUMNS)
        lines.writeheader()
        lines.writerows(
            usual | {"identity": number, "core_seconds": 10} | row for number, row in enumerate(rows)
        )
    return sizes.read_times(path)


NOTHING = sizes.Took({}, {})


def test_a_run_takes_the_median_of_its_stored_seeds(tmp_path):
    seeds = plan().identities(PAPER, NAME)
    rows = [{"identity": seeds[seed], "core_seconds": took} for seed, took in ((0, 30), (2, 90), (3, 40))]
    took = index(tmp_path / "index.csv", *rows, {"core_seconds": 7})
    assert sizes.Sizes(plan(), took).known(PAPER, NAME) == 40


@pytest.mark.parametrize(
    ("rows", "rate"),
    [
        ([], sizes.RATE),
        ([{"run": "x", "scheme": "none", "core_seconds": 2}], 500),
        ([{"run": "x", "scheme": "none", "core_seconds": 2}, {"run": "x", "core_seconds": 4}], 250),
        ([{"core_seconds": 2}, {"run": "x", "core_seconds": 4}], 500),
        ([{"core_seconds": 2}, {"core_seconds": ""}], 500),  # the second on a GPU
        ([{"run": "x", "model": "mlp", "core_seconds": 2}], sizes.RATE),
    ],
    ids=["nothing", "model", "scheme", "run", "gpu", "another model"],
)
def test_another_run_takes_its_work_over_the_rate_of_those_most_like_it(rows, rate, tmp_path):
    found = sizes.Sizes(plan(), index(tmp_path / "index.csv", *rows)).known(PAPER, NAME)
    assert found == pytest.approx(work(plan().runs[PAPER][NAME]).passes / rate)


HEAD = ",".join(sizes.INDEX_COLUMNS)
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
    assert sizes.read_times(path) == NOTHING == sizes.read_times(tmp_path / "no.csv")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: found no index of stored runs (")


def test_nobody_knows_how_fast_a_network_of_ones_own_is_before_one_was_stored(tmp_path, monkeypatch):
    (tmp_path / "own_net_of_sizes.py").write_text("import torch\nclass Net(torch.nn.Linear):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = plan(patches={f"{PAPER}/{NAME}": {"model": {"name": "module", "module": "own_net_of_sizes:Net"}}})
    size = sizes.Sizes(own, NOTHING)
    assert size.known(PAPER, NAME) is None and job(size, NAME).minutes == 65
    took = index(tmp_path / "index.csv", {"core_seconds": 2})
    assert sizes.Sizes(own, took).known(PAPER, NAME) == work(own.runs[PAPER][NAME]).passes / 500


def test_a_job_asks_for_the_minutes_of_all_its_runs_and_a_retry_for_more_of_what_was_short(tmp_path):
    took = sizes.Took({seed: 600.0 for seed in plan().identities(PAPER, NAME).values()}, {})
    size, log = sizes.Sizes(plan(), took), tmp_path / "train.log"
    asks = job(size, NAME)._replace(log=str(log))
    assert [asks.asked_minutes(attempt) for attempt in (1, 3)] == [5 + 15, 3 * 20]
    log.write_text(str(Stopped(SIGTERM, "none seed 0: 3 of 9 rounds are saved")))
    assert [asks.asked_minutes(attempt) for attempt in (1, 2, 3)] == [20, 40, 60]
    memory = [asks.asked_mb(attempt) for attempt in (1, 2, 3)]
    assert memory == [memory[0], memory[0], 2 * memory[0]]
    log.write_text("killed by the kernel, which says nothing here")
    assert [asks.asked_minutes(attempt) for attempt in (1, 2, 3)] == [20, 20, 40]
    assert [asks.asked_mb(attempt) for attempt in (1, 2, 3)] == [memory[0], 2 * memory[0], 3 * memory[0]]
    both = job(size, NAME, NAME)
    assert (both.minutes, both.priority) == (5 + 30, 20)
    assert job(sizes.Sizes(plan(speed={"threads": 4}), took), NAME).minutes == 9


def test_memory_grows_with_what_a_round_sends_with_the_input_and_with_the_attempt():
    size, large, small = sizes.Sizes(plan(), NOTHING), "inverted_poisson_n10000", "none_n100"
    sent = weights_mb(plan().runs["global_dp"][large])
    assert 1000 < sent == pytest.approx(4e-6 * 507.5 * 531_400, rel=0.01)
    asks = {names: job(size, *names, paper="global_dp") for names in ((large,), (small,), (small, large))}
    gpu = sizes.CUDA * asks[large,].gpu
    assert asks[large,].mem_mb == pytest.approx(2 * (1000 + 2 * sent) + gpu, abs=1)
    assert asks[large,].asked_mb(3, read=100) == 3 * (asks[large,].mem_mb + 400)
    assert asks[small,].mem_mb < asks[large,].mem_mb == asks[small, large].mem_mb


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
    assert sizes.gpu_pays(Run.model_validate(run | {"model": model}), seconds) == pays


def test_the_papers_ask_for_a_gpu_for_networks_and_not_for_a_layer_on_features():
    asked = plan()
    size = sizes.Sizes(asked, sizes.read_times(ROOT / sizes.INDEX))
    wants = {
        asked.runs[paper][name].model.name: size.wants_gpu(paper, name)
        for paper in asked.runs
        for name in asked.runs[paper]
        if size.seconds(paper, name) > 120
    }
    assert wants == {"bnn": True, "cnn": True, "convnet2": True, "mlp": True, "resnet50_head": False}
    for device, answer in (("cpu", False), ("cuda", True)):
        told = sizes.Sizes(plan(speed={"device": device}), NOTHING)
        assert {told.wants_gpu(PAPER, name) for name in asked.runs[PAPER]} == {answer}


def test_runs_that_share_a_job_are_about_as_long_and_an_hour_together():
    asked = plan()
    size = sizes.Sizes(asked, sizes.read_times(ROOT / sizes.INDEX))
    found = training_jobs(asked, run_rows(asked, size))
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
        {batch for batch in map(str, training_jobs(one, run_rows(one, sizes.Sizes(one, NOTHING))))}
        for one in (plan(), plan(seeds=6))
    )
    assert few < more
