import ast
import importlib.util
import math
import re
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from dp_accounting import get_epsilon_gaussian

from fedpriv import docs
from fedpriv.account import ACCOUNTANTS, rdp
from fedpriv.account.events import planned
from fedpriv.account.view import ADD_OR_REMOVE, View, distinct
from fedpriv.audit import dry
from fedpriv.audit.likelihood import Plan
from fedpriv.config.run import Run
from fedpriv.data.own import Npz
from fedpriv.docs import columns, deviations, keys, papers
from fedpriv.errors import BadInput
from fedpriv.paper.paper import load_paper
from fedpriv.report.collect import SCHEMAS
from fedpriv.schemes import SCHEMES
from fedpriv.trace import MECHANISMS, TRACE, own_columns

ROOT = Path(__file__).parents[2]
PAGES = docs.pages(ROOT)


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Return a function that imports the one Python example of a page that begins so."""

    def load(page, begins=r"\"\"\""):
        (code,) = re.findall(rf"```python\n({begins}.+?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
        (tmp_path / "example.py").write_text(code)
        spec = importlib.util.spec_from_file_location("example", tmp_path / "example.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "example", module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_generated_page_says_what_the_code_says(page):
    assert page.read_text(encoding="utf-8") == PAGES[page], "run make docs"


def test_every_mark_of_a_deviation_is_on_its_page():
    page = PAGES[ROOT / "docs/deviations.md"]
    said = {path: deviations.marks(path.read_text()) for path in (ROOT / "src/fedpriv").rglob("*.py")}
    said.pop(ROOT / "src/fedpriv/docs/deviations.py")
    assert [one for some in said.values() for one in some if one[1:] not in page] == []


def test_no_page_is_left_of_a_paper_that_is_gone():
    assert set((ROOT / "docs/papers").iterdir()) <= set(PAGES)


def test_the_config_page_has_every_key_of_every_kind_of_run():
    page = keys.page()
    for key in Run.model_fields:
        assert f"| `{key}` |" in page
    for name, scheme in SCHEMES.items():
        assert f"## scheme: {name}\n" in page
        assert all(f"| `{key}` |" in page for key in scheme.model_fields if key != "name")


def test_the_config_page_says_what_a_key_means_unless_its_name_does():
    rows = re.findall(r"^## (.+)$|^\| `(\w+)` \|.*\|(.*)\|$", keys.page(), re.MULTILINE)
    assert len(rows) > 300
    # Of a few the name says it all.
    plain = [key for _, key, remark in rows if key and not remark.strip()]
    assert {"year", "family", "label", "learning_rate"} <= set(plain) and len(plain) < 25


def test_what_a_key_means_is_the_docstring_below_it():
    source = """
class Own(Frozen):
    '''What it is for.'''

    plain: int
    '''Below, on
    two lines.
    '''
    none: int = 3
    unit: ClassVar[str] = "client"

    def verb(self):
        '''Do it.'''
