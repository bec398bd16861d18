"""A noise multiplier that is said as an ε: found when a run is planned, from public numbers alone."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from fedpriv.errors import BadInput, require_known
from fedpriv.frozen import parse
from fedpriv.schemes.client_dp import Budget
from fedpriv.schemes.hooks import Hooks

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

    What is wrong with a budget, one that no noise meets, and a run that releases something else than its
    scheme plans are BadInput that names the key.
    """
    key, scheme = "scheme.noise_multiplier", run.scheme
    budget = parse(Budget.model_validate, dict(written), key)
    plan = scheme.plan(run.cohort, run.partition.clients, run.rounds)
    if plan is None or run.hooks != Hooks() or run.model.sends_in_clear:
        raise BadInput(
            f"{key}: found a budget, allowed: a number; also a budget with scheme client_dp, denominator "
            "expected and cohort.law poisson or full, or scheme dp_ftrl and cohort.law spaced or full, "
            "without hooks and with a model that sends nothing in the clear"
        )
    from fedpriv.account.plans import planners  # slow to import, and few runs have a budget

    accountant = budget.accountant or scheme.accountant
    require_known(f"{key}.accountant", [accountant], planners(scheme.mechanism))
    told = {"delta": run.account.delta, "rounds": run.rounds, **plan}
    try:
        return found_for(budget.epsilon, accountant, tuple(told.items()))
    except BadInput as error:
        raise BadInput(f"{key}.{error}") from None


@cache
def found_for(epsilon: float, accountant: str, plan: tuple[tuple[str, Any], ...]) -> float:
    """Return the least multiplier of so many digits whose ε is within the budget.

    It is part of what a run is, so that it hangs on no end of a search: of the multipliers beside that end
    each is tried.
    """
    from fedpriv.account import plans

    near = plans.calibrate(epsilon=epsilon, accountant=accountant, **dict(plan))
    decimals = DIGITS - 1 - math.floor(math.log10(near))
    count = math.floor(near * 10.0**decimals) - 1
    while True:
        multiplier = float(f"{count}e{-decimals}")
        spent = plans.epsilon(accountant=accountant, noise_multiplier=multiplier, **dict(plan))
        if spent.epsilon <= epsilon:
            return multiplier
        count += 1
