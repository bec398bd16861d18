"""How a client computes a gradient that protects each of its examples."""

from typing import NamedTuple


class PrivateGradient(NamedTuple):
    """A Poisson batch, a bound, Gaussian noise on the mean; every number in units of that mean.

    The mean is the sum over the batch divided by the public `batch_size`, the expected size.
    """

    batch_size: int
    clip_l2: float  # of the mean
    example_clip_l2: float | None  # of every example's gradient before it enters the mean; None: not clipped
    noise_multiplier: float
    samples: int

    @property
    def sensitivity(self) -> float:
        """Return how far one example is taken to move the mean.

        With clipping per example that is its bound over B, by add/remove. Without, only the mean is clipped,
        and C is what the paper counts; two points of a ball of radius C may be 2C apart.
        """
        return self.clip_l2 if self.example_clip_l2 is None else self.example_clip_l2 / self.batch_size

    @property
    def noise_std(self) -> float:
        """Return the std of the noise on every coordinate of the mean."""
        return self.noise_multiplier * self.sensitivity
