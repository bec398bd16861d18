"""The schema is that of the Citation File Format 1.2.0, as published (CC BY 4.0)."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from fedpriv.config.plan import load_preset
from fedpriv.config.targets import drawn
from fedpriv.docs import citation
from fedpriv.errors import BadInput
from fedpriv.paper.paper import Paper, load_paper
from fedpriv.paper.read import papers_in

ROOT = Path(__file__).parents[2]
PAPERS = {name: load_paper(name, ROOT / "config/papers") for name in papers_in(ROOT / "config/papers")}
SCHEMA = json.loads((ROOT / "tests/docs/cff-1.2.0.schema.json").read_text(encoding="utf-8"))
FULL = Paper(
    paper="full",
    title="A full title",
    authors=({"given": "Ada", "family": "Lovelace"}, "A team"),  # pyright: ignore[reportArgumentType]
    year=2020,
    url="https://example.org/paper",
    type="article",
    venue="A journal",
    publisher="A press",
    isbn="978-1-7281-0858-2",
    doi="10.1000/182",
    runs={},
)


def valid(text):
    jsonschema.validate(yaml.safe_load(text), SCHEMA)
    return yaml.safe_load(text)


@pytest.mark.parametrize("page", citation.pages(ROOT), ids=lambda page: page.name)
def test_a_generated_file_says_what_the_papers_say(page):
    assert page.read_text(encoding="utf-8") == citation.pages(ROOT)[page], "run make docs"


def test_the_citation_is_valid_and_says_what_the_project_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = valid(citation.citation(PAPERS))
    assert (said["version"], said["license"]) == (project["version"], project["license"])
    assert said["authors"] == project["authors"]


def test_every_published_paper_is_cited_and_a_search_of_ours_is_not():
    titles = {one["title"] for one in valid(citation.citation(PAPERS))["references"]}
    assert titles >= {paper.title for paper in PAPERS.values() if paper.type}
    assert not titles & {paper.title for paper in PAPERS.values() if not paper.type}


def test_no_figure_of_which_its_preset_runs_nothing_is_to_be_checked():
    listed = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))["manifest"]
    figures = [Path(one["file"]).parts[2:] for one in listed if one["file"].endswith(".png")]
    presets = {preset for preset, *_ in figures}
    plans = {preset: load_preset(ROOT / f"config/{preset}.yaml") for preset in presets}
    assert figures
    assert all(Path(name).stem in drawn(plans[preset], paper) for preset, paper, _, name in figures)


@pytest.mark.parametrize(
    ("kind", "where"),
    [("article", {"journal": "A journal"}), ("conference-paper", {"conference": {"name": "A journal"}})],
)
def test_all_that_is_known_of_a_paper_is_in_its_reference(kind, where):
    paper = FULL.model_copy(update={"type": kind})
    (found,) = valid(citation.citation({"full": paper}))["references"]
    assert found == where | {
        "type": kind,
        "title": "A full title",
        "authors": [{"given-names": "Ada", "family-names": "Lovelace"}, {"name": "A team"}],
        "year": 2020,
        "url": "https://example.org/paper",
        "publisher": {"name": "A press"},
        "isbn": "978-1-7281-0858-2",
        "doi": "10.1000/182",
    }


def test_the_schema_refuses_a_reference_without_authors():
    wrong = citation.citation(PAPERS).replace("  authors:\n", "  writers:\n")
    with pytest.raises(jsonschema.ValidationError):
        valid(wrong)


def test_the_manifest_holds_every_kept_table_and_figure_once_with_its_caption():
    text = citation.pages(ROOT)[ROOT / "codecheck.yml"]
    manifest = yaml.safe_load(text)["manifest"]
    files = [one["file"] for one in manifest]
    kept = [
        *ROOT.glob("results/reference/*/*/tables/*.csv"),
        *ROOT.glob("results/reference/*/*/figures/*.png"),
    ]
    assert text.startswith("---\n")
    assert sorted(files) == sorted(path.relative_to(ROOT).as_posix() for path in kept)
    assert all(spec.title in one["comment"] for one in manifest for spec in [declared(one["file"])])


def declared(file):
    _, _, _, paper, kind, name = file.split("/")
    return getattr(PAPERS[paper], kind)[name.split(".")[0].removesuffix("_seeds")]


def test_a_kept_file_that_no_paper_declares_is_bad_input():
    stale = "results/reference/laptop/bdp2019/tables/table99.csv"
    with pytest.raises(BadInput, match=r"table99\.csv: found no such thing in config/papers/bdp2019"):
        citation.codecheck(PAPERS, [stale])
    with pytest.raises(BadInput, match=r"allowed: those of bdp2019"):
        citation.codecheck(PAPERS, [stale.replace("bdp2019", "unknown")])
