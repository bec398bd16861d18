"""Figures draw what was run, say the rest beside them, and the same runs give the same picture."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context
from matplotlib.image import imread
from matplotlib.legend import Legend
from matplotlib.text import Text

from fedpriv.paper.figures import Panel, RoundsFigure
from fedpriv.paper.paper import homes, load_paper
from fedpriv.report import page
from fedpriv.report.figures import PAGE, draw_figure, house_style, published, write_figure
from fedpriv.report.figures.looks import LOOKS, curve_looks
from fedpriv.report.figures.notes import content
from fedpriv.report.figures.rounds import MARKS
from fedpriv.report.results import Results

COMPARED = pd.DataFrame(
    {
        **{"row": ["100"] * 2, "column": ["DP", "BDP"], "published": 0.4, "value": [0.386, 0.5]},
        **{"low": [-0.02, 0.4], "high": [0.79, 0.6], "status": "ok"},
    }
)
PANEL = {"published": {"DP": 0.78, "BDP": 0.8}, "budgets": {"DP": 6}}
CURVES = RoundsFigure.model_validate(
    {
        "title": "Accuracy",
        "run": "{panel}_{line}",
        "lines": {"none": "no privacy", "dp": "client privacy"},
        "budgets": {"DP": {"line": "dp", "accountant": "moments C"}},
        "panels": {
            "n100": {"title": "100 clients"} | PANEL,
            "n1000": {"title": "1000 clients"} | PANEL,
        },
    }
)
EPSILONS = RoundsFigure.model_validate(
    {
        "title": "Every ε",
        "quantity": "epsilon",
        "run": "{panel}_dp",
        "accountants": ["moments C", "moments 2C", "bayesian product remove_mean"],
        "panels": {"n100": "100 clients"},
    }
)


def notes(results, declared):
    return content(results, declared, "")["notes"]


def drawn(results, declared):
    """Return a figure that is laid out as it is when written."""
    figure = draw_figure(results, declared)
    with house_style():
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("declared", [CURVES, EPSILONS], ids=lambda declared: declared.quantity)
def test_the_same_runs_give_the_same_pdf_png_and_markdown(results, declared, tmp_path):
    first, second = (write_figure(results, declared, tmp_path / name / "figure") for name in ("a", "b"))
    assert {path.suffix for path in first} == {".pdf", ".png", ".json", ".md"}
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    told = {path.suffix: path.read_bytes() for path in first}
    assert told[".pdf"].startswith(b"%PDF") and told[".png"].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "theirs",
    [
        {"font.family": "serif"},
        {"savefig.bbox": "tight"},
        {"path.sketch": (1, 100, 2)},
        {"text.usetex": True},
    ],
    ids=str,
)
def test_what_a_user_says_in_a_matplotlibrc_changes_no_figure(theirs, results, tmp_path):
    plain = write_figure(results, CURVES, tmp_path / "plain/figure")
    ours = page.picture({"Table IV": COMPARED})
    with rc_context(theirs):
        files = write_figure(results, CURVES, tmp_path / "theirs/figure")
        assert page.picture({"Table IV": COMPARED}) == ours
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in plain]


def test_what_is_said_of_a_figure_stands_beside_it(results, tmp_path):
    declared = CURVES.model_copy(update={"place": "Figure 2"})
    write_figure(results, declared, tmp_path / "figure")
    heading, picture, caption, place, list_of_notes = (tmp_path / "figure.md").read_text().split("\n\n")
    assert heading == "# Figure 2. Accuracy" and place == "Place: Figure 2."
    assert picture.startswith("![Accuracy. 100 clients: no privacy, client privacy;")
    assert picture.endswith("](figure.png)") and (tmp_path / "figure.png").exists()
    for words in (
        "from the least to the greatest",
        "Open circles: published,",
        "which the table reads off",
        "Every panel has an axis of its own",
    ):
        assert words in caption
    told = json.loads((tmp_path / "figure.json").read_text("utf-8"))
    assert list(told) == ["alt", "caption", "notes", "place", "title"]
    assert told["title"] == heading.removeprefix("# ") and told["place"] == "Figure 2"
    assert told["caption"] == caption and picture == f"![{told['alt']}](figure.png)"
    assert [f"- {note}" for note in told["notes"]] == list_of_notes.splitlines()
    assert "Student-t" not in list_of_notes  # of what is drawn a band says how far seeds are apart
    assert (tmp_path / "figure.json").read_bytes()[-2:] == b"}\n"
    for words in (
        "100 clients: DP (moments, sensitivity C): client-level, add-or-remove neighbours",
        "Data: digits.",
        "Seeds a run: 3",
        "minutes on a processor, 2 cores",
        "Not run in this preset: 1000 clients.",
    ):
        assert words in list_of_notes


def lines_of(axes):
    lines = {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    return {label: line for label, line in lines.items() if label not in MARKS}


def test_a_curve_is_the_mean_over_seeds_in_percent(results):
    lines = lines_of(draw_figure(results, CURVES).axes[0])
    assert list(lines) == ["no privacy", "client privacy"]
    rounds, accuracy = lines["client privacy"].get_data()
    assert list(rounds) == list(range(2, 21, 2))
    assert accuracy == pytest.approx(100 * 0.901 * np.array(rounds) / 20)


def with_seed(table, seed):
    """Return a table with the rows of the first seed once more, as another's."""
    return pd.concat([table, table.loc[table["seed"] == 0].assign(seed=seed)])


