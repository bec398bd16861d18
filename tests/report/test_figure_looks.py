"""In no figure do words hide words or points; colours mean one thing, and can be read."""

import json
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib import rcParams
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support.figure_words import drawn_words, overlaps

from fedpriv.paper.epsilons import SELECTOR_COLUMNS
from fedpriv.paper.figures import LinesFigure
from fedpriv.paper.paper import homes, load_paper
from fedpriv.report.collect import SCHEMAS
from fedpriv.report.figures import draw_figure, house_style
from fedpriv.report.figures.looks import (
    LOOKS,
    Label,
    as_declared,
    curve_looks,
    curve_meaning,
    place_labels,
    separate,
)
from fedpriv.report.results import to_categories

PAPERS = Path(__file__).parents[2] / "config/papers"
FIGURES = {
    f"{name}-{key}": figure
    for name, home in homes(PAPERS).items()
    for key, figure in load_paper(name, home).figures.items()
}


def made(results, declared, seed):
    """Return made-up results of all runs of a figure: accuracies and ε such as there might be."""
    random = np.random.default_rng(seed)
    base = results.of("n100_dp")
    frames = {name: [] for name in SCHEMAS}
    read = [curve for part in declared.parts() for curve in part.read]
    for run in dict.fromkeys(declared.runs()):
        scheme = {"epsilon": random.choice([10, 50, 100]), "constant": random.choice([1, 2, 3])}
        config = json.dumps({"scheme": scheme}, default=int)
        frames["runs"].append(base.runs.assign(run=run, config=config))
        rounds = base.rounds.assign(run=run, gamma=round(random.uniform(0, 0.45), 1))
        grown = 1 - np.exp(-rounds["round"] / random.uniform(2, 20))
        rounds["test_accuracy"] = random.uniform(0.3, 0.99) * grown + random.normal(0, 0.01, len(rounds))
        rounds["drawn_accuracy"] = rounds["test_accuracy"]
        frames["rounds"].append(rounds)
        for key in dict.fromkeys(one.selector.key for one in read if one.run == run and one.selector):
            one = base.epsilons.drop_duplicates(["seed", "round"]).assign(
                run=run, **dict(zip(SELECTOR_COLUMNS, key, strict=True))
            )
            one["epsilon"] = random.uniform(0.1, 30) * np.sqrt(one["round"]) * random.uniform(0.9, 1.1)
            frames["epsilons"].append(one.assign(kind="estimate" if key[0] == "bayesian" else "guarantee"))
    frames["epsilons"] = frames["epsilons"] or [base.epsilons.iloc[:0]]
    tables = {
        name: pd.concat(some).astype(SCHEMAS[name])[list(SCHEMAS[name])] for name, some in frames.items()
    }
    return to_categories(tables, base.audited)


@pytest.mark.parametrize("name", FIGURES)
def test_in_no_figure_of_a_paper_do_words_hide_words_or_points_and_all_can_be_read(results, name):
    declared = FIGURES[name]
    with house_style():
        figure = draw_figure(made(results, declared, crc32(name.encode())), declared)
        assert overlaps(figure) == []
    assert all(axes.has_data() for axes in figure.axes)
    assert {text.get_color() for text in drawn_words(figure) if contrast(text.get_color()) < 4.5} == set()


