"""What a file says that it was made with: another accountant is another version, another page is not."""

import shutil
import subprocess
import sys

import pytest

from fedpriv.files import made

CACHED = (made.maker_version, made.read, made.beside, made.module_file)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A copy of our sources that a test may edit; versions are those of the copy."""
    copy = shutil.copytree(made.SOURCE, tmp_path / "fedpriv", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(made, "SOURCE", copy)
    yield copy
    forget()


def forget():
    for one in CACHED:
        one.cache_clear()


def version(maker):
    forget()
    return made.maker_version(maker)


@pytest.mark.parametrize(
    ("maker", "edited", "changes"),
    [
        ("account.runs", "account/moments.py", True),
        ("account.runs", "account/loss.py", True),
        ("account.runs", "trace.py", True),
        ("account.runs", "workflow/rules.py", False),
        ("account.runs", "report/notes.py", False),
        ("account.runs", "cli/app.py", False),
        ("report.paper", "audit/outlier.py", False),  # there is none
        ("report.collect", "audit/clients.py", False),
        ("report.collect", "account/bayesian.py", True),
        ("report.paper", "report/tables/columns.py", True),
        ("report.paper", "report/figures/rounds.py", True),
        ("report.paper", "report/claims/judge.py", True),
        ("report.page", "report/page/page.html.j2", True),
        ("report.page", "train/loop.py", False),
    ],
)
def test_an_edit_makes_another_version_of_what_is_made_with_it_and_of_nothing_else(
    maker, edited, changes, source
):
    before = version(maker)
    assert version(maker) == before
    with (source / edited).open("a") as file:
        file.write("\n# corrected\n")
    assert (version(maker) != before) == changes


@pytest.mark.parametrize("maker", ["account.runs", "report.collect", "report.paper"])
def test_a_version_knows_every_file_that_python_itself_imports(maker):
    ours = "(m.__file__ for n, m in sys.modules.items() if n[:8] == 'fedpriv.')"
    code = f"import sys, fedpriv.{maker}; print(*{ours})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = set(done.stdout.split())
    assert len(files) > 10 and files <= {str(path) for path in made.sources(maker)}


def test_a_file_says_what_it_was_made_with_wherever_that_stands_in_its_end(tmp_path):
    text = made.made("account.runs", {"delta": 1e-3})
    (tmp_path / "file").write_bytes(bytes(100_000) + text.encode() + bytes(1000))
    assert made.said(tmp_path / "file") == text != made.made("account.runs", {"delta": 1e-4})
    (tmp_path / "file").write_bytes(b"nothing")
    assert made.said(tmp_path / "file") == made.said(tmp_path / "none") == ""