def test_up_to_three_seeds_are_drawn_and_of_more_there_is_a_band_from_least_to_greatest(results):
    panel = CURVES.model_copy(update={"panels": {"n100": CURVES.panels["n100"]}})
    (axes,) = draw_figure(results, panel).axes
    assert not axes.collections
    thin = [line for line in axes.get_lines() if line.get_linewidth() < 0.6 and len(line.get_xdata()) > 2]
    assert len(thin) == 6 and all(line.get_label().startswith("_") for line in thin)
    fourth = replace(results, runs=with_seed(results.runs, 3), rounds=with_seed(results.rounds, 3))
    (axes,) = draw_figure(fourth, panel).axes
    *_, private = axes.collections
    low, high = private.get_paths()[0].get_extents().get_points()[:, 1]
    assert (low, high) == (pytest.approx(9.0), pytest.approx(90.2))


def test_what_a_table_reads_off_is_a_dot_beside_what_is_published(results):
    (axes,) = draw_figure(results, CURVES).axes
    (curve, epsilon), *_ = CURVES.parts()[0].budgets
    read = results.run(curve.run).within((curve.counted, epsilon)).mean()
    dots = [line for line in axes.get_lines() if line.get_linestyle() == "None" and len(line.get_xdata())]
    places = [(float(dot.get_xdata()[0]), float(dot.get_ydata()[0])) for dot in dots]
    assert places == [
        pytest.approx((read["round"], 100 * read["value"])),
        pytest.approx((read["round"], 78)),
        pytest.approx((20, 80)),
    ]
    colours = [LOOKS[name]["color"] for name in ("DP", "DP", "BDP")]
    assert [dot.get_markeredgecolor() for dot in dots] == colours
    assert [dot.get_fillstyle() == "full" and dot.get_mfc() != "none" for dot in dots] == [True, False, False]
    assert set(axes.get_legend_handles_labels()[1]) >= set(MARKS)


def many_lines(results):
    """Return seven lines with long labels, in one panel and in three."""
    names = [f"run{number}" for number in range(7)]
    one = results.of("n100_dp")
    lines = {name: f"{name}, one of several rather long labels" for name in names}
    panels = ({"one": "A title"}, {key: f"Panel {key}" for key in ("one", "two", "three")})
    said = {"title": "A title of " + 20 * "many words ", "lines": lines}
    declared = [RoundsFigure.model_validate(said | {"panels": some}) for some in panels]
    copies = (
        pd.concat([table.assign(run=name) for name in names])
        for table in (one.runs, one.rounds, one.epsilons)
    )
    return Results(*copies, one.audited), declared


def test_panels_and_legend_stay_within_the_figure_and_cover_each_other_nowhere(results):
    results, declared = many_lines(results)
    for one in (*declared, CURVES, EPSILONS):
        figure = drawn(results, one)
        panels = [axes.get_tightbbox() for axes in figure.axes]
        boxes = [*(legend.get_window_extent() for legend in figure.legends), *panels]
        for number, box in enumerate(boxes):
            assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1
            assert box.y0 >= -1 and box.y1 <= figure.bbox.height + 1
            assert not any(box.padded(-1).overlaps(other.padded(-1)) for other in boxes[number + 1 :])
        assert all(axes.get_legend() is None for axes in figure.axes)


