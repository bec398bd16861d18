"""What a run works through, reckoned before it starts, and held against what training does."""

from pathlib import Path

import pytest
from support import tiny

from fedpriv import data
from fedpriv.cli import app
from fedpriv.config.files import audited_runs
from fedpriv.config.plan import load_preset
from fedpriv.config.run import Run
from fedpriv.config.sizes import SIZES, work
from fedpriv.data import DATASETS
from fedpriv.data.photographs import Photographs
from fedpriv.local.threads import CpuBackend


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
        ({"local": {"name": "fedavg", "steps": 4, "batch_size": 64}}, 300 * 100 * 256, 60 * 10_000),
        ({"local": {"name": "fedavg", "steps": 4, "batch_size": 700}}, 300 * 100 * 2400, 60 * 10_000),
        ({"rounds": 7, "validation": 500}, 7 * 100 * 600, 2 * 500),
        ({"rounds": 7, "evaluation": {"stride": 4}}, 7 * 100 * 600, 2 * 2_500),
    ],
)
def test_a_run_works_through_its_rounds_cohorts_and_evaluations(changes, trained, evaluated):
    assert work(run(**changes)) == pytest.approx((trained, evaluated))


def test_a_scheme_that_stops_early_is_timed_as_far_as_it_goes():
    budget = {"epsilon": 1.0, "delta": 1e-5}
    stops = {"name": "global_dp", "clip": 1.0, "noise_multiplier": 3.0, "budget": budget}
    stopped = run(scheme=stops)
    rounds = stopped.scheme.horizon(stopped.cohort, 1000, 300)
    assert 0 < rounds < 300
    assert work(stopped).trained == pytest.approx(rounds * 100 * 600)


def test_what_is_reckoned_is_what_training_does(here, monkeypatch):
    tiny.patch(here, rounds=5, evaluate_every=2, cohort={"rate": 1.0})
    counted = [0, 0]
    train, logits = CpuBackend.train_clients, CpuBackend.logits

    def counted_train(engine, work, flat, clients, *others, **named):
        counted[0] += sum(len(client.rows) for client in clients)
        return train(engine, work, flat, clients, *others, **named)

    def counted_logits(engine, flat, inputs):
        counted[1] += len(inputs)
        return logits(engine, flat, inputs)

    monkeypatch.setattr(CpuBackend, "train_clients", counted_train)
    monkeypatch.setattr(CpuBackend, "logits", counted_logits)
    assert app.main(tiny.RUN) == 0
    (planned,) = load_preset(here / "config/tiny.yaml").all_runs()
    # Two shards of five a client; of the digits a fifth is tested on.
    assert counted == [5 * 4 * 10, 3 * SIZES["digits"].test]
    assert work(planned).evaluated == counted[1]


def test_the_size_of_every_dataset_is_known_and_that_of_bundled_ones_right(tmp_path):
    assert set(SIZES) == set(DATASETS)
    digits = data.arrays.load(data.prepare_arrays("digits", tmp_path, ()))
    assert SIZES["digits"].test == len(digits.y_test)
    for name, dataset in DATASETS.items():
        if isinstance(dataset, Photographs):
            assert SIZES[name].test == dataset.test_rows


def test_a_run_is_attacked_where_an_audit_or_a_claim_on_a_lower_bound_reads_what_is_found():
    plan = load_preset(Path("config/readings.yaml"))
    (name, paper), *_ = plan.papers.items()
    asked = [one for one in paper.claims if "lower_bound" in one.check]
    wanted = {run for one in asked for run in one.cases.values()}
    assert {key.run for key in audited_runs(plan, name, asked)} == wanted < set(paper.runs)
    audits = [one for one in paper.tables.values() if one.kind == "audits"]
    assert {key.run for key in audited_runs(plan, name, audits)} == {
        run for one in audits for run in one.runs()
    }
    others = [one for one in paper.tables.values() if one.kind != "audits"]
    assert audited_runs(plan, name, others) == [] and len(audited_runs(plan, name)) < len(plan.keys(name))
