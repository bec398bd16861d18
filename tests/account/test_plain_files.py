"""Plain traces in files: read or refused by name, told apart into phases, laid out for a curve."""

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import ledger, plans, spends
from fedpriv.account.check import checked
from fedpriv.account.foreign import AlikeReleases, phases, read, spread
from fedpriv.errors import BadInput

ROWS = pd.DataFrame(
    {
        "unit": "client",
        "sampling_law": "poisson",
        "sampling_rate": [0.1, 0.1, 0.2, 0.1],
        "noise_multiplier": [1.5, 1.5, 1.5, 2.0],
        "releases": [3, 1, 7, 2],
    }
)


def last(trace: pd.DataFrame) -> dict[tuple[str, str], float]:
    return {(one.accountant, one.sensitivity): one.epsilon for one in spends(ledger(trace, 1e-5))}


def test_phases_are_rows_that_are_alike_and_follow_each_other():
    assert phases(checked(ROWS)) == [
        AlikeReleases(1, 4, 0.1, 1.5),
        AlikeReleases(5, 11, 0.2, 1.5),
        AlikeReleases(12, 13, 0.1, 2.0),
    ]


@pytest.mark.parametrize("points", [1, 2, 5, 100])
def test_a_trace_that_is_laid_out_has_as_many_releases_and_costs_the_same(points):
    laid = spread(checked(ROWS), points)
    assert laid["releases"].sum() == ROWS["releases"].sum() and (laid["releases"] >= 1).all()
    assert len(laid) == np.minimum(ROWS["releases"], points).sum()
    assert last(laid) == pytest.approx(last(ROWS), rel=1e-12)


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_phases_of_a_plan_cost_what_a_trace_of_them_does(accountant):
    plan = [plans.Phase(*one) for one in ((0.1, 1.5, 4), (0.2, 1.5, 7), (0.1, 2.0, 2))]
    spend = plans.composed(plan, 1e-5, accountant)
    assert spend.epsilon == pytest.approx(last(ROWS)[accountant, "C"], rel=1e-12)
    assert (spend.unit, spend.relation, spend.sampling_law) == ("client", "add_remove", "poisson")


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_one_phase_costs_what_a_plan_does(accountant, rate):
    plan = {"sampling_rate": rate, "noise_multiplier": 3.0, "rounds": 300}
    alone = plans.epsilon(**plan, delta=1e-3, accountant=accountant)
    assert plans.composed([plans.Phase(**plan)], 1e-3, accountant) == alone


@pytest.mark.parametrize(
    ("plan", "delta", "accountant", "said"),
    [
        ([(0.1, 1.0, 1), (0.1, -1.0, 1)], 1e-5, "rdp", "phase 2: noise_multiplier: found -1"),
        ([(2.0, 1.0, 1)], 1e-5, "rdp", "phase 1: sampling_rate: found 2"),
        ([(0.1, 1.0, 0)], 1e-5, "rdp", "phase 1: rounds: found 0"),
        ([(0.1, 1.0, 1)], 1.0, "rdp", "delta: found 1"),
        ([(0.1, 1.0, 1)], 1e-5, "gdp", "accountant: found gdp"),
        ([(0.1, 1.0 + one, 1) for one in range(9)], 1e-5, "pld", "9 different phases"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(plan, delta, accountant, said):
    with pytest.raises(BadInput, match=said):
        plans.composed([plans.Phase(*one) for one in plan], delta, accountant)


def test_a_file_is_read_as_it_was_written(tmp_path):
    ROWS.to_csv(tmp_path / "trace.csv", index=False)
    assert last(read(tmp_path / "trace.csv")) == last(ROWS)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\xff", b'a,b\n"1,2\n', b"a\n1,2\n3,4,5\n"])
def test_a_file_that_is_none_is_refused_by_name(content, tmp_path):
    if content is not None:
        (tmp_path / "trace.csv").write_bytes(content)
    with pytest.raises(BadInput, match=r"trace\.csv: found .*, allowed: a CSV file") as refused:
        read(tmp_path / "trace.csv")
    assert "\n" not in str(refused.value)
