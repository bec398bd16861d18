"""Tables and figures by Python in a paper's folder: seen when it is read, run when it is rendered."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from support import tiny

from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.paper.paper import homes, load_paper
from fedpriv.paper.tables import PythonTable

ROOT = Path(__file__).parents[2]
SOURCE = """
open("ran", "w")


def points(axes, results, curves):
    axes.plot([1], [len(curves)])
"""
SPEC = {"kind": "python", "function": "points", "title": "Points", "lines": {"dp": "DP"}}


def paper_with(here, source, **spec):
    (here / "config/papers/tiny/figures.py").write_text(source)
    tiny.write(here / "config/papers/tiny/paper.yaml", tiny.PAPER | {"figures": {"p": SPEC | spec}})
    return load_preset(here / "config/tiny.yaml").papers["tiny"]


def test_nothing_runs_until_the_figure_is_made_and_a_change_of_the_file_is_seen(here):
    figure = paper_with(here, SOURCE).figures["p"]
    assert not (here / "ran").exists() and list(figure.runs()) == ["dp"]
    axes = Figure().subplots()
    figure.call(axes, None, figure.parts()[0].curves)
    assert (here / "ran").exists() and list(axes.lines[0].get_ydata()) == [1]
    assert (
        figure.model_dump()["code"] != paper_with(here, SOURCE + "# new\n").figures["p"].model_dump()["code"]
    )


@pytest.mark.parametrize(
    ("source", "spec", "said"),
    [
        (SOURCE, {"function": "lines"}, r"function: found lines, allowed: points \(of .*tiny/figures\.py"),
        ("x = 1", {}, "function: found points, allowed: none is there"),
        ("def points(:", {}, "SyntaxError"),
        (SOURCE, {"function": "../other.points"}, "function"),
        (SOURCE, {"lines": {"gone": "x"}}, "found gone, allowed: dp"),
    ],
)
def test_what_is_not_there_is_told_when_the_paper_is_read(here, source, spec, said):
    with pytest.raises(BadInput, match=said):
        paper_with(here, source, **spec)
    assert not (here / "ran").exists()


def test_a_file_that_is_missing_is_named(here):
    tiny.write(here / "config/papers/tiny/paper.yaml", tiny.PAPER | {"figures": {"p": SPEC}})
    with pytest.raises(BadInput, match=r"found config/papers/tiny/figures\.py \(FileNotFoundError"):
        load_paper("tiny", Path("config/papers"))


@pytest.mark.parametrize("wrong", ["1 / 0", "raise SystemExit(3)", "return gone"])
def test_what_goes_wrong_in_it_names_the_file_and_the_function(here, wrong):
    figure = paper_with(here, f"def points(*_):\n    {wrong}\n").figures["p"]
    with pytest.raises(BadInput, match=r"tiny/figures\.py: points: found \w+(Error|Exit): "):
        figure.call()


def test_every_shipped_script_is_that_of_its_own_folder():
    for name, home in homes(ROOT / "config/papers").items():
        path, paper = home / name / "paper.yaml", load_paper(name, home)
        for kind in ("tables", "figures"):
            ours = [one for one in getattr(paper, kind).values() if one.kind == "python"]
            assert bool(ours) == (path.parent / f"{kind}.py").exists(), path.parent
            assert all(one.code for one in ours)
    assert PythonTable.model_fields["function"].is_required()