def test_a_figure_is_as_wide_as_both_columns_of_a_journal(results, tmp_path):
    several, declared = many_lines(results)
    assert [draw_figure(several, one).get_figwidth() for one in declared] == [PAGE, PAGE] == [6.9, 6.9]
    write_figure(results, CURVES, tmp_path / "figure")
    assert imread(tmp_path / "figure.png").shape[1] == 6.9 * 300


def test_the_picture_has_no_words_but_titles_labels_ticks_and_what_lines_and_marks_are(results):
    figure = drawn(results, CURVES)
    (axes,) = figure.axes
    written = ["DP, ε = 6", "no privacy", "client privacy"]
    assert [text.get_text() for text in axes.texts] == written[:1]
    known = {"100 clients", "Round", "Test accuracy (%)", *written, *MARKS}
    known |= {text.get_text() for text in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    words = [text for text in figure.findobj(Text) if text.get_text()]
    assert {text.get_text() for text in words} <= known
    assert {text.get_fontsize() for text in words} <= {7, 8, 9}


PAPERS = Path(__file__).parents[2] / "config/papers"
EVERY = [
    pytest.param(figure, id=f"{name}-{key}")
    for name, home in homes(PAPERS).items()
    for key, figure in load_paper(name, home).figures.items()
    if isinstance(figure, RoundsFigure)
]


@pytest.mark.parametrize("declared", EVERY)
def test_colour_is_never_all_that_tells_two_curves_of_a_figure_apart(declared):
    looks = curve_looks(declared)
    assert len(looks) == len(declared.parts()[0].curves)
    assert len({(str(one["linestyle"]), one["marker"], one["fillstyle"]) for one in looks}) == len(looks)


def test_a_figure_of_which_nothing_was_run_says_so(results):
    nothing = CURVES.model_copy(update={"panels": {"n1000": CURVES.panels["n1000"]}})
    (panel,) = draw_figure(results, nothing).axes
    assert [text.get_text() for text in panel.texts] == ["not run"] and not panel.get_lines()
    assert not panel.get_xticks().size and not panel.get_yticks().size
    assert "Not run in this preset: 1000 clients." in notes(results, nothing)


def test_a_panel_whose_ledger_holds_no_such_epsilon_says_so_and_leaves_the_others_their_axis(results):
    panels = {"n100_none": "no privacy", "n100_dp": "100 clients"}
    some = {"run": "{panel}", "panels": {key: Panel(title=title) for key, title in panels.items()}}
    declared = EPSILONS.model_copy(update=some)
    empty, full = drawn(results, declared).axes
    assert [text.get_text() for text in empty.texts] == ["not in the ledger"]
    assert len(full.get_lines()) and len(full.get_yticks()) > 1
    assert any("Not in the ledger: no privacy: moments C (" in note for note in notes(results, declared))


def test_guarantees_are_solid_estimates_dashed_and_the_axis_is_logarithmic(results):
    axes = draw_figure(results, EPSILONS).axes[0]
    styles = {label: line.get_linestyle() for label, line in lines_of(axes).items()}
    assert styles == {
        "moments C": "-",
        "moments 2C": "-",
        "bayesian product remove_mean (estimate)": "--",
    }
    assert axes.get_yscale() == "log"


def test_every_line_has_its_words_at_its_end_in_its_colour_with_its_dash_and_its_marker(results):
    (axes,) = draw_figure(results, CURVES).axes
    found = {}
    for legend in axes.findobj(Legend):
        (text,), (handle,) = legend.get_texts(), legend.get_lines()
        assert text.get_color() == handle.get_color()
        found[text.get_text()] = handle
    for label, line in lines_of(axes).items():
        for what in ("color", "marker", "linestyle", "fillstyle"):
            assert getattr(found[label], f"get_{what}")() == getattr(line, f"get_{what}")()


def test_an_interval_that_leaves_the_axis_is_not_cut_off_but_marked():
    (axes, *_) = published.draw_published({"Table IV": COMPARED}).axes
    labels = axes.get_legend_handles_labels()[1]
    assert {"reproduced, 95 % interval beyond 0 to 100", "reproduced, 95 % interval"} <= {*labels}
    (whiskers,) = axes.collections
    assert len(whiskers.get_segments()) == 1
