"""Figures of what γ costs a bit, of accuracy against a number of the config, and of drawn clients."""

from pathlib import Path

import numpy as np
import pytest
from support.made_runs import write_run

from fedpriv.paper.figures import PythonFigure, RoundsFigure
from fedpriv.report.collect import collect
from fedpriv.report.figures import caption, draw_figure
from fedpriv.report.figures.notes import content
from fedpriv.report.results import load_results

GAMMAS = {"none": 0.5, "tenth": 0.1, "again": 0.1}
PAPERS = Path(__file__).parents[2] / "config/papers"
DIVERGENCE = PythonFigure.model_validate(
    {
        "title": "Privacy loss of one bit",
        "place": "Figure 2",
        "function": "figure2",
        "lines": {run: run for run in (*GAMMAS, "missing")},
    }
)
SWEEP = PythonFigure.model_validate(
    {
        "title": "Accuracy against ε/c",
        "function": "sweep",
        "lines": {
            "none": "no noise",
            **{"e10": "document", "e100": "document", "e1000": "document", "r10": "repository"},
        },
    }
)
DIVERGENCE.find(PAPERS / "dpfl_bnn2023/figures.py", "figure2")
SWEEP.find(PAPERS / "nbafl/figures.py", "sweep")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the collected runs: three of bits, two of noisy uploads, two seeds each."""
    folder = tmp_path_factory.mktemp("figures")
    made = [
        write_run(folder, run, seed, scheme="dpfl_bnn", drawn=0.99, facts={"gamma": gamma})
        for run, gamma in GAMMAS.items()
        for seed in range(2)
    ]
    made += [
        write_run(
            folder, f"e{epsilon}", seed, scheme="nbafl", final=final, config={"scheme": {"epsilon": epsilon}}
        )
        for epsilon, final in ((10, 0.4), (100, 0.7))
        for seed in range(2)
    ]
    return load_results(collect(made, folder))


def words_of(results, declared) -> str:
    """Return what stands beside a figure."""
    return " ".join(
        [caption(results, declared, draw_figure(results, declared)), *content(results, declared, "")["notes"]]
    )


def test_the_divergence_is_drawn_for_every_gamma_below_one_half(results):
    gammas, heights = draw_figure(results, DIVERGENCE).axes[0].get_lines()[0].get_data()
    assert gammas[0] == 0 and heights[0] == pytest.approx(0) and 0.49 < gammas[-1] < 0.5
    assert np.interp([0.1, 0.2, 0.3, 0.4], gammas, heights) == pytest.approx(
        [0.154, 0.566, 1.179, 2.093], abs=1e-3
    )


def test_every_gamma_that_flips_bits_is_one_labelled_point(results):
    figure = draw_figure(results, DIVERGENCE)
    (axes,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["γ = 0.1: 0.154"]
    _, point = axes.get_lines()
    assert [float(one[0]) for one in point.get_data()] == pytest.approx([0.1, 0.1542], abs=1e-3)
    assert "Not run in this preset: missing." in words_of(results, DIVERGENCE)


def test_a_run_of_a_sweep_stands_where_its_config_says_relative_to_that_without_noise(results):
    axes = draw_figure(results, SWEEP).axes[0]
    points, published = axes.get_lines()[0], axes.get_lines()[-1]
    places, accuracies = points.get_data()
    assert axes.get_xscale() == "log"
    assert np.array(places) == pytest.approx([10, 100], rel=0.05)
    assert np.array(accuracies) == pytest.approx([100 * 40.05 / 90.05, 100 * 70.05 / 90.05])
    assert "Not run in this preset: document; repository." in words_of(results, SWEEP)
    places, relative = published.get_data()
    assert list(places) == [3.333, 5, 10, 16.67, 25, 33.33, 50, 50, 100]
    assert 0.8058 * np.array(relative) == pytest.approx(
        [11.73, 24.82, 41.71, 54.85, 67.98, 74.8, 80.39, 80.58, 80.58]
    )


def test_curves_may_be_of_drawn_clients(results):
    said = {"title": "Accuracy", "panels": {"all": "Clients"}}
    lines = {"tenth": "γ = 0.1", "e10": "on the server"}
    everyone, drawn = (
        RoundsFigure.model_validate(said | {"lines": lines, "quantity": quantity})
        for quantity in ("accuracy", "drawn_accuracy")
    )
    (axes,) = draw_figure(results, drawn).axes
    bits, server = (line.get_ydata() for line in axes.get_lines() if not line.get_label().startswith("_"))
    assert bits.max() == pytest.approx(99) and server.max() == pytest.approx(40.05)
    assert draw_figure(results, everyone).axes[0].get_lines()[0].get_ydata().max() == pytest.approx(90.05)
    assert "of clients drawn with replacement" in words_of(results, drawn)
    assert "the mean over all clients' own weights" in words_of(results, drawn)


def test_every_epsilon_of_bits_has_a_line_of_its_own(results):
    selectors = ["bit exact", "bit rdp", "bit theorem", "bits rdp"]
    said = {"title": "Every ε", "quantity": "epsilon", "run": "tenth", "panels": {"": "γ = 0.1"}}
    declared = RoundsFigure.model_validate(said | {"accountants": selectors})
    (axes,) = draw_figure(results, declared).axes
    looks = {line.get_label(): (line.get_marker(), line.get_fillstyle()) for line in axes.get_lines()}
    assert set(selectors) <= set(looks) and len({looks[selector] for selector in selectors}) == len(selectors)
    assert "never a guarantee" not in words_of(results, declared)


def test_what_is_published_of_another_metric_stands_across_as_it_is_printed(tmp_path):
    made = write_run(tmp_path, "text", 0, scheme="none", facts={"test_perplexity": 16.0, "test_auroc": 0.8})
    for quantity, value, text in (("perplexity", 15.5, "paper, 15.5"), ("auroc", 0.83, "paper, 83")):
        panel = {"title": "", "published": {"paper": value}}
        said = {"title": "T", "quantity": quantity, "run": "text", "panels": {"": panel}}
        figure = draw_figure(load_results(collect([made], tmp_path)), RoundsFigure.model_validate(said))
        assert [one.get_text() for one in figure.axes[0].texts] == [text]
