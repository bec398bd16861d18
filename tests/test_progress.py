import importlib
import math
import sys
import time
import tomllib
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from fedpriv import progress as shown
from fedpriv.progress import count_each, progress, remaining, transfer


def rows(accuracies):
    return [
        {"round": round_number, "test_accuracy": accuracy}
        for round_number, accuracy in enumerate(accuracies, start=1)
    ]


def test_without_a_terminal_the_last_round_is_one_plain_line(capsys):
    with progress("run seed 0", 0, 3) as report:
        for row in rows([0.1, math.nan, 0.75]):
            report(row)
    assert capsys.readouterr().err == "run seed 0: round 3 of 3, accuracy 0.750\n"


def test_a_terminal_gets_a_bar_with_the_last_accuracy(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress("run seed 0", 1, 3) as report:
        for row in rows([0.1, 0.75, math.nan])[1:]:
            report(row)
    said = capsys.readouterr().err
    assert "run seed 0" in said and "round 3 of 3" in said and "0.750" in said


@pytest.fixture
def at_once(monkeypatch):
    """Let lines come without delay, and return what waits until the first one has."""
    told = Event()
    monkeypatch.setattr(shown, "FIRST", 0.0)
    monkeypatch.setattr(shown, "print_stderr", lambda line: (print(line, file=sys.stderr), told.set()))
    return told.wait


def test_without_a_terminal_a_line_comes_before_anything_is_done(capsys, at_once):
    with progress("run seed 0", 0, 3):
        assert at_once(60)
    assert "run seed 0: round 0 of 3\n" in capsys.readouterr().err


def test_a_line_says_how_long_still_by_what_was_done_here(capsys, monkeypatch):
    told, clock = Event(), iter([0.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 100.0))
    monkeypatch.setattr(shown, "FIRST", 0.1)
    monkeypatch.setattr(shown, "print_stderr", lambda line: (print(line, file=sys.stderr), told.set()))
    with progress("run seed 0", 10, 40) as report:  # the first ten were done before
        report({"round": 20, "test_accuracy": 0.5})
        assert told.wait(60)
    assert capsys.readouterr().err == "run seed 0: round 20 of 40, accuracy 0.500, 3.3 min left\n"


def test_nobody_knows_how_long_what_has_not_begun_takes_or_has_no_known_end():
    assert remaining(10.0, done=0, left=5) == remaining(10.0, done=5, left=None) == ""
    assert remaining(200.0, done=20, left=10) == "100 s left"  # as long as what was done
    assert remaining(240.0, done=1, left=60) == "4.0 h left"


def test_items_are_counted_as_they_are_done_and_a_short_work_is_silent(capsys):
    assert list(count_each("storing", ["a", "b"], "run")) == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_a_download_is_told_in_megabytes(capsys, at_once):
    with transfer("raw", 4_000_000) as advance:
        assert at_once(60)
        advance(4_000_000)
    assert capsys.readouterr().err == "raw: 0.0 MB of 4.0\nraw: 4.0 MB of 4.0\n"


def test_a_follower_of_a_package_is_told_every_round_of_a_run_and_nothing_else(monkeypatch):
    told = []
    point = SimpleNamespace(load=lambda: lambda title: lambda row: told.append((title, row["round"])))
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [point] * (group == "fedpriv.followers")
    )
    with progress("run seed 0", 0, 2) as report:
        for row in rows([0.1, math.nan]):
            report(row)
    list(count_each("reading", [1, 2], "preset"))
    assert told == [("run seed 0", 1), ("run seed 0", 2)]


def test_the_example_of_a_tracker_writes_every_finite_number(monkeypatch):
    written = []
    writer = SimpleNamespace(add_scalar=lambda *number: written.append(number), flush=lambda: None)
    stub = SimpleNamespace(SummaryWriter=lambda place: written.append(place) or writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stub)
    folder = Path(__file__).parents[1] / "examples/trackers"
    monkeypatch.syspath_prepend(folder)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["fedpriv.followers"]["tensorboard"].partition(":")
    getattr(importlib.import_module(module), name)("run seed 0")(
        {"round": 3, "test_accuracy": 0.5, "loss": math.nan}
    )
    assert written == ["runs/run seed 0", ("round", 3, 3), ("test_accuracy", 0.5, 3)]
