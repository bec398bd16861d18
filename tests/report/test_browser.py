"""Report and README in a real browser: no error, on a desk, on a phone, in the dark and on paper."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from support import made_page

from fedpriv.config.files import figure_names

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("FEDPRIV_BROWSER") != "required",
    reason="no chromium, chromium-browser or google-chrome on PATH",
)

ROOT = Path(__file__).parents[2]
# As GitHub shows a README: one column, tables and commands that scroll by themselves.
GITHUB = """<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>
body { font: 16px/1.5 sans-serif; max-width: 848px; margin: 32px auto; padding: 0 16px }
table, pre { display: block; overflow: auto; max-width: 100% } pre { padding: 16px; font-size: 85% }
td, th { padding: 6px 13px } img { max-width: 100% }
</style>"""
A4_LANDSCAPE = {"width": 1032, "height": 703}  # 273 mm and 186 mm at 96 dots an inch: what margins leave


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    return made_page.write_results(tmp_path_factory.mktemp("test")).as_uri()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        # As root, in a container, Chromium has no sandbox; it opens nothing but our own file.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, url):
    """Return what opens the page with the given options; every error and every request is one of `said`."""
    said = []

    def open_page(**options):
        page = browser.new_page(**options)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: request.url.startswith("data:") or said.append(request.url))
        page.goto(url)
        assert said == [url]
        return page

    yield open_page
    assert said == [url]
    for context in browser.contexts:
        context.close()


def barriers(page):
    """Return what axe calls serious or critical on a page, each with its first place."""
    faults = axe.Axe().run(page).response["violations"]
    return [
        (fault["id"], fault["nodes"][0]["html"])
        for fault in faults
        if fault["impact"] in ("serious", "critical")
    ]


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")


def test_it_opens_without_an_error_and_shows_every_image(opened):
    page = opened()
    widths = page.eval_on_selector_all("img", "images => images.map(image => image.naturalWidth)")
    figures = figure_names(made_page.plan(), "small")
    assert len(widths) == 1 + len(figures) and all(width > 0 for width in widths)


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_only_tables_and_figures_scroll_sideways_and_never_the_page(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 400:
        scrolling = "parts => parts.filter(part => part.scrollWidth > part.clientWidth).length"
        assert page.eval_on_selector_all(".scroll", scrolling) > 0


@pytest.mark.parametrize("width", [400, 500])
def test_on_a_phone_no_picture_is_cut(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    rights = page.eval_on_selector_all("img", "all => all.map(one => one.getBoundingClientRect().right)")
    assert rights and max(rights) <= width


def test_on_paper_every_verdict_is_there_notes_are_no_larger_than_tables_and_no_column_is_cut_off(opened):
    page = opened(viewport=A4_LANDSCAPE)
    folds = page.locator("details:not([open])").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    shown = "parts => parts.every(part => part.checkVisibility({contentVisibilityAuto: true}))"
    assert page.eval_on_selector_all(".claims .verdict, [id$=-accuracies] .verdict", shown)
    sizes = "parts => parts.map(part => parseFloat(getComputedStyle(part).fontSize))"
    assert max(page.eval_on_selector_all(".notes p", sizes)) <= min(page.eval_on_selector_all("table", sizes))
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == folds > 0
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8
    open_all(page)
    page.emulate_media(media="print")
    rights = page.eval_on_selector_all(
        "table, img", "parts => parts.map(part => part.getBoundingClientRect().right)"
    )
    assert max(rights) <= A4_LANDSCAPE["width"]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_axe_finds_nothing_that_shuts_people_out_of_the_report(opened, width, scheme):
    page = opened(viewport={"width": width, "height": 900}, color_scheme=scheme)
    open_all(page)
    page.wait_for_timeout(100)
    assert barriers(page) == []


def test_axe_finds_nothing_that_shuts_people_out_of_the_site(browser, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", tmp_path], cwd=ROOT, check=True
    )
    pages = "index.html", "add-a-paper.html", "cluster.html"
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        for name in pages:
            page.goto((tmp_path / name).as_uri())
            assert (name, barriers(page)) == (name, [])
        page.close()


def test_a_table_is_sorted_with_what_belongs_to_a_row_and_copied(opened):
    page = opened()
    table = page.locator("#wide-table-table4 table").first
    head = table.locator("th", has_text="dp").first
    before = table.locator("tbody tr").all_inner_texts()
    head.locator("button").click()
    head.locator("button").click()
    after = table.locator("tbody tr").all_inner_texts()
    assert head.get_attribute("aria-sort") == "descending" and sorted(after) == sorted(before)
    assert [row.lstrip()[:2] for row in after] == [row.lstrip()[:2] for row in before]
    texts = {
        name: page.evaluate(f"{name}(document.querySelector('#wide-table-table4 table'))")
        for name in ("csv", "latex")
    }
    assert texts["csv"].startswith('"Clients","Baseline","dp"') and texts["csv"].count("\n") == len(before)
    assert "\\pm" in texts["latex"] and texts["latex"].endswith("\\end{tabular}")
    page.locator("#wide-table-table4 .copy button").first.click()
    page.get_by_text("Copied as CSV").first.wait_for()


def test_every_link_of_the_contents_shows_what_it_names(opened):
    page = opened()
    links = page.locator("nav a")
    assert links.count() > 10
    for link in links.all():
        link.click()
        page.wait_for_function(
            "document.querySelector(location.hash).getBoundingClientRect().top < innerHeight"
        )
        assert page.evaluate("location.hash") == link.get_attribute("href")


def test_a_link_opens_the_fold_that_it_leads_to(opened):
    page = opened()
    page.locator("nav a[href$='-runs']").first.click()
    page.wait_for_function("document.querySelector('#small-runs > details').open")
    page.evaluate("location.hash = '#small-table-table1_epsilons'")
    page.wait_for_function("document.querySelector('#small-table-table1_epsilons').checkVisibility()")


@pytest.mark.parametrize("width", [1400, 390])
def test_the_first_screen_of_the_report_says_what_came_out_in_a_number_or_a_picture(opened, width):
    page = opened(viewport={"width": width, "height": 900})
    picture = page.locator("header img").first.bounding_box()
    assert page.locator("h1").count() == 1 and picture["y"] + picture["height"] < 900
    assert re.search(r"\d+ published numbers: ", page.locator("header .summary").first.inner_text())


@pytest.mark.parametrize("width", [1400, 390])
def test_the_first_screen_of_the_readme_says_what_to_type_and_which_epsilon_to_trust(browser, width):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_content(GITHUB + MarkdownIt("commonmark").enable("table").render(readme))
    command = page.locator("pre").first
    assert command.inner_text().startswith("make demo")
    assert command.bounding_box()["y"] < 700 and page.locator("h1").first.bounding_box()["y"] < 100
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture, table, trusted = (
        one.first.bounding_box()["y"]
        for one in (page.locator("img"), page.locator("table"), page.get_by_text("Which ε is a guarantee?"))
    )
    assert picture < table < trusted and table < (700 if width > 1000 else 1000)
    page.close()
