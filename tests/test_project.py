import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from fedpriv import docs
from fedpriv.config import Run
from fedpriv.schemes import SCHEMES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [Requirement(text) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"])]


def pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (Requirement(line) for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}


@pytest.mark.parametrize("needed", NEEDED, ids=lambda needed: needed.name)
def test_every_dependency_is_pinned_to_a_version_that_it_allows(needed):
    assert Version(pinned()[canonicalize_name(needed.name)]) in needed.specifier


def test_conda_users_get_the_same_python_and_the_same_pinned_packages():
    wanted = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    python, pip = wanted[0], wanted[-1]["pip"]
    assert python == f"python{PROJECT['requires-python']}"
    assert pip == ["-c constraints.txt", "-e .[dev]"]
    assert "dev" in PROJECT["optional-dependencies"]


@pytest.mark.parametrize("page", docs.pages(ROOT), ids=lambda page: page.name)
def test_a_generated_page_says_what_the_code_says(page):
    assert page.read_text(encoding="utf-8") == docs.pages(ROOT)[page], "run make docs"


def test_the_config_page_has_every_key_of_every_kind_of_run():
    page = docs.config_page()
    for key in Run.model_fields:
        assert f"| `{key}` |" in page
    for name, scheme in SCHEMES.items():
        assert f"## scheme: {name}\n" in page
        assert all(f"| `{key}` |" in page for key in scheme.model_fields if key != "name")


def test_every_link_of_the_config_page_leads_to_a_heading():
    page = docs.config_page()
    headings = {
        title.lower().replace(":", "").replace(" ", "-") for title in re.findall(r"^## (.+)$", page, re.M)
    }
    assert set(re.findall(r"\(#([^)]+)\)", page)) <= headings


def test_a_mark_ends_with_its_paragraph_or_at_the_next_mark():
    docstring = '"""Do it.\n\nDEVIATION: one\nline.\nDEVIATION: two.\n\nNot this.\n"""\n'
    source = docstring + "# DEVIATION: three\n# four\nx = 1\n# no\n"
    assert docs.deviations(source) == ["one line.", "two.", "three four"]


def test_make_help_names_every_target():
    makefile = (ROOT / "Makefile").read_text()
    (targets,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    said = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^make (\w+)", said, re.MULTILINE)) == set(targets.split())


def test_the_page_on_schemes_shows_one_that_works(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.+?)```", (ROOT / "docs/add-a-scheme.md").read_text(), re.DOTALL)
    (tmp_path / "clip_only.py").write_text(code)
    spec = importlib.util.spec_from_file_location("clip_only", tmp_path / "clip_only.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "clip_only", module)
    spec.loader.exec_module(module)
    bounded, facts = module.ClipOnly(clip_l2=0.3).bound(torch.eye(2))
    assert bounded.updates.norm(dim=1).tolist() == pytest.approx([0.3, 0.3])
    assert facts["share_clipped"] == 1.0


@pytest.mark.parametrize(
    ("module", "never"),
    [
        ("fedpriv.plan", ["torch", "pandas", "matplotlib", "scipy.stats", "dp_accounting"]),
        ("fedpriv.data", ["torch"]),
        ("fedpriv.account.ledger", ["torch"]),
        ("fedpriv.report.collect", ["torch"]),
        ("fedpriv.report.tables", ["torch"]),
        ("fedpriv.report.figures", ["torch"]),
        ("fedpriv.report.claims", ["torch"]),
        ("fedpriv.cli", ["torch", "pandas", "numpy"]),
    ],
)
def test_what_must_start_fast_imports_nothing_heavy(module, never):
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(never) & set(loaded.stdout.split())
