"""What people write under tables and figures, with places for what is measured."""

from pathlib import Path

import pytest

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.figures import RoundsFigure
from fedpriv.paper.paper import homes, load_paper
from fedpriv.paper.tables import AccuracyTable
from fedpriv.report import figures, tables
from fedpriv.report.claims import caption
from fedpriv.report.numbers import epsilon_of_seeds, percent

PAPERS = Path(__file__).parents[2] / "config/papers"
WRONG = {
    "{accuracy(n100_dp}": "allowed: one number",
    "{accuracy(n100_dp) >= 0.5}": "allowed: a number, a name",
    "{n100_dp}": "found no number of a run",
    "{0.5}": "found no number of a run",
    "{published(n100_dp)}": "found no number of a run",
    '{epsilon(n100_dp, "momets C")}': "found momets",
    "{spent(n100_dp)}": "found no number of a run",  # of a column alone
    "{}": "found nothing",
}


def captioned(declared, text):
    return declared.model_copy(update={"caption": text})


def test_a_place_holds_what_was_measured_over_seeds_with_its_unit(results, declared):
    accuracy = percent(results.run("n100_dp").last()["value"])
    assert caption(results, captioned(declared, "DP has {accuracy(n100_dp)}.")) == f"DP has {accuracy} %."
    counted = EpsilonSelector(accountant="moments", sensitivity="C")
    spent = epsilon_of_seeds(results.run("n100_dp").epsilon(counted), "guarantee")
    assert caption(results, captioned(declared, '{epsilon(n100_dp, "moments C")}')) == spent
    lead = results.run("n100_none").last()["value"] - results.run("n100_dp").last()["value"]
    text = "{accuracy(n100_none) - accuracy(n100_dp)} points"
    assert caption(results, captioned(declared, text)) == f"{percent(lead)} points"


def test_a_number_of_a_run_that_was_not_run_says_so(results, declared):
    assert caption(results, captioned(declared, "DP has {accuracy(n1000_dp)}.")) == "DP has not run."


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_place_is_named_where_a_paper_is_read(text, declared):
    spec = declared.model_dump() | {"caption": f"DP has {text}."}
    with pytest.raises(BadInput, match="caption") as error:
        parse(AccuracyTable.model_validate, spec, "tables.yaml: table1")
    assert WRONG[text] in str(error.value)


def test_a_caption_may_name_only_runs_that_its_table_reads(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "paper.yaml").write_text(
        "{paper: tiny, title: T, authors: [A], year: 2020, url: 'https://a.b', runs: {one: {}, two: {}},"
        " tables: {few: {kind: runs, title: Few, caption: 'It has {accuracy(two)}.', columns: [round],"
        " lines: [{run: one, label: one}]}}}"
    )
    with pytest.raises(BadInput, match=r"few\.caption: found two, allowed: one"):
        load_paper("tiny", tmp_path)


def test_the_caption_stands_in_every_form_of_a_table(results, declared, tmp_path):
    tables.write_table(
        results, captioned(declared, "DP has {accuracy(n100_dp)} & no more."), tmp_path / "table1"
    )
    for end, words in (
        (".md", " % & no more."),
        (".tex", r" \% \& no more."),
    ):
        assert words in (tmp_path / "table1").with_suffix(end).read_text(encoding="utf-8")


def test_a_figure_says_its_caption_before_its_marks(results):
    spec = {"title": "F", "panels": {"n100": "100"}, "run": "{panel}_dp", "caption": "It rises."}
    assert figures.caption(results, RoundsFigure.model_validate(spec)).startswith("It rises. Lines: means")


@pytest.mark.parametrize(("paper", "home"), homes(PAPERS).items())
def test_every_table_and_figure_of_a_shipped_paper_has_a_caption(paper, home):
    declared = load_paper(paper, home)
    every = {**declared.tables, **{f"figure {name}": one for name, one in declared.figures.items()}}
    assert [name for name, one in every.items() if not one.caption] == []
