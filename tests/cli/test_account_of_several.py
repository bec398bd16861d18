"""`account A B`: what runs on the same data cost together, with what makes it no guarantee."""

import json

import pytest

from fedpriv.cli.account import _check_same_data
from fedpriv.errors import BadInput


def test_traces_together_cost_more_than_each_at_the_delta_that_is_stated(fedpriv, here):
    (here / "a.csv").write_text("unit,sampling_law,noise_multiplier,releases\nclient,full,9.0,10\n")
    costs = {}
    for words in (["a.csv"], ["a.csv", "a.csv"]):
        code, out, _ = fedpriv("account", *words, "--delta", "1e-5", "--json")
        statements = json.loads("".join(out))["statements"]
        assert code == 0 and {(one["unit"], one["delta"]) for one in statements} == {("client", 1e-5)}
        costs[len(words)] = {(one["accountant"], one["sensitivity"]): one["epsilon"] for one in statements}
    assert all(costs[2][key] > costs[1][key] for key in costs[1])
    assert any("2 together" in line for line in fedpriv("account", *words, "--delta", "1e-5")[1])


def test_runs_that_drew_the_same_noise_have_no_guarantee_together(fedpriv, accounted):
    _, out, _ = fedpriv("account", str(accounted), str(accounted), "--json")
    statements = json.loads("".join(out))["statements"]
    assert {one["status"] for one in statements} == {
        "not a guarantee: runs of one name and seed draw the same noise"
    }


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ({"seed": 1}, "b: found another seed than in a, allowed .*: one by which clients are dealt"),
        ({"config": {"partition": {"clients": 9}}}, "b: found another partition than in a, allowed"),
    ],
)
def test_runs_whose_clients_are_others_are_refused_in_one_line(other, line):
    one = {
        "config": {"dataset": "digits", "partition": {"clients": 5}},
        "seed": 0,
        "data": {"name": "digits"},
    }
    same = {"config": {**one["config"], **other.get("config", {})}, "seed": other.get("seed", 0)}
    _check_same_data(["a", "a"], [one, one])
    with pytest.raises(BadInput, match=line):
        _check_same_data(["a", "b"], [one, one | same])
