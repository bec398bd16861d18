"""From a trace to dp-accounting events: what happened, never what was configured."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting import DpEvent


class Rounds(NamedTuple):
    """`times` consecutive rounds that no accountant tells apart."""

    law: str  # poisson, fixed or full
    population: int
    cohort: int  # of `fixed` rounds; 0 otherwise, where the realised size is not public
    sampling_rate: float
    noise_multiplier: float  # noise std over the clip bound C; 0 if there was no noise
    times: int

    def multiplier(self, sensitivity: str) -> float:
        """Return the multiplier seen when one unit moves the sum by `sensitivity`, C or 2C."""
        return self.noise_multiplier if sensitivity == "C" else self.noise_multiplier / 2


def blocks(trace: pd.DataFrame) -> list[Rounds]:
    """Return the rounds of a trace, consecutive equal ones as one block."""
    columns = ("sampling_law", "population", "cohort_size", "sampling_rate", "noise_multiplier")
    rows = (
        (law, int(population), int(size) if law == "fixed" else 0, float(rate), float(multiplier))
        for law, population, size, rate, multiplier in zip(*(trace[name] for name in columns), strict=True)
    )
    return [Rounds(*row, times=sum(1 for _ in equal)) for row, equal in groupby(rows)]


def event(rounds: Rounds, sensitivity: str = "C") -> DpEvent:
    """Return the dp-accounting event of `rounds` when one unit moves the sum by `sensitivity`.

    Poisson and full rounds are add/remove events. Fixed cohorts are drawn without replacement, which the
    library covers for replace-one neighbours only; a clipped sum then moves by 2C.
    """
    import dp_accounting as dp

    if rounds.noise_multiplier == 0:
        return dp.NonPrivateDpEvent()
    release = dp.GaussianDpEvent(rounds.multiplier(sensitivity))
    if rounds.law == "fixed":
        release = dp.SampledWithoutReplacementDpEvent(rounds.population, rounds.cohort, release)
    elif rounds.sampling_rate < 1:
        release = dp.PoissonSampledDpEvent(rounds.sampling_rate, release)
    return dp.SelfComposedDpEvent(release, rounds.times)


def planned(sampling_rate: float, noise_multiplier: float, rounds: int) -> Rounds:
    """Return rounds that have not happened yet, as the planner of a run sees them."""
    law = "full" if sampling_rate == 1 else "poisson"
    return Rounds(law, 0, 0, sampling_rate, noise_multiplier, rounds)
