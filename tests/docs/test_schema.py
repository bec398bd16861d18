"""The JSON schemas for editors take every YAML file that is shipped, and no misspelt key."""

import copy
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from fedpriv.docs import reference
from fedpriv.local.work import LOCAL_WORK
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.models import MODELS
from fedpriv.paper.paper import homes, read_files
from fedpriv.partition import PARTITIONS
from fedpriv.schemes import SCHEMES

CONFIG = Path(__file__).parents[2] / "config"
SCHEMAS = reference.schemas()
VALIDATORS = {name: Draft202012Validator(one) for name, one in SCHEMAS.items()}
PRESETS = sorted(CONFIG.glob("*.yaml"))
PAPERS = {
    paper: {key: one.value for key, one in read_files(home / paper).items()}
    for paper, home in homes(CONFIG / "papers").items()
}
FOLDERS = [home / paper for paper, home in homes(CONFIG / "papers").items()]
FILES = sorted(path for folder in FOLDERS for path in folder.glob("*.yaml"))


def said_by(path):
    """Return what a file of a paper says, anchors of its other files resolved."""
    content = PAPERS[path.parent.name]
    elsewhere = [key for keys in reference.KEYS.values() for key in keys]
    keys = reference.KEYS.get(path.stem) or [key for key in content if key not in elsewhere]
    return {key: content[key] for key in keys if key in content}


# Schema, content.
SHIPPED = [
    *(pytest.param("preset", yaml.safe_load(path.read_text()), id=path.name) for path in PRESETS),
    *(pytest.param(path.stem, said_by(path), id=f"{path.parent.name}/{path.name}") for path in FILES),
]


def valid(name, content):
    return VALIDATORS[name].is_valid(content)


def mappings(content):
    """Yield every mapping within mappings of mappings."""
    if isinstance(content, dict):
        yield content
        for value in content.values():
            yield from mappings(value)


@pytest.mark.parametrize(("name", "content"), SHIPPED)
def test_every_shipped_file_is_valid(name, content):
    assert [error.message for error in VALIDATORS[name].iter_errors(content)] == []


@pytest.mark.parametrize(("name", "content"), SHIPPED)
def test_a_misspelt_key_at_the_top_is_invalid(name, content):
    assert not valid(name, content | {"misspelt": 1})


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("key", ["parts", "runs"])
def test_a_misspelt_key_anywhere_in_a_part_or_a_run_is_invalid(paper, key):
    content = said_by(CONFIG / "papers" / paper / "runs.yaml")
    for name, fragment in content.get(key, {}).items():
        fragment = {word: value for word, value in fragment.items() if word != "over"}
        for place in range(len(list(mappings(fragment)))):
            wrong = copy.deepcopy(fragment)
            list(mappings(wrong))[place]["misspelt"] = 1
            assert not valid("runs", {"runs": {}, key: {name: wrong}})


@pytest.mark.parametrize("key", ["tables", "figures"])
def test_a_misspelt_key_in_a_table_or_figure_is_invalid(key):
    for content in PAPERS.values():
        for name, one in content.get(key, {}).items():
            assert not valid(key, {key: {name: one | {"misspelt": 1}}})
            assert not valid(key, {key: {name: one | {"kind": "pie"}}})
            assert not valid(key, {key: {name: {k: v for k, v in one.items() if k != "kind"}}})


@pytest.mark.parametrize(
    ("key", "by", "registry"),
    [
        ("scheme", "name", SCHEMES),
        ("model", "name", MODELS),
        ("local", "name", LOCAL_WORK),
        ("partition", "law", PARTITIONS),
        ("cohort", "law", COHORTS),
    ],
)
def test_a_run_may_name_every_kind_and_no_other(key, by, registry):
    for name in registry:
        assert valid("runs", {"runs": {"x": {key: name}, "y": {key: {by: name}}}})
    assert not valid("runs", {"runs": {"x": {key: "magic"}}})
    assert not valid("runs", {"runs": {"x": {key: {by: "magic"}}}})


def test_what_every_paper_must_say_is_required_and_a_part_need_not_be_complete():
    paper = said_by(CONFIG / "papers/nbafl/paper.yaml")
    for key in ("paper", "title", "authors", "year", "url"):
        assert not valid("paper", {name: value for name, value in paper.items() if name != key})
    assert valid("runs", {"runs": {}, "parts": {"x": {"scheme": {"clip_l2": 1.0}}}})
    assert not valid("runs", {"runs": {}, "parts": {"x": {"scheme": {"clip_l2": -1.0}}}})
    assert not valid("runs", {"runs": {}, "parts": {"x": {"scheme": {"clip_l2": 1.0, "gamma": 0.1}}}})
