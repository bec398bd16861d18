"""What a reader may copy: the example of one run, and what docstrings say comes out."""

import doctest
import runpy
from pathlib import Path

import pytest

from fedpriv.account import ledgers, plans, statement
from fedpriv.report import lines, numbers, sample, sentences, verdicts

EXAMPLE = Path(__file__).parents[1] / "examples/one_run.py"


def test_the_example_trains_within_the_epsilon_that_it_asks_for(tmp_path, capsys):
    trace = runpy.run_path(str(EXAMPLE))["main"](tmp_path)
    assert len(trace) == 60 and trace["test_accuracy"].dropna().iloc[-1] > 0.5
    counted = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ε = ")]
    assert any(
        line.startswith("ε = 8 at δ = 1e-05 (unit client, relation add_remove") and "accountant pld" in line
        for line in counted
    )


@pytest.mark.parametrize(
    "module",
    [ledgers, plans, statement, lines, numbers, sample, sentences, verdicts],
    ids=lambda module: module.__name__,
)
def test_a_docstring_says_what_comes_out(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
