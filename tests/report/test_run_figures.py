"""Figures of what γ costs a bit, of accuracy against a number of the config, and of drawn clients."""

import numpy as np
import pytest
from made_runs import write_run
from matplotlib import pyplot as plt

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.report.collect import collect, load
from fedpriv.report.declared_figures import CurvesFigure, DivergenceFigure, EpsilonsFigure, SweepFigure
from fedpriv.report.figures import draw, write

GAMMAS = {"none": 0.5, "tenth": 0.1, "again": 0.1}
DIVERGENCE = DivergenceFigure.model_validate(
    {
        "title": "Privacy loss of one bit",
        "place": "Figure 2",
        "lines": [{"run": run, "label": run} for run in (*GAMMAS, "missing")],
    }
)
SWEEP = SweepFigure.model_validate(
    {
        "title": "Accuracy against ε/c",
        "panels": [
            {
                "title": "FEMNIST",
                "axis": "ε/c",
                "along": "scheme.epsilon",
                "per": "scheme.constant",
                "series": [
                    {"label": "document", "runs": ["e10", "e100", "e1000"]},
                    {"label": "repository", "runs": ["r10"]},
                ],
                "published": [{"at": 100, "value": 0.8058}, {"at": 10, "value": 0.4171}],
            }
        ],
    }
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
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
    return collect(made, folder / "runs.parquet")


@pytest.fixture(scope="module")
def frame(runs):
    return load(runs)


def words_of(figure) -> str:
    return " ".join(figure.texts[-1].get_text().split())


@pytest.mark.parametrize("declared", [DIVERGENCE, SWEEP], ids=lambda declared: declared.kind)
def test_a_figure_is_a_pdf_and_a_png_the_same_for_the_same_runs(runs, declared, tmp_path):
    first, second = (write(runs, declared, tmp_path / name / "figure") for name in ("a", "b"))
    assert [path.suffix for path in first] == [".pdf", ".png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_divergence_is_drawn_for_every_gamma_below_one_half(frame):
    gammas, heights = draw(frame, DIVERGENCE).axes[0].get_lines()[0].get_data()
    assert gammas[0] == 0 and heights[0] == pytest.approx(0) and 0.49 < gammas[-1] < 0.5
    assert np.interp([0.1, 0.2, 0.3, 0.4], gammas, heights) == pytest.approx(
        [0.154, 0.566, 1.179, 2.093], abs=1e-3
    )


def test_every_gamma_that_flips_bits_is_one_labelled_point(frame):
    figure = draw(frame, DIVERGENCE)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["γ = 0.1: 0.154"]
    _, point = axes.get_lines()
    assert [float(one[0]) for one in point.get_data()] == pytest.approx([0.1, 0.1542], abs=1e-3)
    assert "ρ is the divergence of one bit in one round" in words_of(figure)
    assert "Not run in this preset: missing." in words_of(figure)


def test_the_curve_of_the_divergence_needs_no_run(frame):
    alone = DIVERGENCE.model_copy(update={"lines": ()})
    (curve,) = draw(frame, alone).axes[0].get_lines()
    assert len(curve.get_xdata()) > 100


def test_a_divergence_of_another_order_says_so(frame):
    axes = draw(frame, DIVERGENCE.model_copy(update={"order": 4.0})).axes[0]
    assert axes.get_ylabel() == "ρ(4)"


def test_a_run_of_a_sweep_stands_where_its_config_says(frame):
    axes = draw(frame, SWEEP).axes[0]
    points, published = axes.get_lines()[0], axes.get_lines()[-1]
    places, accuracies = points.get_data()
    assert axes.get_xscale() == "log"
    assert np.array(places) == pytest.approx([10, 100], rel=0.05)
    assert np.array(accuracies) == pytest.approx([40.05, 70.05])
    assert [list(values) for values in published.get_data()] == [[10, 100], pytest.approx([41.71, 80.58])]


def test_what_a_sweep_lacks_is_named_once_a_series(frame):
    notes = words_of(draw(frame, SWEEP))
    assert "Not run in this preset: FEMNIST: document (in part); FEMNIST: repository." in notes
    assert "Gaussian noise (nbafl): on uploads of std 0.004 at least" in notes


def test_one_seed_is_a_point_without_an_interval(frame):
    one = frame.loc[frame["seed"] == 0]
    axes = draw(one, SWEEP).axes[0]
    (bars,) = axes.containers[0].lines[2]
    assert all(np.ptp(segment[:, 1]) == 0 for segment in bars.get_segments())


def test_curves_may_be_of_drawn_clients(frame):
    lines = [{"run": "tenth", "label": "γ = 0.1"}, {"run": "e10", "label": "on the server"}]
    panels = [
        {"title": "all clients", "lines": lines},
        {"title": "drawn clients", "measure": "drawn", "lines": lines},
    ]
    figure = draw(frame, CurvesFigure.model_validate({"title": "Accuracy", "panels": panels}))
    everyone, drawn = figure.axes[:2]
    bits, server = (line.get_ydata() for line in drawn.get_lines() if not line.get_label().startswith("_"))
    assert bits.max() == pytest.approx(99) and server.max() == pytest.approx(40.05)
    assert everyone.get_lines()[0].get_ydata().max() == pytest.approx(90.05)
    assert drawn.get_ylabel() == "Accuracy of drawn clients (%)"
    assert "the mean over all clients' own weights" in words_of(figure)


def test_every_epsilon_of_bits_has_a_line_of_its_own(frame):
    spends = ["bit exact", "bit rdp", "bit theorem", "bits rdp"]
    panels = [{"title": "γ = 0.1", "run": "tenth", "spends": spends}]
    figure = draw(frame, EpsilonsFigure.model_validate({"title": "Every ε", "panels": panels}))
    looks = {(line.get_color(), line.get_marker()) for line in figure.axes[0].get_lines()}
    assert len(looks) == len(spends)
    assert "never a guarantee" not in words_of(figure)


def test_a_panel_of_a_sweep_needs_runs():
    with pytest.raises(BadInput, match="series"):
        parse(
            SweepFigure.model_validate,
            {"title": "t", "panels": [SWEEP.panels[0].model_dump() | {"series": []}]},
            "x",
        )
