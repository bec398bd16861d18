"""Figures draw what was run, and the same runs give the same picture."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.report.curves import apart, exhausted
from fedpriv.report.declared_figures import CurvesFigure, EpsilonsFigure, Exhausted
from fedpriv.report.figures import draw, write

CURVES = CurvesFigure.model_validate(
    {
        "title": "Accuracy",
        "panels": [
            {
                "title": f"{clients} clients",
                "lines": [
                    {"run": f"n{clients}_none", "label": "no privacy"},
                    {"run": f"n{clients}_dp", "label": "client privacy"},
                ],
                "published": [{"label": "DP", "value": 0.78}, {"label": "BDP", "value": 0.8}],
                "budgets": [{"run": f"n{clients}_dp", "label": "DP", "spend": "moments C", "epsilon": 6}],
            }
            for clients in (100, 1000)
        ],
    }
)
EPSILONS = EpsilonsFigure.model_validate(
    {
        "title": "Every ε",
        "panels": [
            {
                "title": "100 clients",
                "run": "n100_dp",
                "spends": ["moments C", "moments 2C", "bayesian product remove_mean"],
            }
        ],
    }
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("declared", [CURVES, EPSILONS], ids=lambda declared: declared.kind)
def test_a_figure_is_a_pdf_and_a_png_the_same_for_the_same_runs(runs, declared, tmp_path):
    first, second = (write(runs, declared, tmp_path / name / "figure") for name in ("a", "b"))
    assert [path.suffix for path in first] == [".pdf", ".png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert first[0].read_bytes().startswith(b"%PDF") and first[1].read_bytes().startswith(b"\x89PNG")


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def words_of(figure):
    """Return what the notes say, however they are wrapped."""
    return " ".join(figure.texts[-1].get_text().split())


def test_a_curve_is_the_mean_over_seeds_in_percent(frame):
    lines = lines_of(draw(frame, CURVES).axes[0])
    assert list(lines) == ["no privacy", "client privacy"]
    rounds, accuracy = lines["client privacy"].get_data()
    assert list(rounds) == list(range(2, 21, 2))
    assert accuracy == pytest.approx(100 * 0.901 * np.array(rounds) / 20)


def test_a_panel_that_was_not_run_is_left_out_and_named_in_the_notes(frame):
    figure = draw(frame, CURVES)
    panel, _ = figure.axes
    assert panel.get_lines()
    assert f"Not run in this preset: {CURVES.panels[1].title}." in words_of(figure)


def test_a_line_that_was_not_run_is_left_out_and_named_in_the_notes(frame):
    data = CURVES.panels[0].model_dump()
    data["lines"] = [*data["lines"], {"run": "n100_joint", "label": "both levels"}]
    figure = draw(frame, CURVES.model_validate(CURVES.model_dump() | {"panels": [data]}))
    assert list(lines_of(figure.axes[0])) == ["no privacy", "client privacy"]
    assert "Not run in this preset: 100 clients: both levels." in words_of(figure)


@pytest.mark.parametrize(
    "place, title",
    [
        ("Figure 2", "Figure 2. Accuracy"),
        ("eq. (1)", "Eq. (1). Accuracy"),
        ("ours, beside Table I", "Accuracy"),
    ],
)
def test_the_title_names_the_figure_that_is_reproduced(frame, place, title):
    figure = draw(frame, CURVES.model_copy(update={"place": place}))
    assert figure.get_suptitle() == title


def test_the_legend_and_the_notes_stay_within_the_figure(frame):
    data = CURVES.panels[0].model_dump()
    data["lines"] = [
        {"run": run, "label": f"{run}, one of several long labels, {number}"}
        for number in range(2)
        for run in ("n100_none", "n100_dp")
    ]
    figure = draw(frame, CURVES.model_validate(CURVES.model_dump() | {"panels": [data]}))
    figure.canvas.draw()
    panel, legend = figure.axes
    boxes = [one.get_window_extent() for one in (*figure.texts, legend.get_legend())]
    for box in boxes:
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
        assert box.y0 >= 0 and box.y1 <= figure.bbox.height
    title, notes, legend = boxes
    assert title.y0 > panel.get_window_extent().y1 and legend.y0 > notes.y1


def test_a_figure_of_which_nothing_was_run_says_so(frame):
    nothing = CURVES.model_copy(update={"panels": CURVES.panels[1:]})
    panel = draw(frame, nothing).axes[0]
    assert [text.get_text() for text in panel.texts] == ["not run"] and not panel.get_lines()


def test_guarantees_are_solid_estimates_dashed_and_the_axis_is_logarithmic(frame):
    axes = draw(frame, EPSILONS).axes[0]
    styles = {label: line.get_linestyle() for label, line in lines_of(axes).items()}
    assert styles == {
        "moments, sensitivity C": "-",
        "moments, sensitivity 2C": "-",
        "bayesian, product, remove_mean (estimate)": "--",
    }
    assert axes.get_yscale() == "log"


def test_lines_of_the_same_sensitivity_have_the_same_marker(frame):
    lines = lines_of(draw(frame, EPSILONS).axes[0])
    markers = {label: line.get_marker() for label, line in lines.items()}
    assert markers["moments, sensitivity 2C"] == markers["bayesian, product, remove_mean (estimate)"]
    assert markers["moments, sensitivity C"] != markers["moments, sensitivity 2C"]


def test_the_legend_covers_no_curve(frame):
    figure = draw(frame, CURVES)
    assert all(axes.get_legend() is None for axes in figure.axes[:1])
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == [
        "no privacy",
        "client privacy",
    ]


@pytest.mark.parametrize("epsilon, round", [(6.0, 11), (2.0, 1), (8.5, None)])
def test_a_budget_is_exhausted_after_the_last_round_that_it_affords(frame, epsilon, round):
    budget = Exhausted.model_validate(
        {"run": "n100_dp", "label": "DP", "spend": "moments C", "epsilon": epsilon}
    )
    assert exhausted(frame, budget) == round


def test_labels_are_moved_apart_and_keep_their_order():
    heights = apart([98.0, 95.0, 96.0, 50.0])
    assert heights[0] > heights[2] > heights[1] > heights[3] == 50.0
    assert np.diff(sorted(heights)).min() >= 6.5


def test_the_epsilons_of_one_panel_are_of_one_accounting():
    spends = ["sum moments C", "upload moments C"]
    panels = [{"title": "100 clients", "run": "n100_joint", "spends": spends}]
    with pytest.raises(BadInput, match="found sum, upload, allowed: one accounting a panel"):
        parse(EpsilonsFigure.model_validate, {"title": "Every ε", "panels": panels}, "paper.yaml")
