import math
import sys

from fedpriv.progress import progress


def rows(accuracies):
    return [{"round": round, "test_accuracy": accuracy} for round, accuracy in enumerate(accuracies, start=1)]


def test_without_a_terminal_the_last_round_is_one_plain_line(capsys):
    with progress("run seed 0", 0, 3) as report:
        for row in rows([0.1, math.nan, 0.75]):
            report(row)
    assert capsys.readouterr().err == "run seed 0: round 3 of 3, accuracy 0.750\n"


def test_a_round_that_was_not_evaluated_claims_no_accuracy(capsys):
    with progress("run seed 0", 0, 1) as report:
        report(rows([math.nan])[0])
    assert capsys.readouterr().err == "run seed 0: round 1 of 1\n"


def test_a_terminal_gets_a_bar_with_the_last_accuracy(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress("run seed 0", 1, 3) as report:
        for row in rows([0.1, 0.75, math.nan])[1:]:
            report(row)
    shown = capsys.readouterr().err
    assert "run seed 0" in shown and "3/3" in shown and "0.750" in shown
