"""The pages as HTML; that they are built without a warning is for `make check` to see."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from fedpriv import account

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def within() -> Callable[[str, str], str]:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    return runpy.run_path(str(DOCS / "site/links.py"))["within"]


@pytest.mark.parametrize(
    ("page", "link", "becomes"),
    [
        ("a.md", "[a page](b.md#there)", "[a page](b.md#there)"),
        ("papers/a.md", "[a page](../b.md)", "[a page](../b.md)"),
        ("a.md", "[all](../results/reference)", "all"),
        ("papers/a.md", "[`code`](../../src/x.py)", "`code`"),
        ("a.md", "[a [b] c](../x)", "a [b] c"),
        ("a.md", "[web](https://example.org/../x)", "[web](https://example.org/../x)"),
        ("a.md", "![a picture](architecture.svg)", "![a picture](architecture.svg)"),
        ("papers/a.md", "![a](../../results/reference/b.png)", "![a](../results/reference/b.png)"),
    ],
)
def test_a_link_that_leaves_the_pages_keeps_its_words_and_pictures_alone(
    within: Callable[[str, str], str], page: str, link: str, becomes: str
) -> None:
    assert within(f"See {link}.", page) == f"See {becomes}."


def test_the_home_of_the_site_is_the_readme_whose_links_begin_in_docs() -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    home = runpy.run_path(str(DOCS / "site/keys.py"))["home"]
    assert home("[a](docs/b.md#c) ![d](docs/e.png) [f](results/g) [h](https://i.j) [k](#l)") == (
        "[a](b.md#c) ![d](e.png) [f](../results/g) [h](https://i.j) [k](#l)"
    )


def test_no_two_titles_of_the_navigation_are_alike() -> None:
    nav = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    titles = re.findall(r"^ +- ([^:]+):", nav, re.MULTILINE)
    assert len(titles) > 20 and len(set(titles)) == len(titles)


def test_the_reference_has_every_public_name_of_accounting() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    told = {
        path.rpartition(".")[2] for path in re.findall(r"^::: (fedpriv\.account\..+)$", page, re.MULTILINE)
    }
    assert set(account.__all__) <= told
