"""A noise multiplier may be said as an ε: the least one that meets it is found when a run is planned."""

import pytest
from support.tiny import WITHOUT_SCHEME

from fedpriv.account import plans
from fedpriv.account.plans import epsilon
from fedpriv.config.run import Run, least_multiplier
from fedpriv.errors import BadInput
from fedpriv.frozen import parse

NORMALISED = {"local": {"name": "fedavg", "steps": 1, "batch_size": 5, "learning_rate": 0.1}}


def planned(noise, **changed):
    scheme = {"name": "client_dp", "clip_l2": 0.5, "noise_multiplier": noise}
    return parse(Run.model_validate, WITHOUT_SCHEME | {"scheme": scheme} | changed, "a run")


@pytest.mark.parametrize("accountant", ["pld", "rdp", "moments"])
@pytest.mark.parametrize("cohort", [{"law": "poisson", "rate": 0.3}, {"law": "full"}])
def test_the_multiplier_meets_the_budget_and_one_a_little_smaller_does_not(accountant, cohort):
    run = planned({"epsilon": 3, "accountant": accountant}, cohort=cohort)
    plan = {"sampling_rate": cohort.get("rate", 1), "rounds": 50, "delta": 1e-3, "accountant": accountant}
    sigma = run.scheme.noise_multiplier
    assert epsilon(noise_multiplier=sigma, **plan).epsilon <= 3
    assert epsilon(noise_multiplier=0.998 * sigma, **plan).epsilon > 3


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_in_cohorts_of_a_fixed_size_the_budget_is_of_a_client_that_is_replaced(accountant):
    run = planned({"epsilon": 9, "accountant": accountant}, cohort={"law": "fixed", "size": 3})
    rate = 3 / run.partition.clients
    plan = {"sampling_rate": rate, "rounds": run.rounds, "delta": 1e-3, "accountant": accountant}
    sigma = run.scheme.noise_multiplier
    assert epsilon(noise_multiplier=sigma, sampling_law="fixed", **plan).epsilon <= 9
    assert epsilon(noise_multiplier=0.998 * sigma, sampling_law="fixed", **plan).epsilon > 9


def test_a_run_with_a_budget_is_the_run_with_its_multiplier():
    sigma = planned({"epsilon": 3}).scheme.noise_multiplier
    assert planned({"epsilon": 3}).identity("one", 0) == planned(sigma).identity("one", 0)
    assert planned({"epsilon": 3}, rounds=100).scheme.noise_multiplier > sigma


@pytest.mark.parametrize(("accountant", "off"), [("pld", -1e-6), ("rdp", 0), ("moments", 1e-6)])
def test_the_multiplier_does_not_hang_on_where_the_search_for_it_ends(accountant, off, monkeypatch):
    plan = {"sampling_rate": 0.3, "rounds": 50, "delta": 1e-3, "accountant": accountant}
    just = epsilon(noise_multiplier=2.345, **plan).epsilon
    search = plans.calibrate
    monkeypatch.setattr(plans, "calibrate", lambda **told: search(**told) * (1 + off))
    least_multiplier.cache_clear()
    assert planned({"epsilon": just, "accountant": accountant}).scheme.noise_multiplier == 2.345


@pytest.mark.parametrize(
    ("noise", "changed", "line"),
    [
        ({"epsilon": -1}, {}, "scheme.noise_multiplier: epsilon: found -1, allowed: at least"),
        ({"budget": 1}, {}, "scheme.noise_multiplier: budget: unknown key"),
        ({"epsilon": 1e30}, {}, "scheme.noise_multiplier.epsilon: found 1e[+]30, allowed: below"),
        (
            {"epsilon": 1, "accountant": "moments"},
            {"cohort": {"law": "fixed", "size": 3}},
            "sampling_law: found fixed with moments, allowed: poisson, or the accountants rdp, pld",
        ),
        ({"epsilon": 1, "accountant": "theirs"}, {}, "accountant: found theirs, allowed: moments, rdp, pld"),
        ({"epsilon": 1}, {"hooks": {"upload_noise_std": 1e-4}}, "found a budget, .* without hooks"),
        ({"epsilon": 1}, NORMALISED | {"model": {"name": "convnet2", "bn": "shared"}}, "in the clear"),
    ],
)
def test_a_budget_that_cannot_be_met_is_one_line_that_names_it(noise, changed, line):
    with pytest.raises(BadInput, match=line):
        planned(noise, **changed)
