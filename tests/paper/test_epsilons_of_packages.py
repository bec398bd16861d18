"""The accountant of a package is named where ours are: in papers, plans and budgets; others are one line."""

import sys

import numpy as np
import pandas as pd
import pytest

from fedpriv import registry
from fedpriv.account import calibrate, epsilon, ledger
from fedpriv.account.accountants import ACCOUNTANTS
from fedpriv.cli.app import main
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.paper.tables import RunColumn
from fedpriv.trace import MECHANISMS

PACKAGE = """
import numpy as np
from fedpriv.account.accountants import Accountant

def curves(view, delta):
    rho = view.running(0.5 / np.square([one.multiplier("C") for one in view.releases]))
    return [view.curve(rho + 2 * np.sqrt(rho * np.log(1 / delta)), np.full(len(rho), np.nan), "zcdp", "C")]

def plan(*, sampling_rate, noise_multiplier, rounds, delta, slack=1.0):
    rho = rounds / (2 * noise_multiplier**2)
    return slack * (rho + 2 * np.sqrt(rho * np.log(1 / delta)))

ZCDP = Accountant(curves, plan=plan)
"""


@pytest.fixture
def zcdp(tmp_path, monkeypatch):
    """Install a package with an accountant."""
    folder = tmp_path / "adder-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: adder\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[fedpriv.accountants]\nzcdp = added_accountant:ZCDP\n")
    (tmp_path / "added_accountant.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added_accountant", raising=False)
    registry.points.cache_clear()
    vars(ACCOUNTANTS).pop("data", None)
    yield
    vars(ACCOUNTANTS).pop("data", None)
    registry.points.cache_clear()


def column(selector):
    return parse(RunColumn.model_validate, {"name": "epsilon", "accountant": selector}, "a table")


def test_a_table_asks_for_it_by_the_key_that_its_rows_have(zcdp):
    column("moments C")
    assert "zcdp" in ACCOUNTANTS and "added_accountant" not in sys.modules  # until somebody asks for it
    trace = pd.DataFrame({"unit": "client", "sampling_law": "full", "noise_multiplier": 9.0}, index=range(3))
    rows = ledger(trace, 1e-5).query("accountant == 'zcdp'")
    selector = column("zcdp C").accountant
    assert selector.key == tuple(rows[list(type(selector).model_fields)].iloc[-1])
    assert str(selector) == "zcdp, sensitivity C" and selector.kind == "guarantee"


@pytest.mark.parametrize("said", ["ftrl C", "zcdp C"])
def test_one_that_is_not_installed_is_one_line_that_names_those_that_are(said):
    name = said.split()[0]
    with pytest.raises(BadInput, match=rf"found {name} in '{said}', allowed: .*moments\|rdp\|pld"):
        column(said)
    with pytest.raises(BadInput, match=f"accountant: found {name}, allowed: moments, rdp, pld"):
        column({"accountant": name})


def test_it_does_not_count_bits(zcdp):
    with pytest.raises(BadInput, match=r"found bits in 'zcdp bits', allowed: .*; C\|2C"):
        column("zcdp bits")
    with pytest.raises(BadInput, match="sensitivity of zcdp: found bits, allowed: C, 2C"):
        column({"accountant": "zcdp", "sensitivity": "bits"})


def test_plans_and_budgets_are_certified_by_it(zcdp, capsys):
    plan = {"sampling_rate": 0.3, "rounds": 50, "delta": 1e-3, "accountant": "zcdp"}
    noise = calibrate(epsilon=5.0, **plan)
    assert epsilon(noise_multiplier=noise, **plan).epsilon == pytest.approx(5.0, rel=1e-5)
    assert epsilon(noise_multiplier=noise, slack=2.0, **plan).epsilon == pytest.approx(10.0, rel=1e-5)
    words = "calibrate --epsilon 5 -q .3 --rounds 50 --delta 1e-3 --accountant zcdp"
    assert main(words.split()) == 0
    assert f"{noise:.4g}" in capsys.readouterr().out
    scheme = {"name": "client_dp", "clip_l2": 1.0}
    scheme["noise_multiplier"] = {"epsilon": 5.0, "accountant": "zcdp"}
    told = {"dataset": "digits", "partition": {"law": "iid", "clients": 10}, "model": "cnn", "rounds": 50}
    told |= {"cohort": {"law": "poisson", "rate": 0.3}, "account": {"delta": 1e-3}, "scheme": scheme}
    run = parse(Run.model_validate, told, "a run")
    assert run.scheme.noise_multiplier == pytest.approx(noise, rel=1e-3)


def test_it_says_nothing_of_correlated_noise_and_of_clients_in_turn(zcdp):
    columns = {"unit": "client", "noise_multiplier": 9.0, "population": 9, "cohort_size": 3}
    for law, mechanism in (("full", "correlated_gaussian"), ("full", "other"), ("spaced", "gaussian")):
        if law not in COHORTS or mechanism not in MECHANISMS:
            continue  # of fedpriv-studies, which is not installed
        size = 9 if law == "full" else 3
        told = columns | {"cohort_size": size, "sampling_law": law, "mechanism": mechanism}
        found = ledger(pd.DataFrame(told, index=range(3)), 1e-5)
        assert (
            "zcdp" not in set(found["accountant"]) and not np.isin(["pld", "rdp"], found["accountant"]).any()
        )
