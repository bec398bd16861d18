"""Every text that a paper may hold, replaced by a nasty one, goes through all that is made of the paper."""

import json
import shutil
from itertools import cycle, islice

import pytest
from support import read_back, whole_paper
from support.nasty import NASTY, seen, together

from fedpriv.cli.compare import published
from fedpriv.cli.options import print_result
from fedpriv.config.plan import Plan, Preset
from fedpriv.progress import visible
from fedpriv.report import claims, page
from fedpriv.report.paper import write_figures, write_tables

PLACES = whole_paper.texts()
# What only a picture shows, and what is said only where something is missing.
ELSEWHERE = ("Panel.published key", "RunsTable.infinite", "RunsTable.place")
MARKDOWN = {"h1", "h2", "p", "img", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li"}


@pytest.fixture(scope="module", params=range(2))
def made(request, runs, tmp_path_factory):
    """Return all that is made of the paper with other texts in it, in turn, and the texts."""
    others = list(islice(cycle(NASTY), request.param * len(PLACES), (request.param + 1) * len(PLACES)))
    filled = dict(zip(PLACES, others, strict=True))
    paper = whole_paper.with_texts(filled)
    root = tmp_path_factory.mktemp("test")
    folder = shutil.copytree(runs, root / "whole")
    write_tables(folder, paper)
    write_figures(folder, paper.figures)
    preset = Preset.model_validate({"preset": "test", "papers": ["whole"]})
    planned = {"whole": dict.fromkeys(paper.runs)}
    page.write(Plan(preset, {"whole": paper}, planned), root / "report.html")
    return folder, filled


pytestmark = pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout", "ignore:Tight layout")


def test_no_declared_text_is_left_as_it_was(made):
    _, filled = made
    assert len(filled) > 30 and not set(filled) & set(filled.values())


def test_the_page_says_every_text_and_has_no_other_element_or_link(made):
    folder, filled = made
    shown = read_back.Page((folder.parent / "report.html").read_text(encoding="utf-8"))
    said = together(" ".join([*(text for _, text in shown.texts), *shown.described])).casefold()
    missing = [
        (place, filled[text])
        for text, place in PLACES.items()
        if place not in ELSEWHERE and seen(filled[text]).casefold() not in said
    ]
    assert not missing
    assert len(shown.of("script")) == len(shown.of("style")) == 1 and "alert(1)" not in shown.of("script")[0]
    known = (
        "#",
        "data:",
        "https://example.org/",
        "../../docs/",
        "whole/tables/",
        "whole/figures/",
        "whole/claims.",
    )
    assert all(link.startswith(known) for link in shown.links)


def test_markdown_has_no_other_element_and_csv_no_formula(made):
    folder, _ = made
    for path in folder.rglob("*.md"):
        shown = read_back.markdown(path.read_text(encoding="utf-8"))
        assert shown.tags <= MARKDOWN and set(shown.links) <= {f"{path.stem}.png"}
    for path in folder.rglob("*.csv"):
        for line in path.read_text(encoding="utf-8").split("\n"):
            assert visible(line) == line
    assert len(list(folder.rglob("*.png"))) == len(whole_paper.FIGURES)


def test_a_comparison_reads_back_every_text_and_prints_only_what_is_seen(made, capsys):
    folder, filled = made
    facts = claims.compared_facts(folder)
    (claim,) = facts["claims"]
    assert claim["claim"] == visible(filled["A claim."])
    assert claim["reason"] == visible(filled["A reason."])
    rows = {str(line["row"]) for line in facts["accuracies"]}
    assert rows == {visible(filled["A row"]), visible(filled["Another row"])}
    print_result(facts, published(folder), False)
    out = capsys.readouterr().out.rstrip("\n").split("\n")
    assert [visible(line) for line in out] == out
    print_result(facts, [], True)
    written = capsys.readouterr().out
    assert written.isascii() and json.loads(written)["claims"][0]["claim"] == claim["claim"]
