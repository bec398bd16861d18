"""Accuracies are read at the last evaluated round that the budget affords."""

from dataclasses import replace

import numpy as np
import pytest
from support.made_runs import EPSILONS, ROUNDS, write_run

from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results

MOMENTS = EpsilonSelector(accountant="moments")
SUM = EpsilonSelector(accountant="moments", accounting="sum")
SEQUENTIAL = EpsilonSelector(accountant="moments", accounting="sequential")
TOTAL = EPSILONS["moments", "", "", "C", ""]


@pytest.mark.parametrize("budget, round", [(TOTAL, 20), (6.0, 10), (3.0, 2), (7.9, 18)])
def test_within_a_budget_the_last_evaluated_affordable_round_is_read(results, budget, round):
    read = results.run("n100_dp").within((MOMENTS, budget))
    assert list(read["round"]) == [round] * 3
    assert read["value"].tolist() == pytest.approx(
        [(0.9 + seed / 1000) * round / ROUNDS for seed in range(3)]
    )


def test_a_budget_that_affords_no_evaluated_round_reads_nothing_for_any_seed(results):
    read = results.run("n100_dp").within((MOMENTS, 2.0))  # round 1 costs 1.79, and it was not evaluated
    assert len(read) == 3 and read.isna().all(axis=None)


def test_training_stops_when_the_budget_is_first_exceeded(results):
    epsilons = results.epsilons
    # An estimate may fall again; a stopped run does not go on.
    falls = epsilons["epsilon"].where(epsilons["round"] < ROUNDS, 0.0)
    late = replace(results, epsilons=epsilons.assign(epsilon=falls))
    assert list(late.run("n100_dp").within((MOMENTS, 6.0))["round"]) == [10] * 3


@pytest.mark.parametrize(
    "client, instance, round", [(1.0, 0.1, 4), (0.8, 0.1, 4), (0.8, 1.0, 4), (1.6, 0.2, 20)]
)
def test_within_several_budgets_the_first_that_is_exceeded_ends_the_reading(
    joint_results, client, instance, round
):
    read = joint_results.run("photos_dp").within((SUM, client), (SEQUENTIAL, instance))
    assert list(read["round"]) == [round] * 3
    other_way = joint_results.run("photos_dp").within((SEQUENTIAL, instance), (SUM, client))
    assert other_way.equals(read)


def test_growth_starts_at_nothing_after_the_first_round(results):
    grown = results.run("n100_dp").growth(MOMENTS)
    assert grown.shape == (ROUNDS, 3) and (grown.iloc[0] == 0).all()
    assert grown.iloc[-1].tolist() == pytest.approx([TOTAL * (1 - np.sqrt(1 / ROUNDS))] * 3)


def test_the_best_round_of_drawn_clients_is_chosen_by_each_seed(tmp_path):
    runs = [
        write_run(tmp_path, "bits", seed, scheme="dpfl_bnn", drawn=drawn)
        for seed, drawn in enumerate((0.95, 0.5))
    ]
    read = load_results(collect(runs, tmp_path)).run("bits").best_drawn()
    assert read["round"].tolist() == [10, ROUNDS]
    assert read["value"].tolist() == pytest.approx([0.95, 0.901])


def test_where_no_clients_were_drawn_the_server_is_read_at_its_best_round(results):
    assert results.run("n100_none").best_drawn().equals(results.run("n100_none").last())


def test_epsilon_is_read_at_each_seeds_own_round(results):
    rounds = results.run("n100_dp").within((MOMENTS, 6.0))["round"]
    rounds.loc[1] = 5
    found = results.run("n100_dp").epsilon(EpsilonSelector(accountant="rdp"), rounds)
    assert found.tolist() == pytest.approx([7 * np.sqrt(round / ROUNDS) for round in (10, 5, 10)])


def test_a_spend_reads_only_its_own_lines(results):
    for key, epsilon in EPSILONS.items():
        selector = EpsilonSelector(**dict(zip(SELECTOR_COLUMNS, key, strict=True)))
        rows = results.run("n100_dp").ledger(selector)
        assert len(rows) == 3 * ROUNDS
        assert rows["epsilon"].max() == pytest.approx(epsilon)


def test_rounds_without_noise_afford_nothing(tmp_path):
    run = write_run(tmp_path, "n100_dp", 0, scheme="client_dp", scale=np.inf)
    results = load_results(collect([run], tmp_path))
    assert results.run("n100_dp").within((MOMENTS, 1e9)).isna().all(axis=None)
