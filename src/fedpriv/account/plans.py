"""What a budget buys: ε of a plan, the noise that meets an ε, the rounds that an ε allows.

All of it from public values: of accountants of independent noise under Poisson sampling (full participation
at q = 1) and for add/remove neighbours, with `sampling_law="fixed"` of cohorts of a fixed size and for
replaced ones, of others as they say.
"""

import math
from bisect import bisect
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

from fedpriv.account.ledgers import ACCOUNTANTS
from fedpriv.account.ranges import check
from fedpriv.account.statement import PrivacyStatement
from fedpriv.errors import BadInput, plain, require_known

PLANNED = ("sampling_rate", "noise_multiplier", "rounds", "delta")  # of every plan

# Below the lowest multiplier a single full release costs ε > 200; above the highest no number of rounds that
# can be counted costs anything.
LOWEST, HIGHEST = 0.05, 1e15

# The search stops at this relative width; where so much less noise costs twice as much, ε has jumped.
TOLERANCE, JUMP = 1e-7, 1e-3


def epsilon(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    accountant: str = "moments",
    **settings: Any,
) -> PrivacyStatement:
    """Return the statement of `rounds` rounds with multiplier `noise_multiplier` at rate `sampling_rate`.

    `settings` are what else the accountant's plans may be told. Raises BadInput naming the value that is out
    of range, or the setting that is not known.

    >>> round(epsilon(sampling_rate=0.01, noise_multiplier=1.0, rounds=1000, delta=1e-5).epsilon, 2)
    2.54
    """
    check(sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta)
    value = _planner(accountant, settings)(
        sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta
    )
    if math.isinf(value):
        raise BadInput(
            f"{accountant}: found a plan of which it certifies no ε at delta {delta:g}, allowed: another "
            "accountant; rdp counts every plan"
        )
    law = settings.get("sampling_law", ACCOUNTANTS[accountant].planned_law)
    removed = "add_remove" if law == "poisson" or sampling_rate == 1 else "zero_out"
    return PrivacyStatement(
        value,
        delta,
        unit="client",
        relation="replace_one" if law == "fixed" else removed,
        sampling_law="full" if sampling_rate == 1 else law,
        accountant=accountant,
        sensitivity="2C" if law == "fixed" else "C",
    )


def calibrate(
    *,
    epsilon: float,
    delta: float,
    sampling_rate: float,
    rounds: int,
    accountant: str = "moments",
    **settings: Any,
) -> float:
    """Return the least multiplier, to the search's tolerance, whose ε after `rounds` is at most `epsilon`.

    Raises BadInput when a value is out of range or no multiplier between LOWEST and HIGHEST meets `epsilon`.

    >>> round(calibrate(epsilon=2.0, delta=1e-5, sampling_rate=0.01, rounds=1000), 3)
    1.124
    """
    check(epsilon=epsilon, delta=delta, sampling_rate=sampling_rate, rounds=rounds)
    planner = _planner(accountant, settings)

    def spent(multiplier: float) -> float:
        return planner(sampling_rate=sampling_rate, noise_multiplier=multiplier, rounds=rounds, delta=delta)

    def unreachable(floor: float) -> BadInput:
        least = f"above {floor:.4g}, the least that {accountant} certifies at delta {delta:g}"
        if math.isinf(floor):
            least = f"by accountant {accountant} none at delta {delta:g}; rdp counts every plan"
        return BadInput(f"epsilon: found {epsilon:g}, allowed: {least}")

    from scipy.optimize import root_scalar

    low, high = _bracket(spent, epsilon, unreachable)

    def excess(log_multiplier: float) -> float:
        ratio = spent(math.exp(log_multiplier)) / epsilon
        return math.log(min(max(ratio, 1e-300), 1e300))

    near = root_scalar(excess, bracket=(math.log(low), math.log(high)), method="brentq", xtol=TOLERANCE).root
    # The root may be on the wrong side: what is returned is known to be on the right one.
    step = TOLERANCE
    while (enough := min(high, math.exp(near + step))) < high and spent(enough) > epsilon:
        step *= 2
    # Where ε jumps, from a floor that no noise lowers to what δ alone hides, the root is the jump.
    if spent(enough) < epsilon / 2 and (floor := spent(enough * (1 - JUMP))) > epsilon:
        raise unreachable(floor)
    return enough


def affordable_rounds(
    *,
    epsilon: float,
    delta: float,
    sampling_rate: float,
    noise_multiplier: float,
    at_most: int,
    accountant: str = "moments",
    **settings: Any,
) -> int:
    """Return the most rounds, up to `at_most`, whose ε is at most `epsilon`; ε grows with every round.

    Raises BadInput naming the budget if one round exceeds it.
    """
    check(epsilon=epsilon, delta=delta, sampling_rate=sampling_rate)
    check(noise_multiplier=noise_multiplier, rounds=at_most)
    planner = _planner(accountant, settings)

    def spent(rounds: int) -> float:
        return planner(
            sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta
        )

    affordable = bisect(range(1, at_most + 1), epsilon, key=spent)
    if not affordable:
        raise BadInput(
            f"epsilon: found {epsilon:g}, allowed: at least {spent(1):.4g}, the cost of one round "
            f"at delta {delta:g} by accountant {accountant}"
        )
    return affordable


def _bracket(
    spent: Callable[[float], float], epsilon: float, beyond: Callable[[float], BadInput]
) -> tuple[float, float]:
    """Return two multipliers: the lower exceeds the budget, the upper does not. Or raise `beyond`."""
    low = high = 1.0
    while spent(high) > epsilon:
        if high >= HIGHEST:
            raise beyond(spent(high))
        low, high = high, min(HIGHEST, high * max(2.0, high))
    while spent(low) <= epsilon:
        if low < LOWEST:
            raise BadInput(
                f"epsilon: found {epsilon:g}, allowed: below {spent(low):.4g}, which a noise multiplier "
                f"of {low:g} already meets"
            )
        low, high = low / 2, low
    return low, high


def planners(mechanism: str | None = None, setting: str = "") -> tuple[str, ...]:
    """Return the accountants that need no data for a plan, of one mechanism or of all.

    Of those only whose plans may be told a `setting`.
    """
    return tuple(
        name
        for name, accountant in ACCOUNTANTS.items()
        if accountant.plan
        and (mechanism is None or accountant.mechanisms[0] == mechanism)
        and (not setting or setting in signature(accountant.plan).parameters)
    )


def _planner(accountant: str, settings: Mapping[str, Any]) -> Callable[..., float]:
    """Return the ε of a plan, told these settings; an unknown accountant or setting is BadInput."""
    require_known("accountant", [accountant], planners())
    plan = ACCOUNTANTS[accountant].plan
    assert plan
    known = [name for name in signature(plan).parameters if name not in PLANNED]
    usual = "sampling_law", ACCOUNTANTS[accountant].planned_law
    settings = {name: value for name, value in settings.items() if (name, value) != usual}
    if (law := settings.get("sampling_law")) and "sampling_law" not in known:
        others = ", ".join(planners(setting="sampling_law"))
        what = f"sampling_law: found {plain(law)} with {accountant}"
        raise BadInput(f"{what}, allowed: {usual[1]}, or the accountants {others}")
    require_known(f"{accountant}: settings", settings, known)
    return partial(plan, **settings)
