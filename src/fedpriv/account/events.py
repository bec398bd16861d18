"""The mechanisms that the library accounts for, as dp-accounting events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dp_accounting import DpEvent


class Mechanism(NamedTuple):
    """One Gaussian release of a sum over a random sample of units."""

    law: str  # poisson, fixed or full
    population: int
    sample: int  # of `fixed` draws; 0 otherwise, where the realised size is not public
    sampling_rate: float
    noise_multiplier: float  # noise std over the bound C of one unit's part; 0 if there was no noise

    def multiplier(self, sensitivity: str) -> float:
        """Return the multiplier seen when one unit moves the sum by `sensitivity`, C or 2C."""
        return self.noise_multiplier if sensitivity == "C" else self.noise_multiplier / 2


def event(mechanism: Mechanism, times: int, sensitivity: str = "C") -> DpEvent:
    """Return the dp-accounting event of `times` releases when one unit moves the sum by `sensitivity`.

    Poisson and full samples are add/remove events. Fixed ones are drawn without replacement, which the
    library covers for replace-one neighbours only; a clipped sum then moves by 2C.
    """
    import dp_accounting as dp

    if mechanism.noise_multiplier == 0:
        return dp.NonPrivateDpEvent()
    release = dp.GaussianDpEvent(mechanism.multiplier(sensitivity))
    if mechanism.law == "fixed":
        release = dp.SampledWithoutReplacementDpEvent(mechanism.population, mechanism.sample, release)
    elif mechanism.sampling_rate < 1:
        release = dp.PoissonSampledDpEvent(mechanism.sampling_rate, release)
    return dp.SelfComposedDpEvent(release, times)


def planned(sampling_rate: float, noise_multiplier: float) -> Mechanism:
    """Return the mechanism of rounds that have not happened yet, as the planner of a run sees it."""
    law = "full" if sampling_rate == 1 else "poisson"
    return Mechanism(law, 0, 0, sampling_rate, noise_multiplier)
