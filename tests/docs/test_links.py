"""Every link of the documentation that stays in the repository leads to a file, and to a heading of it."""

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PLACES = ("*.md", "docs/**/*.md", "results/reference/**/*.md", "notebooks/*.ipynb")
SOURCES = ROOT / "docs/source"  # of generated pages, which have their links
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place) if page.parent != SOURCES)
MARKDOWN = MarkdownIt("commonmark").enable("table")


def tokens(page):
    """Return the tokens of a page, those inside of lines among them; of a notebook, of its prose."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [one for token in MARKDOWN.parse(text) for one in (token, *(token.children or ()))]


@cache
def anchors(page):
    """Return the anchors that GitHub gives to the headings of a page."""
    found, seen = set(), Counter()
    for opening, line in pairwise(tokens(page)):
        if opening.type == "heading_open":
            text = "".join(part.content for part in line.children)
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return found


def leads(link, page, root):
    """Return whether a link of `page` leads somewhere below `root`; the network is not asked."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if parts.scheme:
        return True
    if not (target.exists() and target.is_relative_to(root)):
        return False
    return not parts.fragment or target.suffix != ".md" or unquote(parts.fragment) in anchors(target)


def broken(page, root=ROOT):
    """Return the links and images of a page that lead nowhere."""
    links = [token.attrs.get("href", token.attrs.get("src")) for token in tokens(page)]
    return [link for link in links if link and not leads(link, page, root)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    assert broken(page) == []


def test_what_leads_nowhere_is_found_and_what_is_there_under_the_anchors_of_github_is_not(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/there.md").write_text("# Twice\n\n# Twice\n")
    (tmp_path / "outside.md").write_text("# Outside\n")
    page = tmp_path / "pages/page.md"
    gone = ["gone.md", "gone.png", "#gone", "there.md#gone", "there.md#twice-2", "../outside.md"]
    there = ["#what-ε_2-means-c-2c", "there.md#twice", "there.md#twice-1", ".", "https://example.org/gone"]
    links = "\n".join(f"[a]({link}) ![b]({link})" for link in gone + there)
    page.write_text(f"# What ε_2 means: `C`, *2C*\n\n{links}\n`[f](code.md)`\n\n    [g](code.md)\n")
    assert broken(page, tmp_path / "pages") == [link for link in gone for _ in range(2)]
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_markdown_cell("[a](gone.md)"), nbformat.v4.new_code_cell("'[a](code.md)'")]
    nbformat.write(book, tmp_path / "book.ipynb")
    assert broken(tmp_path / "book.ipynb", tmp_path) == ["gone.md"]
