"""The field's words: none of the words that docs/glossary.md lists as older ones is in what people read."""

import re
from pathlib import Path

import pytest
import typer.main
import yaml

from fedpriv.cli.app import app

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs/glossary.md"
OLD = re.findall(
    r"^\| ([^|]+?) \|",
    GLOSSARY.read_text(encoding="utf-8").partition("## Words of older versions")[2],
    re.MULTILINE,
)[1:]
# How a word is found where it has an everyday meaning as well.
AS_SLANG = {
    "spend": r"\b(?:a|the|its|every|each|whose) spends?\b|\bspends\b",
    "drawn client": r"drawn clients?|clients? (?:is|are|was|were) drawn",
    "drawn image": r"drawn (?:images?|data|photographs?)",
    "kept run": r"kept (?:runs?|results|traces)|(?:runs?|results) (?:is|are|that are) kept",
    "stand-in": r"\bstand-ins?\b|\b(?:stands?|standing) in for\b",
    "alike": r"\b(?:not|hold|are) alike\b",
    "instance": r"\binstances?\b(?<!for instance)",
    "unmet": r"\bunmet\b|\bassumptions not met\b",
}
STYLE = ["is that of", "but for", "an honest word", "honest ε"]
CODE = re.compile(
    r"```.*?```|^ {4,}\S[^\n]*$|`[^`]*`|\]\([^)]*\)|^::: .*?$|<[^>]*>", re.MULTILINE | re.DOTALL
)
BLOCK = re.compile(r"<!--.*?-->|\{\{[^{}]*\}\}", re.DOTALL)


def prose(path):
    """Return what a page says, without code, links' targets and what is asked of a generator."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    if path == GLOSSARY:
        text = text.partition("## Words of older versions")[0]
    return CODE.sub("", text)


def told(path):
    """Yield what tables, figures and notes of a paper are called, and say."""

    def texts(value, key=""):
        if isinstance(value, dict) and key == "cases":
            yield from value
        elif isinstance(value, dict):
            for name, inner in value.items():
                yield from texts(inner, key if key in LABELS else name)
        elif isinstance(value, list):
            for inner in value:
                yield from texts(inner, key)
        elif isinstance(value, str) and key in SAID + LABELS:
            yield value

    yield from texts(yaml.safe_load(path.read_text(encoding="utf-8")))


LABELS = ("lines", "series", "panels")  # maps of what is shown to what it is called
SAID = ("title", "label", "heading", "group", "place", "notes", "note", "why", "infinite", "axis")
SAID += ("text", "unsound", "caption")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/source").glob("*.md")),
    *sorted((ROOT / "docs/api").glob("*.md")),
    ROOT / "src/fedpriv/report/page/page.html.j2",
]
PAPERS = [
    path
    for name in ("paper", "tables", "figures", "claims")
    for path in ROOT.glob(f"config/papers/*/{name}.yaml")
]


def slang(text):
    """Return the old words in a text."""
    found = [word for word in OLD if re.search(AS_SLANG.get(word, rf"\b{re.escape(word)}s?\b"), text, re.I)]
    return found + [words for words in STYLE if words in text]


def test_the_glossary_lists_older_words_and_each_is_found_where_it_is_used():
    assert len(OLD) >= 20
    assert set(AS_SLANG) <= set(OLD)
    for word in OLD:
        assert slang(f"Here is a {word} of ours.") or slang(f"They are {word}."), word


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_an_older_word(page):
    assert slang(prose(page)) == []


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_title_caption_note_or_claim_of_a_paper_has_an_older_word(path):
    assert {said: slang(said) for said in told(path) if slang(CODE.sub("", said))} == {}


def test_no_help_has_an_older_word():
    verbs = typer.main.get_command(app).commands
    said = {
        f"{name} {param.name}": text
        for name, verb in verbs.items()
        for param, text in ((verb, verb.help), *((one, getattr(one, "help", "")) for one in verb.params))
    }
    assert {where: slang(CODE.sub("", text or "")) for where, text in said.items() if slang(text or "")} == {}