def contrast(color):
    """Return the contrast of a colour with white, as WCAG 2 has it."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    return 1.05 / (np.dot(parts, (0.2126, 0.7152, 0.0722)) + 0.05)


def test_every_colour_that_words_may_have_can_be_read_on_white():
    assert contrast("black") == pytest.approx(21) and contrast("#767676") == pytest.approx(4.54, abs=0.01)
    with house_style():
        colours = {look["color"] for look in (*LOOKS.values(), *rcParams["axes.prop_cycle"])}
    assert {colour for colour in colours if contrast(colour) < 4.5} == set()


def test_what_is_drawn_of_a_paper_has_a_look_of_its_own_whichever_figure_draws_it():
    # In the equation the colours are those of the accountants, and runs have markers.
    lines = [one for name, one in FIGURES.items() if isinstance(one, LinesFigure) and "equation" not in name]
    curves = [(curve, declared) for declared in lines for curve in declared.parts()[0].curves]
    named = [
        curve_meaning(
            curve.label, curve.selector.accountant if curve.selector and len(declared.lines) == 1 else ""
        )
        for curve, declared in curves
    ]
    assert len(named) > 60 and set(named) <= set(LOOKS)


def test_an_accountant_has_its_colour_in_whatever_order_it_comes():
    first, second = (
        {
            selector.accountant: look["color"]
            for selector, look in zip(declared.accountants.values(), curve_looks(declared), strict=True)
        }
        for declared in (FIGURES[f"bdp2019-epsilons_{data}"] for data in ("iid", "noniid"))
    )
    assert len(set(first.values())) == len(first) == 3
    assert second == {accountant: first[accountant] for accountant in second}


def test_what_nobody_has_declared_is_drawn_in_what_is_left():
    declared = LinesFigure.model_construct(lines={"a": "a", "dp": "DP", "b": "b"}, accountants={})
    colours = [look["color"] for look in curve_looks(declared)]
    assert len(set(colours)) == 3 and colours[1] == LOOKS["DP"]["color"]


POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=3)


@settings(max_examples=20)
@given(POINTS, st.lists(st.floats(0.1, 0.9), max_size=2))
@example([(0.0, 0.25), (0.0, 0.0), (0.0, 0.0)], [])
@example([(0.0, 0.25), (0.0, 0.0), (0.03125, 0.0)], [])
@house_style()
def test_labels_are_placed_where_they_hide_nothing(points, lines):
    figure = Figure(figsize=(2.4, 1.9))
    axes = figure.subplots()
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.plot(*zip(*points, strict=True), "o", markersize=4)
    figure.draw_without_rendering()
    across = [Label(f"budget {number}", None, y, "black") for number, y in enumerate(lines)]
    place_labels(axes, [*(Label("DP, ε = 1", x, y, "black") for x, y in points), *across])
    assert overlaps(figure) == []
    assert all(axes.bbox.padded(1).contains(*text.get_window_extent().min) for text in axes.texts)


def test_words_on_words_and_on_a_point_are_named():
    figure = Figure()
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.plot([0.5], [0.5], "o")
    for text, at in (("one", 0.1), ("two", 0.11), ("three", 0.48)):
        axes.text(at, at, text)
    assert overlaps(figure) == ["one / two", "three / a point"]


def test_labels_of_ends_that_nobody_can_tell_apart_stand_in_the_order_of_their_curves():
    ends = np.array([50.0, 54.0, 52.0, 90.0, 10.0])  # of labels as high as 10
    assert as_declared(ends, [10.0] * 5).tolist() == [54.0, 52.0, 50.0, 90.0, 10.0]
    assert as_declared(ends, [2.0] * 5).tolist() == ends.tolist()
    assert as_declared(np.array([]), []).tolist() == []


@given(st.lists(st.tuples(st.floats(-50, 150), st.floats(1, 15)), max_size=6))
def test_labels_at_ends_are_moved_apart_within_the_axes_and_keep_their_order(labels):
    middles, sizes = [middle for middle, _ in labels], [size for _, size in labels]
    moved = separate(middles, sizes, 100)
    order = np.argsort(middles, kind="stable")
    ends = [(moved[one] - sizes[one] / 2, moved[one] + sizes[one] / 2) for one in order]
    assert all(low >= -1e-9 and high <= 100 + 1e-9 for low, high in ends)
    assert all(high <= low + 1e-9 for (_, high), (low, _) in pairwise(ends))
    free = [(middle - size / 2, middle + size / 2) for middle, size in sorted(labels)]
    if all(low >= 0 and high <= 100 for low, high in free) and all(a[1] <= b[0] for a, b in pairwise(free)):
        assert list(moved) == pytest.approx(middles)  # none is moved without need
