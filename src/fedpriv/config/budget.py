"""A noise multiplier that is said as an ε: found when a run is planned, from public numbers alone."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.schemes.client_dp import Budget

DIGITS = 4  # of a multiplier that is found: it is rounded up, so that its ε is still within the budget


def budgeted(told: Any) -> Mapping[str, Any] | None:
    """Return the budget in what a run says, as it is written; None where the multiplier is a number."""
    scheme = told.get("scheme") if isinstance(told, Mapping) else None
    noise = scheme.get("noise_multiplier") if isinstance(scheme, Mapping) else None
    return noise if isinstance(noise, Mapping) else None


def within(told: Mapping[str, Any], noise_multiplier: float) -> dict[str, Any]:
    """Return what a run says with a number for its multiplier."""
    return {**told, "scheme": {**told["scheme"], "noise_multiplier": noise_multiplier}}


def multiplier(run: Any, written: Mapping[str, Any]) -> float:
    """Return the least multiplier, to 4 digits, with which all rounds of `run` cost the budget at most.

    What is wrong with a budget, one that no noise meets, and a run whose ε is not that of a plan
    (`fedpriv.account.plans`) are BadInput that names the key.
    """
    key, scheme = "scheme.noise_multiplier", run.scheme
    budget = parse(Budget.model_validate, dict(written), key)
    if scheme.name != "client_dp" or scheme.denominator != "expected" or run.cohort.law == "fixed":
        raise BadInput(
            f"{key}: found a budget, allowed: a number; with scheme client_dp, denominator expected and "
            "cohort.law poisson or full also a budget"
        )
    rate = run.cohort.expected(run.partition.clients) / run.partition.clients
    try:
        return found_for(budget.epsilon, budget.accountant, run.account.delta, rate, run.rounds)
    except BadInput as error:
        raise BadInput(f"{key}.{error}") from None


@cache
def found_for(epsilon: float, accountant: str, delta: float, sampling_rate: float, rounds: int) -> float:
    """Return the multiplier of a plan, rounded up."""
    from fedpriv.account.plans import calibrate  # slow to import, and few runs have a budget

    exact = calibrate(
        epsilon=epsilon, delta=delta, sampling_rate=sampling_rate, rounds=rounds, accountant=accountant
    )
    unit = 10.0 ** (math.floor(math.log10(exact)) + 1 - DIGITS)
    return float(f"{math.ceil(exact / unit) * unit:.{DIGITS}g}")
