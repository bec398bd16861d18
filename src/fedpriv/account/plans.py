"""What a budget buys: ε of a plan, the noise that meets an ε, the rounds that an ε allows.

All of it from public values: of accountants of independent noise under Poisson sampling (full participation
at q = 1) and for add/remove neighbours, with `sampling_law="fixed"` of cohorts of a fixed size and for
replaced ones, of others as they say. Who names no accountant gets the answer of the best one: each ε is an
upper bound, so that the least holds, and the least noise is enough.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from fedpriv.account.accountants import ACCOUNTANTS
from fedpriv.account.ranges import check
from fedpriv.account.statement import PrivacyStatement
from fedpriv.errors import BadInput, plain, require_known

Answer = TypeVar("Answer")

BEST = "best"  # of the accountants of independent noise: whose ε is least

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
    accountant: str = BEST,
    **settings: Any,
) -> PrivacyStatement:
    """Return the statement of `rounds` rounds with multiplier `noise_multiplier` at rate `sampling_rate`.

    By the accountant whose ε is least, unless one is named. `settings` are what else its plans may be told.
    Raises BadInput naming the value that is out of range, or the setting that is not known.

    >>> statement = epsilon(sampling_rate=0.01, noise_multiplier=1.0, rounds=1000, delta=1e-5)
    >>> round(statement.epsilon, 2), statement.accountant
    (1.83, 'pld')
    """
    check(sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta)
    plan = {"sampling_rate": sampling_rate, "noise_multiplier": noise_multiplier, "rounds": rounds}
    if accountant == BEST:
        each = answers(lambda name: epsilon(**plan, delta=delta, accountant=name, **settings), settings)
        return min(each.values(), key=lambda statement: statement.epsilon)
    value = _planner(accountant, settings)(**plan, delta=delta)
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
    accountant: str = BEST,
    **settings: Any,
) -> float:
    """Return the least multiplier, to the search's tolerance, whose ε after `rounds` is at most `epsilon`.

    By the accountant that needs least noise, unless one is named. Raises BadInput when a value is out of
    range or no multiplier between LOWEST and HIGHEST meets `epsilon`.

    >>> round(calibrate(epsilon=2.0, delta=1e-5, sampling_rate=0.01, rounds=1000), 3)
    0.959
    """
    check(epsilon=epsilon, delta=delta, sampling_rate=sampling_rate, rounds=rounds)
    if accountant == BEST:
        plan = {"epsilon": epsilon, "delta": delta, "sampling_rate": sampling_rate, "rounds": rounds}
        return min(answers(lambda name: calibrate(**plan, accountant=name, **settings), settings).values())
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
    accountant: str = BEST,
    **settings: Any,
) -> int:
    """Return the most rounds, up to `at_most`, whose ε is at most `epsilon`; ε grows with every round.

    By the accountant that allows most, unless one is named. Raises BadInput naming the budget if one round
    exceeds it.
    """
    check(epsilon=epsilon, delta=delta, sampling_rate=sampling_rate)
    check(noise_multiplier=noise_multiplier, rounds=at_most)
    if accountant == BEST:
        plan = {"epsilon": epsilon, "delta": delta, "sampling_rate": sampling_rate, "at_most": at_most}
        plan |= {"noise_multiplier": noise_multiplier, **settings}
        return max(answers(lambda name: affordable_rounds(**plan, accountant=name), settings).values())
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


def planners(mechanism: str | None = None, settings: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the accountants that need no data for a plan, of one mechanism or of all.

    Of those only whose plans may be told all of some `settings`.
    """
    return tuple(
        name
        for name, accountant in ACCOUNTANTS.items()
        if accountant.plan
        and (mechanism is None or accountant.plans_of(mechanism))
        and (not settings or {*settings} <= {*accountant.settings})
    )


def answers(
    ask: Callable[[str], Answer],
    settings: Mapping[str, Any],
    cannot: dict[str, BadInput] | None = None,
) -> dict[str, Answer]:
    """Return the answers of the accountants of independent noise that may be told `settings`, by name.

    Why another has none goes into `cannot`, by name. Where nobody has any it is BadInput, that of the last
    one: the tightest, whose floor is lowest.
    """
    cannot = {} if cannot is None else cannot
    unusual = [name for name, value in settings.items() if (name, value) != ("sampling_law", "poisson")]
    each: dict[str, Answer] = {}
    names = planners("gaussian", unusual)
    for name in names:
        try:
            each[name] = ask(name)
        except BadInput as error:
            cannot[name] = error
    if each:
        return each
    if names:
        raise cannot[names[-1]]
    others = ", ".join(planners(settings=unusual)) or "that knows it"
    raise BadInput(f"settings: found {', '.join(map(plain, unusual))}, allowed: with the accountant {others}")


def _planner(accountant: str, settings: Mapping[str, Any]) -> Callable[..., float]:
    """Return the ε of a plan, told these settings; an unknown accountant or setting is BadInput."""
    require_known("accountant", [accountant], planners())
    counted = ACCOUNTANTS[accountant]
    usual = "sampling_law", counted.planned_law
    settings = {name: value for name, value in settings.items() if (name, value) != usual}
    if (law := settings.get("sampling_law")) and "sampling_law" not in counted.settings:
        others = ", ".join(planners(settings=["sampling_law"]))
        what = f"sampling_law: found {plain(law)} with {accountant}"
        raise BadInput(f"{what}, allowed: {usual[1]}, or the accountants {others}")
    require_known(f"{accountant}: settings", settings, counted.settings)
    return partial(counted.planned, **settings)
