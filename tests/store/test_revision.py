"""A version says of which commit the code is, or that nobody knows it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fedpriv.store import machine

SETTINGS = ["-c", "user.name=x", "-c", "user.email=x@y.z"]


def repository(root: Path, place: str) -> Path:
    """Return this file's copy at a place of a repository in which it is committed."""
    copy = root / place
    copy.parent.mkdir(parents=True)
    shutil.copy(machine.__file__, copy)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", *SETTINGS, *words], cwd=root, check=True)
    return copy


def test_a_checkout_has_its_commit_and_says_that_files_were_changed(tmp_path, monkeypatch):
    copy = repository(tmp_path, machine.HERE)
    monkeypatch.setattr(machine, "__file__", str(copy))
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True)
    assert machine.checkout() == head.stdout[: len(machine.checkout())] and len(machine.checkout()) == 12
    copy.write_text("changed")
    assert machine.checkout().endswith("-dirty")


def test_a_copy_in_the_repository_of_somebody_else_is_of_an_unknown_revision(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "__file__", str(repository(tmp_path, f"vendor/{machine.HERE}")))
    assert machine.checkout() == "" and machine.code().endswith("+unknown")


def test_a_repository_that_git_refuses_to_read_is_of_an_unknown_revision(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "__file__", str(repository(tmp_path, machine.HERE)))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert machine.code().endswith("+unknown")


@pytest.mark.parametrize(
    ("origin", "revision"),
    [
        (None, ""),  # from an index: the release says it
        ({"url": "file:///a/folder", "dir_info": {}}, "unknown"),
        (
            {"url": "https://x.org/y", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}},
            "0123456789ab",
        ),
    ],
)
def test_what_pip_has_installed_says_where_from(origin, revision, monkeypatch):
    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps(origin) if origin and name == "direct_url.json" else None

    monkeypatch.setattr(machine, "distribution", lambda name: Installed())
    assert machine.installed() == revision
