import importlib.util
import math
import re
import runpy
import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from dp_accounting import get_epsilon_gaussian
from support.pixels import assert_same_picture

from fedpriv import docs
from fedpriv.account import ACCOUNTANTS, ledger, rdp
from fedpriv.account.check import checked_trace
from fedpriv.account.releases import distinct_releases, planned_release
from fedpriv.account.views import ADD_OR_REMOVE, View
from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.audit.dry.attacks import statement
from fedpriv.audit.dry.rounds import Site
from fedpriv.data.own import Npz
from fedpriv.docs import columns, front, papers, pictures
from fedpriv.errors import BadInput
from fedpriv.paper.paper import homes, load_paper
from fedpriv.report.collect import SCHEMAS
from fedpriv.schemes import SCHEMES
from fedpriv.streams import Streams
from fedpriv.trace import MECHANISMS, TRACE, own_columns

ROOT = Path(__file__).parents[2]
PAGES = docs.pages(ROOT)
TYPED = re.compile(r"```.*?```|^ {4,}\S.*?$", re.MULTILINE | re.DOTALL)  # commands, which measure nothing


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Return a function that imports the one Python example of a page that begins so."""

    def load(page, begins):
        (code,) = re.findall(rf"```python\n({begins}.+?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
        (tmp_path / "example.py").write_text(code)
        spec = importlib.util.spec_from_file_location("example", tmp_path / "example.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "example", module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="module")
def drawn_pictures(tmp_path_factory):
    """Return a folder whose docs/ has the pictures that `make docs` would draw now."""
    root = tmp_path_factory.mktemp("pictures")
    (root / "docs").mkdir()
    (root / "results").symlink_to(ROOT / "results")
    pictures.draw_pictures(root)
    return root


def test_what_is_generated_is_what_make_docs_writes():
    pytest.importorskip("fedpriv_studies", reason="its papers have pages, too")
    written = {path: path.read_text(encoding="utf-8") for path in PAGES}
    assert [path.name for path in PAGES if written[path] != PAGES[path]] == [], "run make docs"
    assert set((ROOT / "docs/papers").iterdir()) <= set(PAGES)


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_the_pictures_of_the_pages_are_of_the_stored_tables(name, drawn_pictures):
    assert_same_picture(ROOT / "docs" / name, drawn_pictures / "docs" / name)


def test_a_paper_without_stored_results_has_a_page_that_says_so_and_a_study_of_it_has_none(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    found = papers.pages(tmp_path)
    assert "No results of it are stored in git yet." in found["nbafl"] and "|" not in found["nbafl"]
    assert "bdp2019" in found and "bdp2019_search" not in found


@pytest.mark.parametrize("source", front.SOURCES.values())
def test_no_measured_number_is_typed(source):
    text = (ROOT / "docs/source" / source).read_text(encoding="utf-8")
    prose = TYPED.sub("", front.BLOCK.sub("", front.QUOTE.sub("", text)))
    typed = re.findall(r"(?<![=.\w] )(?<![.\w])\d+\.\d+(?![\w.])", prose)
    assert "±" not in prose and set(typed) <= {"3.11", "46.4"}  # Python, the largest class of APTOS


@pytest.mark.parametrize("quote", ["table2 | 1 | dp", "table0 | 100 | dp", "claims | tight | N = 3"])
def test_a_quote_of_no_cell_is_named(quote):
    with pytest.raises(ValueError, match=re.escape(quote)):
        front.fill_quotes(f"{{{{paper/bdp2019/{quote}}}}}", ROOT / "results/reference")


def test_the_readme_says_how_many_seeds_a_preset_has_and_of_which_epsilon_it_is_no_guarantee():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = {name: int(seeds) for name, seeds in re.findall(r"^\| `(\w+)` \|.* (\d+) seeds? \|", text, re.M)}
    configs = {name: (ROOT / f"config/{name}.yaml").read_text(encoding="utf-8") for name in said}
    assert len(said) > 5 and {name: yaml.safe_load(one)["seeds"] for name, one in configs.items()} == said
    assert re.search(r"^\| DP, as in the paper \|.*\| \*\*not a guarantee\*\*:", text, re.M)
    assert re.search(r"^\| Bayesian DP, the same run \|.*\| \*\*estimate\*\*", text, re.M)


def test_the_citation_has_the_version_of_the_project_and_every_paper_that_others_wrote():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = ("version", "license", "authors")
    assert [cited[key] for key in wanted] == [project[key] for key in wanted]
    ours = "The fedpriv authors"
    found = [load_paper(*one) for one in homes(ROOT / "config/papers").items()]
    theirs = {(paper.title, paper.year, paper.url) for paper in found if paper.by != ours}
    assert {(one["title"], one["year"], one["url"]) for one in cited["references"]} >= theirs


def test_the_page_on_traces_explains_every_column_and_ends_no_cell_with_nothing():
    own = {name: one for mechanism in MECHANISMS for name, one in own_columns(mechanism).items()}
    known = TRACE, {name: column.dtype for name, column in own.items()}, SCHEMAS["runs"]
    for part, wanted in zip(columns.columns_page().split("\n## "), known, strict=True):
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \|", part, re.MULTILINE)
        assert {name: dtype for name, dtype, _ in rows} == wanted
        assert all(meaning.strip() for *_, meaning in rows)


def test_the_page_on_extending_writes_a_data_file_in_ten_lines_and_its_model_reads_it(
    example, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    example("extending.md", r"import numpy as np\n\nrng")
    found = Npz(npz="mine.npz").arrays()
    assert found.x_train.shape == (1000, 3, 32, 32) and len(set(found.owner)) == 50
    net = example("extending.md", "from torch import nn").Net(classes=3, width=64)
    assert net(torch.from_numpy(found.x_test[:4] / np.float32(255))).shape == (4, found.classes)


def test_the_mechanism_of_the_template_is_counted_by_its_own_accountant_and_by_no_other(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples/fedpriv-template/src")
    mine = importlib.import_module("fedpriv_template.partial_sums")
    monkeypatch.setitem(MECHANISMS, "prefix", mine.PREFIX)
    monkeypatch.setitem(SCHEMES, "prefix", mine.Prefix)
    settings = {"cohort": {"law": "full"}}
    site = Site(dry.mechanism_by_name("prefix", AlikeRounds(1.0, 20.0, 8), 1e-3, settings), 400, 500)
    with pytest.raises(BadInput, match="found prefix with these settings, whose facts state no ε"):
        statement(site, 1e-3)
    monkeypatch.setitem(ACCOUNTANTS, "prefix", mine.ACCOUNTANT)
    facts = site.play(torch.zeros(400, 500), np.arange(400), 1, {}, Streams(0, "x")).facts
    trace = checked_trace(pd.DataFrame([site.row(facts, round_number, 400) for round_number in range(1, 9)]))
    found = ledger(trace, 1e-3).query("accountant == 'prefix'")
    moved = math.sqrt(sum(t**2 for t in range(1, 9)))
    assert found["epsilon"].iloc[-1] == pytest.approx(get_epsilon_gaussian(20.0 / moved, 1e-3), rel=1e-6)
    with pytest.raises(BadInput, match="whose rounds depend on each other"):
        statement(site, 1e-3)


def test_the_scheme_of_the_page_on_extending_passes_the_dry_run_that_it_names(example):
    plan = AlikeRounds(0.3, 2.0, 8)
    scheme = example("extending.md", "from fedpriv.schemes.client_dp").TopK(clip_l2=1.0, noise_multiplier=2.0)
    mechanism = dry.mechanism_by_name("client_dp", plan, 1e-3)._replace(scheme=scheme)
    found = dry.audit_mechanism(mechanism, 1e-3, 400)
    assert not found.refuted and "postprocess" in found.attacked and 0 < found.epsilon < math.inf


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_the_accountant_of_the_template_counts_no_less_than_is_spent(rate):
    releases = distinct_releases([planned_release(rate, 10.0)] * 100, np.ones(100, dtype=int))
    view = View("client", "", "poisson", ADD_OR_REMOVE, ("C", "2C"), True, *releases, None)
    zcdp = runpy.run_path(str(ROOT / "examples/fedpriv-template/src/fedpriv_template/zcdp.py"))
    found = {curve.sensitivity: curve.epsilon for curve in zcdp["curves"](view, 1e-5)}
    assert found["C"][-1] == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(1e5)))  # ρ = 100/(2·10²)
    for curve in rdp.curves(view, 1e-5):
        assert (found[curve.sensitivity] >= curve.epsilon).all()