"""
    assert keys.said(source) == {"plain": "Below, on two lines."}


def test_a_mark_ends_with_its_paragraph_or_at_the_next_mark():
    docstring = '"""Do it.\n\nDEVIATION: one\nline.\nDEVIATION: two.\n\nNot this.\n"""\n'
    source = docstring + "# DEVIATION: three\n# four\nx = 1\n# no\n"
    assert deviations.marks(source) == ["one line.", "two.", "three four"]


def test_the_page_on_traces_explains_every_column_and_ends_no_cell_with_nothing():
    own = own_columns("correlated_gaussian")
    known = TRACE, {name: column.dtype for name, column in own.items()}, SCHEMAS["runs"]
    for part, wanted in zip(columns.page().split("\n## "), known, strict=True):
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \|", part, re.MULTILINE)
        assert {name: dtype for name, dtype, _ in rows} == wanted
        assert all(meaning.strip() for *_, meaning in rows)


def test_the_page_of_a_paper_has_its_kept_tables_figures_and_verdicts():
    for page, preset in (("bdp2019", "paper"), ("bdp2019_laptop", "laptop")):
        text = PAGES[ROOT / f"docs/papers/{page}.md"]
        stored = ROOT / f"results/reference/{preset}/bdp2019"
        for table in (stored / "tables/table2.md", stored / "claims.md"):
            title, *blocks = table.read_text(encoding="utf-8").split("\n\n")
            grid = next(block for block in blocks if block.startswith("|"))
            caption = "".join(blocks[: blocks.index(grid)])
            assert f"##{title}\n\n{caption}" in text and f"\n\n{re.sub(' {2,}', ' ', grid)}\n" in text
        for figure in stored.glob("figures/*.png"):
            assert f"(../../results/reference/{preset}/bdp2019/figures/{figure.name})" in text
        for claim in load_paper("bdp2019", ROOT / "config/papers").claims:
            assert claim.text in text


def test_the_page_of_a_paper_shows_the_full_size_and_what_does_not_follow_within_400_lines():
    page = PAGES[ROOT / "docs/papers/bdp2019.md"]
    assert page.index("## Preset `paper`") < page.index("## Statements that do not follow")
    assert "## Preset `laptop`" not in page and "](bdp2019_laptop.md)" in page
    assert all(claim.unsound in page for claim in load_paper("bdp2019", ROOT / "config/papers").claims)
    assert page.count("\n") <= 400


def test_the_page_of_a_paper_that_claims_nothing_speaks_of_no_verdicts():
    assert not load_paper("bdp2019_search", ROOT / "config/papers").claims
    page = PAGES[ROOT / "docs/papers/bdp2019_search.md"]
    assert "21 of the paper's 21 runs" in page and "verdict" not in page.lower()


def test_the_page_of_a_paper_without_results_says_that_there_are_none(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (page,) = {text for name, text in papers.pages(tmp_path).items() if name == "nbafl"}
    assert "No results of it are stored in git yet." in page and "|" not in page


def test_the_page_on_extending_writes_a_data_file_in_ten_lines_and_its_model_reads_it(
    example, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    example("extending.md", "import numpy")
    found = Npz(npz="mine.npz").arrays(tmp_path)
    assert found.x_train.shape == (1000, 3, 32, 32) and len(set(found.owner)) == 50
    net = example("extending.md", "import torch").Net(classes=3, width=64)
    assert net(torch.from_numpy(found.x_test[:4] / np.float32(255))).shape == (4, found.classes)


def test_the_page_on_extending_shows_a_scheme_that_works(example):
    bounded, facts = example("extending.md", r"\"\"\"Clip").ClipOnly(clip_l2=0.3).bound(torch.eye(2), None)
    assert bounded.updates.norm(dim=1).tolist() == pytest.approx([0.3, 0.3])
    assert facts["share_clipped"] == 1.0


def test_the_mechanism_of_the_template_is_counted_by_its_own_accountant_and_by_no_other(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples/fedpriv-template/src")
    mine = importlib.import_module("fedpriv_template.partial_sums")
    monkeypatch.setitem(MECHANISMS, "prefix", mine.PREFIX)
    monkeypatch.setitem(SCHEMES, "prefix", mine.Prefix)
    settings = {"cohort": {"law": "full"}}
    mechanism = dry.named("prefix", Plan(1.0, 20.0, 8), 1e-3, settings)
    with pytest.raises(BadInput, match="found prefix with these settings, whose facts state no ε"):
        dry.audited(mechanism, 1e-3, 100)
    monkeypatch.setitem(ACCOUNTANTS, "prefix", mine.ACCOUNTANT)
    found = dry.audited(mechanism, 1e-3, 4000)
    moved = math.sqrt(sum(t**2 for t in range(1, 9)))
    assert found.epsilon == pytest.approx(get_epsilon_gaussian(20.0 / moved, 1e-3), rel=1e-6)
    assert not found.refuted and 0 < found.lower_bound <= found.epsilon


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_the_accountant_of_the_template_counts_no_less_than_is_spent(rate):
    releases = distinct([planned(rate, 10.0)] * 100, np.ones(100, dtype=int))
    view = View("client", "", "poisson", ADD_OR_REMOVE, ("C", "2C"), True, *releases, None)
    zcdp = runpy.run_path(str(ROOT / "examples/fedpriv-template/src/fedpriv_template/zcdp.py"))
    found = {curve.sensitivity: curve.epsilon for curve in zcdp["curves"](view, 1e-5)}
    assert found["C"][-1] == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(1e5)))  # ρ = 100/(2·10²)
    for curve in rdp.curves(view, 1e-5):
        assert (found[curve.sensitivity] >= curve.epsilon).all()


def test_the_way_of_a_number_names_functions_that_are_there_in_at_most_twelve_stops():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    way = page.partition("## Where a number of a table comes from")[2].partition("\n## ")[0]
    stops = re.findall(r"\[`([\w.]+)`\]\(\.\./(src/[\w/]+\.py)\)", way)
    for name, file in stops:
        there = {".".join(path) for path in defined(ast.parse((ROOT / file).read_text(encoding="utf-8")))}
        assert name in there, f"{file}: {name}"
    assert 1 <= len(re.findall(r"^\d+\. ", way, re.MULTILINE)) <= 12
    assert len({file for _, file in stops}) >= 8


def defined(node, above=()):
    """Yield the path of every function and class below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield (*above, child.name)
            yield from defined(child, (*above, child.name))


def test_the_pages_beside_those_of_papers_are_read_in_an_hour():
    assert sum(page.read_text(encoding="utf-8").count("\n") for page in (ROOT / "docs").glob("*.md")) <= 2700
