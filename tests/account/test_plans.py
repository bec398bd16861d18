from typing import Any

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from fedpriv.account import plans
from fedpriv.errors import BadInput

PLAN = {"sampling_rate": 0.05, "rounds": 10, "delta": 1e-5}

each_accountant = pytest.mark.parametrize("accountant", plans.planners("gaussian"))


@settings(max_examples=25)
@given(
    accountant=st.sampled_from(plans.planners("gaussian")),
    epsilon=st.floats(0.5, 20),
    rate=st.floats(0.001, 1),
    rounds=st.integers(1, 10**6),
    delta=st.floats(1e-7, 1e-2),
)
@example(accountant="pld", epsilon=16.32, rate=0.01, rounds=939, delta=1.236e-4)
def test_calibrated_noise_is_enough_and_a_thousandth_less_is_not(
    accountant: str, epsilon: float, rate: float, rounds: int, delta: float
) -> None:
    plan = {"sampling_rate": rate, "rounds": rounds, "delta": delta, "accountant": accountant}
    try:
        noise = plans.calibrate(epsilon=epsilon, **plan)
    except BadInput:  # hardly any noise is enough
        assert plans.epsilon(noise_multiplier=plans.LOWEST, **plan).epsilon <= epsilon
        return
    assert plans.epsilon(noise_multiplier=noise, **plan).epsilon <= epsilon
    less = 1e-6 if accountant == "moments" else 1e-3
    assert plans.epsilon(noise_multiplier=noise * (1 - less), **plan).epsilon > epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "rounds", "multiplier"),
    [
        (8, 1e-3, 0.3, 300, 3.09),
        (8, 1e-3, 1, 10, 1.82),
        (3, 1e-5, 0.1, 300, 3.13),
        (3, 1e-5, 0.01, 50, 0.77),
        (1, 1e-6, 0.03, 300, 3.01),
        (1, 1e-6, 1, 300, 92.7),
    ],
)
def test_the_noise_of_the_published_budgets_is_found(
    epsilon: float, delta: float, rate: float, rounds: int, multiplier: float
) -> None:
    plan = {"delta": delta, "sampling_rate": rate, "rounds": rounds}
    found = plans.calibrate(epsilon=epsilon, **plan, accountant="moments")
    assert found == pytest.approx(multiplier, abs=0.006 if multiplier < 10 else 0.06)


@each_accountant
def test_the_affordable_rounds_are_the_most_that_stay_within_the_budget(accountant: str) -> None:
    plan: dict[str, Any] = {"delta": 1e-5, "sampling_rate": 0.1, "noise_multiplier": 2.0}
    rounds = plans.affordable_rounds(epsilon=2.0, at_most=300, accountant=accountant, **plan)
    assert plans.epsilon(rounds=rounds, accountant=accountant, **plan).epsilon <= 2.0
    assert plans.epsilon(rounds=rounds + 1, accountant=accountant, **plan).epsilon > 2.0
    assert plans.affordable_rounds(epsilon=2.0, at_most=7, accountant=accountant, **plan) == 7


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("sampling_rate", 0.0, "above 0 and at most 1"),
        ("sampling_rate", 1.5, "above 0 and at most 1"),
        ("noise_multiplier", 0.0, "above 0"),
        ("noise_multiplier", float("nan"), "above 0"),
        ("rounds", 0, "at least 1"),
        ("delta", 0.0, "above 0 and below 1"),
        ("delta", 1.0, "above 0 and below 1"),
        ("delta", 5e-324, "at least 1e-300"),
        ("noise_multiplier", 1e300, "1e-100 to 1e100"),
        ("noise_multiplier", 1e-300, "1e-100 to 1e100"),
        ("noise_multiplier", float("inf"), "above 0"),
        ("rounds", 10**400, r"at most 1e\+18"),
    ],
)
def test_a_value_out_of_range_is_named_with_its_range(name: str, value: float, allowed: str) -> None:
    with pytest.raises(BadInput, match=rf"^{name}: found .*, allowed: {allowed}$"):
        plans.epsilon(**{**PLAN, "noise_multiplier": 1.0, name: value})


ONE_ROUND = {"sampling_rate": 1, "noise_multiplier": 1, "delta": 1e-5, "at_most": 9}


@pytest.mark.parametrize(
    ("act", "line"),
    [
        (
            lambda: plans.affordable_rounds(epsilon=0.5, **ONE_ROUND, accountant="moments"),
            "found 0.5, allowed: at least 5.303, the",
        ),
        (
            lambda: plans.calibrate(epsilon=0.01, **PLAN, accountant="moments"),
            "found 0.01, allowed: above 0.0224",
        ),
        (lambda: plans.calibrate(epsilon=1e6, **PLAN), r"found 1e\+06, allowed: below"),
        *(
            (lambda value=value: plans.calibrate(epsilon=value, **PLAN), "found .*, allowed: above 0$")
            for value in (0.0, -1.0, float("inf"), float("nan"))
        ),
    ],
)
def test_an_epsilon_that_cannot_be_met_is_named_with_what_can(act, line) -> None:
    with pytest.raises(BadInput, match=f"^epsilon: {line}"):
        act()
    with pytest.raises(BadInput, match="accountant: found magic, allowed: moments, rdp, pld"):
        plans.epsilon(noise_multiplier=1.0, accountant="magic", **PLAN)


@pytest.mark.parametrize(
    ("rate", "rounds", "epsilon", "delta"), [(1.0, 1, 1e-3, 1e-5), (0.5, 1000, 1e-3, 1e-9)]
)
def test_no_more_than_twice_the_noise_is_asked_for_or_the_accountant_and_its_floor_are_named(
    rate, rounds, epsilon, delta
):
    plan = {"epsilon": epsilon, "delta": delta, "sampling_rate": rate, "rounds": rounds}
    with pytest.raises(BadInput, match=r"allowed: above .*, the least that rdp certifies at delta"):
        plans.calibrate(**plan, accountant="rdp")
    # Noise of twice that for which a normal approximation has this ε is more than enough.
    needed = brentq(
        lambda log: get_epsilon_gaussian(np.exp(log) / (rate * rounds**0.5), delta) - epsilon, 0, 25
    )
    assert plans.calibrate(**plan, accountant="pld") <= 1.05 * np.exp(needed)
