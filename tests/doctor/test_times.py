"""How long a preset takes: its arithmetic with made-up rates, and what is measured."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import tiny

from fedpriv import data
from fedpriv.cli import app
from fedpriv.config.plan import load_preset
from fedpriv.config.run import Run
from fedpriv.data import DATASETS
from fedpriv.data.photographs import Photographs
from fedpriv.doctor import rates, times
from fedpriv.errors import BadInput
from fedpriv.local.engine import LocalEngine
from fedpriv.local.work import Speed

ROOT = Path(__file__).parents[2]
BINARY = {
    "model": {"name": "bnn", "widths": [4, 4, 8]},
    "scheme": {"name": "dpfl_bnn", "gamma": 0.1},
    "local": {"name": "fedavg", "optimizer": "adam", "batch_size": 8, "persistent": True},
}


def run(**changes):
    said = {
        "dataset": "mnist",
        "partition": {"law": "iid", "clients": 1000, "examples": 600, "repeat": True},
        "model": {"name": "cnn", "widths": [8, 16]},
        "scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": 3.0},
        "cohort": {"law": "poisson", "rate": 0.1},
        "rounds": 300,
        "evaluate_every": 5,
        "probe": {"clients": 30},
    }
    return Run.model_validate(said | changes)


@pytest.mark.parametrize(
    ("changes", "trained", "evaluated"),
    [
        ({}, 300 * 100 * 600, 60 * 10_000),
        # Ten are followed in every round, of whom nine were not drawn.
        ({"probe": {"panel": 10}}, 300 * 109 * 600, 60 * 10_000),
        # A tenth of the rounds has the followed client, who then works as its neighbour too.
        ({"probe": {"neighbours": True}}, 300 * 100.1 * 600, 60 * 10_000),
        ({"local": {"name": "fedsgd", "batch_size": 150}}, 300 * 100 * 150, 60 * 10_000),
        ({"local": {"name": "fedavg", "epochs": 2}}, 300 * 100 * 1200, 60 * 10_000),
        ({"local": {"name": "fedavg", "steps": 4, "batch_size": 64}}, 300 * 100 * 256, 60 * 10_000),
        ({"local": {"name": "fedavg", "steps": 4, "batch_size": 700}}, 300 * 100 * 2400, 60 * 10_000),
        ({"rounds": 7, "validation": 500}, 7 * 100 * 600, 2 * 500),
        ({"rounds": 7, "evaluation": {"stride": 4}}, 7 * 100 * 600, 2 * 2_500),
    ],
)
def test_a_run_works_through_its_rounds_cohorts_and_evaluations(changes, trained, evaluated):
    assert times.work(run(**changes)) == pytest.approx((trained, evaluated))


def test_clients_with_weights_of_their_own_are_evaluated_one_by_one():
    binary = BINARY | {"evaluation": {"models": "clients", "stride": 10}, "cohort": {"law": "full"}}
    small = {"partition": {"law": "iid", "clients": 100, "examples": 600}, "rounds": 10}
    assert times.work(run(**binary, **small)) == (10 * 100 * 600, 2 * 100 * 1_000)


def test_a_scheme_that_stops_early_is_timed_as_far_as_it_goes():
    budget = {"epsilon": 1.0, "delta": 1e-5}
    stops = {"name": "global_dp", "clip": 1.0, "noise_multiplier": 3.0, "budget": budget}
    stopped = run(scheme=stops)
    rounds = stopped.scheme.horizon(stopped.cohort, 1000, 300)
    assert 0 < rounds < 300
    assert times.work(stopped).trained == pytest.approx(rounds * 100 * 600)


@pytest.fixture
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tiny.lay(tmp_path)


def test_what_is_reckoned_is_what_training_does(here, monkeypatch):
    tiny.patch(here, rounds=5, evaluate_every=2, cohort={"rate": 1.0})
    counted = [0, 0]
    train, logits = LocalEngine.train_clients, LocalEngine.logits

    def counted_train(engine, work, flat, clients, *others, **named):
        counted[0] += sum(len(client.rows) for client in clients)
        return train(engine, work, flat, clients, *others, **named)

    def counted_logits(engine, flat, inputs):
        counted[1] += len(inputs)
        return logits(engine, flat, inputs)

    monkeypatch.setattr(LocalEngine, "train_clients", counted_train)
    monkeypatch.setattr(LocalEngine, "logits", counted_logits)
    assert app.main(tiny.RUN) == 0
    (planned,) = load_preset(here / "config/tiny.yaml").all_runs()
    # Two shards of five a client; of the digits a fifth is tested on.
    assert counted == [5 * 4 * 10, 3 * times.SIZES["digits"].test]
    assert times.work(planned).evaluated == counted[1]


def test_the_time_of_a_preset_is_that_of_its_runs_at_all_seeds(here):
    tiny.write(here / "config/tiny.yaml", tiny.PRESET | {"seeds": 3})
    plan = load_preset(here / "config/tiny.yaml")
    (work,) = map(times.work, plan.all_runs())
    rates = times.Rates(trained=10.0, evaluated=40.0)
    expected = 3 * (work.trained / 10 + work.evaluated / 40)
    assert times.seconds(plan, lambda run, speed: rates) == pytest.approx(expected)
    finding = times.finding(plan, lambda run, speed: rates, "on an abacus", ())
    assert finding.name == "time tiny" and finding.text.endswith(" on an abacus: 3 trainings")


def test_the_time_that_is_left_is_that_of_what_is_not_kept(here):
    tiny.write(here / "config/tiny.yaml", tiny.PRESET | {"seeds": 3})
    plan = load_preset(here / "config/tiny.yaml")
    rates = times.Rates(trained=1e-2, evaluated=4e-2)
    (((name, run),),) = (runs.items() for runs in plan.runs.values())
    kept = {run.identity(name, 1), "of another run"}
    whole, left = (times.seconds(plan, lambda *_: rates, some) for some in ((), kept))
    assert left == pytest.approx(2 / 3 * whole)
    finding = times.finding(plan, lambda *_: rates, "here", kept)
    ends = f"3 trainings; {times.duration(left)} without the 1 that are stored"
    assert finding.text == f"{times.duration(whole)} here: {ends}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (119, "119 s"),
        (120, "2.0 min"),
        (7199, "120 min"),
        (39_600, "11 h"),
        (864_000, "10 days"),
    ],
)
def test_a_time_is_said_in_the_largest_unit_of_which_there_are_two(seconds, words):
    assert times.duration(seconds) == words


def test_the_size_of_every_dataset_is_known_and_that_of_bundled_ones_right(tmp_path):
    assert set(times.SIZES) == set(DATASETS)
    digits = data.arrays.load(data.prepare("digits", tmp_path, ()))
    assert times.SIZES["digits"][:2] == (digits.classes, len(digits.y_test))
    for name, dataset in DATASETS.items():
        if isinstance(dataset, Photographs):
            assert times.SIZES[name][:2] == (dataset.classes, dataset.test_rows)


def test_runs_whose_clients_do_the_same_work_share_a_measurement():
    same = run(server={"learning_rate": 7.0}, cohort={"law": "full"}, rounds=3)
    others = [
        run(model={"name": "cnn", "widths": [4, 8]}),
        run(local={"name": "fedsgd", "batch_size": 150}),
        run(partition={"law": "iid", "clients": 100, "examples": 60}),
        run(**BINARY, cohort={"law": "full"}),
    ]
    kinds = [rates.kind_of(one, Speed()) for one in (run(), same, *others)]
    assert kinds[0] == kinds[1] and len(set(kinds)) == 1 + len(others)
    assert rates.kind_of(run(), Speed(dtype="bfloat16")) != kinds[0]


def test_every_kind_of_work_of_the_demo_can_be_measured_and_is_once(monkeypatch):
    monkeypatch.setattr(rates, "EXAMPLES", 50)
    monkeypatch.setattr(rates, "TESTED", 50)
    asked = []
    measure = rates.measure
    monkeypatch.setattr(rates, "measure", lambda *given: asked.append(given) or measure(*given))
    plan, watch = load_preset(ROOT / "config/demo.yaml"), rates.Stopwatch(seconds=0)
    assert all(min(watch(one, Speed(device="cpu"))) > 0 for one in plan.all_runs())
    assert len(asked) == len({rates.kind_of(one, Speed(device="cpu")) for one in plan.all_runs()}) > 5


def test_the_doctor_says_it_when_asked(here, monkeypatch, capsys):
    monkeypatch.setattr(rates, "SECONDS", 0.0)
    assert app.main(["doctor", "--time", "config", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["time tiny"]["state"] == "ok" and "1 trainings" not in found["time tiny"]["text"]
    assert app.main(["doctor", "--json"]) == 0
    assert "time tiny" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("place", ["nowhere", "config/papers"])
def test_a_place_without_presets_is_refused_in_one_line(place, here, capsys):
    assert app.main(["doctor", "--time", place]) == 2
    assert f"{place}: found no preset, allowed: one, or a folder" in capsys.readouterr().err


def test_one_preset_is_taken_by_its_name(here):
    assert times.presets(Path("config/tiny.yaml")) == times.presets(Path("config"))
    with pytest.raises(BadInput, match="no such"):
        times.presets(Path("no such"))


def test_rates_are_measured_on_images_as_dark_as_digits():
    lit = rates.made_up(run(), np.random.default_rng(0)) > 0
    assert float(lit.float().mean()) == pytest.approx(0.2, abs=0.01)
