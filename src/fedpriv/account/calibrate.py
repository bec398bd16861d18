"""What a budget buys: ε of a plan, the noise that meets an ε, the rounds that an ε allows.

All of it from public values, under Poisson sampling (full participation at q = 1), add/remove neighbours.
"""

from collections.abc import Callable

from fedpriv.account import moments, pld, rdp
from fedpriv.account.events import event, planned
from fedpriv.account.ranges import check
from fedpriv.account.spend import Spend
from fedpriv.errors import BadInput

# The accountants that need no data: ε from (q, multiplier, rounds, δ).
PLANNERS: dict[str, Callable[..., float]] = {
    "moments": moments.epsilon,
    "rdp": rdp.epsilon,
    "pld": pld.epsilon,
}

# Below the lowest multiplier a single full release costs ε > 200; above the highest nothing is learnt.
LOWEST, HIGHEST = 0.05, 1e6

# The bisection of the moments accountant stops at this relative width; the library's default is absolute.
TOLERANCE = 1e-9


def epsilon(
    *, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float, accountant: str = "moments"
) -> Spend:
    """Return the spend of `rounds` rounds with multiplier `noise_multiplier` at rate `sampling_rate`.

    Raises BadInput naming the value that is out of range.
    """
    check(sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta)
    value = _planner(accountant)(
        sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta
    )
    return Spend(
        value,
        delta,
        unit="client",
        relation="add_remove",
        sampling_law=planned(sampling_rate, noise_multiplier).law,
        accountant=accountant,
        sensitivity="C",
    )


def noise_multiplier(
    *, epsilon: float, delta: float, sampling_rate: float, rounds: int, accountant: str = "moments"
) -> float:
    """Return the least multiplier, to the search's tolerance, whose ε after `rounds` is at most `epsilon`.

    Raises BadInput when a value is out of range or no multiplier between LOWEST and HIGHEST meets `epsilon`.
    """
    check(epsilon=epsilon, delta=delta, sampling_rate=sampling_rate, rounds=rounds)
    planner = _planner(accountant)

    def spent(multiplier: float) -> float:
        return planner(sampling_rate=sampling_rate, noise_multiplier=multiplier, rounds=rounds, delta=delta)

    low, high = _bracket(spent, epsilon)
    if accountant == "moments":
        while high - low > TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if spent(middle) <= epsilon else (middle, high)
        return high
    return _by_the_library(accountant, epsilon, delta, sampling_rate, rounds, low, high)


def affordable_rounds(
    *,
    epsilon: float,
    delta: float,
    sampling_rate: float,
    noise_multiplier: float,
    at_most: int,
    accountant: str = "moments",
) -> int:
    """Return the most rounds, up to `at_most`, whose ε is at most `epsilon`; ε grows with every round.

    Raises BadInput naming the budget if one round exceeds it.
    """
    check(epsilon=epsilon, delta=delta, sampling_rate=sampling_rate)
    check(noise_multiplier=noise_multiplier, rounds=at_most)
    planner = _planner(accountant)

    def spent(rounds: int) -> float:
        return planner(
            sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, rounds=rounds, delta=delta
        )

    if spent(at_most) <= epsilon:
        return at_most
    first = spent(1)
    if first > epsilon:
        raise BadInput(
            f"epsilon: found {epsilon:g}, allowed: at least {first:.4g}, the cost of one round "
            f"at delta {delta:g} by accountant {accountant}"
        )
    affordable, too_many = 1, at_most
    while too_many - affordable > 1:
        middle = (affordable + too_many) // 2
        affordable, too_many = (middle, too_many) if spent(middle) <= epsilon else (affordable, middle)
    return affordable


def _bracket(spent: Callable[[float], float], epsilon: float) -> tuple[float, float]:
    """Return two multipliers a factor 2 apart: the lower exceeds the budget, the upper does not."""
    low = high = 1.0
    while spent(high) > epsilon:
        if high > HIGHEST:
            raise BadInput(
                f"epsilon: found {epsilon:g}, allowed: above {spent(high):.4g}, the least that the "
                "accountant certifies at this delta"
            )
        low, high = high, 2 * high
    while spent(low) <= epsilon:
        if low < LOWEST:
            raise BadInput(
                f"epsilon: found {epsilon:g}, allowed: below {spent(low):.4g}, which a noise multiplier "
                f"of {low:g} already meets"
            )
        low, high = low / 2, low
    return low, high


def _by_the_library(
    accountant: str, epsilon: float, delta: float, sampling_rate: float, rounds: int, low: float, high: float
) -> float:
    from dp_accounting import ExplicitBracketInterval, calibrate_dp_mechanism

    interval = pld.interval([planned(sampling_rate, low)], [rounds], delta, "C", pld.CELLS)
    fresh = {"rdp": rdp.accountant, "pld": lambda: pld.accountant(interval)}
    with rdp.quietly():
        return float(
            calibrate_dp_mechanism(
                fresh[accountant],
                lambda multiplier: event(planned(sampling_rate, multiplier), rounds),
                epsilon,
                delta,
                ExplicitBracketInterval(low, high),
            )
        )


def _planner(accountant: str) -> Callable[..., float]:
    if accountant not in PLANNERS:
        raise BadInput(f"accountant: found {accountant}, allowed: {', '.join(PLANNERS)}")
    return PLANNERS[accountant]
