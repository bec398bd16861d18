"""Plain traces on the command line: what they cost, and the bound beneath."""

import json

import pandas as pd
import pytest

from fedpriv.account import ledger, statements

ROWS = pd.DataFrame(
    {
        "unit": "client",
        "sampling_law": "poisson",
        "sampling_rate": [0.01, 0.02],
        "noise_multiplier": [1.0, 1.5],
        "releases": [1000, 500],
    }
)


@pytest.fixture
def trace(here):
    ROWS.to_csv(here / "trace.csv", index=False)
    ROWS.assign(lr=0.1).to_csv(here / "more.csv", index=False)
    return here / "trace.csv"


def read(out):
    return json.loads("\n".join(out))


def test_a_trace_is_accounted_as_in_python_and_nothing_is_written(fedpriv, trace, here):
    code, out, err = fedpriv("account", "trace.csv", "--delta", "1e-5", "--json")
    assert (code, err) == (0, [])
    counted = {(one["accountant"], one["sensitivity"]): one["epsilon"] for one in read(out)["statements"]}
    assert counted == {
        (one.accountant, one.sensitivity): pytest.approx(one.epsilon)
        for one in statements(ledger(ROWS, 1e-5))
    }
    assert not list(here.glob("*ledger*"))


def test_the_delta_of_examples_is_theirs_and_else_that_of_every_unit(fedpriv, here):
    ROWS.assign(unit="instance").to_csv(here / "steps.csv", index=False)
    for words in (["--delta", "1e-6"], ["--instance-delta", "1e-6"], ["--delta", "1", "--instance-delta"]):
        words = [*words[:-1], "1e-6"] if words[-1] == "1e-6" else ["--delta", "1e-3", words[-1], "1e-6"]
        _, out, _ = fedpriv("account", "steps.csv", *words, "--json")
        assert {one["delta"] for one in read(out)["statements"]} == {1e-6}


def test_a_column_that_says_nothing_about_privacy_is_named(fedpriv, refused, trace):
    assert "more.csv: trace: found the unknown column lr" in refused("account", "more.csv", "--delta", "1e-5")
    assert "--ignore NAME" in refused("audit", "more.csv", "--delta", "1e-5")
    for verb in ("account", "audit"):
        code, out, _ = fedpriv(verb, "more.csv", "--ignore", "lr", "--delta", "1e-5")
        assert code == 0 and any("moments" in line for line in out)


def test_a_trace_is_audited_beside_every_epsilon(fedpriv, trace):
    code, out, err = fedpriv("audit", "trace.csv", "--delta", "1e-5", "--json")
    assert (code, err) == (0, [])
    found = {one["about"]: one for one in read(out)["findings"]}
    tight = found["client (pld C)"]
    assert 0.97 * tight["epsilon"] < tight["lower_bound"] <= tight["epsilon"]
    assert all(one["verdict"] == "not refuted" and one["confidence"] == 1 for one in found.values())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["account", "trace.csv"], "trace.csv: at which δ?"),
        (["account", "trace.csv", "--delta", "2"], "trace.csv: delta: found 2"),
        (["account", "none.csv", "--delta", "1e-5"], "none.csv: found no such file"),
        (["account", "out", "--ignore", "lr"], "account RUN does not take --ignore"),
        (
            ["audit", "trace.csv", "--delta", "1e-5", "--q", ".1"],
            "audit TRACE.csv does not take --sample-rate",
        ),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line(words, named, refused, trace):
    assert named in refused(*words)


def test_a_delta_that_is_not_below_one_over_n_has_a_line_in_text_and_in_json(fedpriv, here):
    ROWS.assign(population=1000).to_csv(here / "some.csv", index=False)
    line = "δ = 0.001 is not below 1/n = 0.001 (n = 1,000 clients): whoever publishes one of them, at random"
    _, out, _ = fedpriv("account", "some.csv", "--delta", "1e-3")
    assert sum(text.startswith(line) for text in out) == 1
    _, out, _ = fedpriv("account", "some.csv", "--delta", "1e-3", "--json")
    assert all(one["note"].startswith(line) and one["population"] == 1000 for one in read(out)["statements"])
    _, out, _ = fedpriv("account", "some.csv", "--delta", "1e-5", "--json")
    assert not any(one["note"] for one in read(out)["statements"])
