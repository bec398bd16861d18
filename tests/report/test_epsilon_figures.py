"""Figures of ε: how it grows, and what it leaves to an attacker."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.made_runs import ROUNDS, write_run

from fedpriv.paper.figures import PythonFigure, RoundsFigure
from fedpriv.report.collect import collect
from fedpriv.report.figures import caption, draw_figure
from fedpriv.report.figures.notes import content
from fedpriv.report.results import load_results

ACCOUNTANTS = {
    "sequential": "sequential bayesian product remove_sum",
    "parallel": "parallel bayesian product remove_sum",
}
GROWTH = RoundsFigure.model_validate(
    {
        "title": "Growth",
        "quantity": "growth",
        "place": "Figure 1",
        "run": "{line}",
        "lines": {"n100": "100 clients", "n1000": "1,000 clients"},
        "accountants": ACCOUNTANTS,
        "panels": {"photos": "Photographs"},
    }
)
ATTACKER = PythonFigure.model_validate(
    {
        "title": "What ε leaves",
        "place": "eq. (1)",
        "function": "equation1",
        "lines": {"n100": "", "missing": "of no run"},
        "accountants": {
            "sequential": "sequential moments C",
            "parallel": "parallel moments 2C",
            "of no ledger": "sum moments C",
        },
    }
)
ATTACKER.find(Path(__file__).parents[2] / "config/papers/bdp2019/figures.py", "equation1")


@pytest.fixture(scope="module")
def instance_results(tmp_path_factory):
    """Return the results of 100 clients, three seeds."""
    folder = tmp_path_factory.mktemp("instance")
    runs = [write_run(folder, "n100", seed, scheme="instance", scale=1 + seed / 10) for seed in range(3)]
    return load_results(collect(runs, folder))


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def words_of(results, declared):
    """Return what stands beside a figure."""
    return " ".join([caption(results, declared), *content(results, declared, "")["notes"]])


def test_growth_is_the_mean_over_seeds_of_what_was_spent_after_the_first_round(instance_results):
    axes = draw_figure(instance_results, GROWTH).axes[0]
    rounds, grown = lines_of(axes)["100 clients, parallel"].get_data()
    assert list(rounds) == list(range(2, ROUNDS + 1)) and axes.get_yscale() == "log"
    assert grown == pytest.approx(1.1 * 2.0 * (np.sqrt(np.array(rounds) / ROUNDS) - np.sqrt(1 / ROUNDS)))


def test_the_lines_of_one_run_have_one_colour_and_different_dashes(tmp_path):
    runs = [
        write_run(tmp_path, f"n{clients}", 0, scheme="instance", clients=clients) for clients in (100, 1000)
    ]
    lines = list(lines_of(draw_figure(load_results(collect(runs, tmp_path)), GROWTH).axes[0]).values())
    colours = [line.get_color() for line in lines]
    dashes = [line.get_linestyle() for line in lines]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert dashes[0] == dashes[2] != dashes[1] == dashes[3]


def test_rounds_in_which_nothing_grew_have_no_place_on_the_axis(instance_results):
    epsilons = instance_results.epsilons
    least = epsilons["epsilon"].where(epsilons["round"] > 5, epsilons["epsilon"].min())
    flat = replace(instance_results, epsilons=epsilons.assign(epsilon=least))
    rounds, grown = lines_of(draw_figure(flat, GROWTH).axes[0])["100 clients, parallel"].get_data()
    assert list(rounds) == list(range(6, ROUNDS + 1)) and (grown > 0).all()


def test_the_accuracy_of_an_attacker_is_that_of_the_equation(instance_results):
    axes = draw_figure(instance_results, ATTACKER).axes[0]
    curve = axes.get_lines()[0]
    epsilons, accuracy = curve.get_data()
    assert accuracy == pytest.approx(1 / (1 + np.exp(-np.array(epsilons))))
    assert (epsilons[0], epsilons[-1]) == (0, pytest.approx(11))  # beyond the 9.9 that a run spent


def test_runs_stand_on_the_curve_where_they_ended(instance_results):
    points = lines_of(draw_figure(instance_results, ATTACKER).axes[0])
    assert list(points) == ["sequential: ε = 0.22†, 55.5 %", "parallel: ε = 9.90, > 99.9 %"]
    for point, epsilon in zip(points.values(), (0.22, 9.9), strict=True):
        x, y = point.get_data()
        assert (x[0], y[0]) == (pytest.approx(epsilon), pytest.approx(1 / (1 + np.exp(-epsilon))))


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (GROWTH, "ε₁, what the first round cost, is subtracted"),
        (
            GROWTH,
            "(parallel bayesian, product, remove_sum): example-level, add-or-remove neighbours, Poisson",
        ),
        (GROWTH, "an estimate, never a guarantee"),
        (GROWTH, "Sequential accounting supposes that nobody knows"),
        (ATTACKER, "parallel (parallel moments, sensitivity 2C): example-level, replace-one neighbours"),
        (ATTACKER, "preset: of no run, sequential; of no run, parallel; of no run, of no ledger."),
        (ATTACKER, "Not in the ledger: of no ledger (sum moments, sensitivity C)."),
    ],
    ids=str,
)
def test_what_is_drawn_is_said_with_its_meaning_and_what_is_missing_is_named(
    instance_results, declared, words
):
    assert words in words_of(instance_results, declared)
