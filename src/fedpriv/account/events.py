"""The mechanisms that are accounted for."""

from typing import NamedTuple


class Mechanism(NamedTuple):
    """One Gaussian release of a sum over a random sample of units."""

    law: str  # poisson, fixed, full, or seen: drawn at random, and whoever looks sees who was
    population: int
    sample: int  # of `fixed` draws; 0 otherwise, where the realised size is not public
    sampling_rate: float
    noise_multiplier: float  # noise std over the bound C of one unit's part; 0 if there was no noise

    def multiplier(self, sensitivity: str) -> float:
        """Return the multiplier seen when one unit moves the sum by `sensitivity`, C or 2C."""
        return self.noise_multiplier if sensitivity == "C" else self.noise_multiplier / 2


def planned(sampling_rate: float, noise_multiplier: float) -> Mechanism:
    """Return the mechanism of rounds that have not happened yet, as the planner of a run sees it."""
    law = "full" if sampling_rate == 1 else "poisson"
    return Mechanism(law, 0, 0, sampling_rate, noise_multiplier)
