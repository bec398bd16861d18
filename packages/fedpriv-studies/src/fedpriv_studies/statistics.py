"""Private statistics of features: what everybody's mean and spread are, released once with noise.

Tramèr and Boneh 2021, Differentially private learning needs better features (or much more data): their data
normalisation, as in the released code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.trace import Facts

if TYPE_CHECKING:
    import torch

    from fedpriv.streams import Noise


class Statistics(NamedTuple):
    """How the mean and the mean square of every path are released: two sums over all examples with noise.

    An example's part of either is its mean over the places of a path, a vector `[paths]`, clipped to its
    bound. Each sum is a Gaussian mechanism at sensitivity C by add/remove, everybody in it, and is divided by
    the public number of examples.
    """

    paths: int
    mean_l2: float
    square_l2: float
    noise_multiplier: float


CHUNK = 1000  # examples at once, so that float32 copies stay small
EPSILON = 1e-5  # of the variance, as in a batch normalisation


def facts(statistics: Statistics, round_number: int) -> Facts:
    """Facts of `round` for the trace: both releases come before the first one."""
    releases = 2 if round_number == 1 else 0
    return {"statistics_releases": releases, "statistics_noise_multiplier": statistics.noise_multiplier}


def normalise(statistics: Statistics, train: np.ndarray, test: np.ndarray, noise: Noise) -> None:
    """Give each path of features `[n, paths · places]` mean 0 and variance 1, in place, by `train`.

    Both are what `released` says: what is done to an example depends on others by these alone.
    """
    mean, variance = released(statistics, train, noise)
    scale = (variance + EPSILON).rsqrt() * (variance > 0)
    for features in (train, test):
        for chunk in path_views(statistics, features):
            chunk.copy_((chunk.float() - mean[:, None]) * scale[:, None])


def released(statistics: Statistics, features: np.ndarray, noise: Noise) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the noisy mean and variance `[paths]`, float32, of features `[n, paths · places]`."""
    import torch

    def mean(power: int, l2: float) -> torch.Tensor:
        parts = [chunk.float().pow(power).mean(2) for chunk in path_views(statistics, features)]
        bounded, _ = clip(torch.cat(parts), l2)
        return gaussian_mean(bounded, statistics.noise_multiplier, len(features), noise)[0]

    first, second = mean(1, statistics.mean_l2), mean(2, statistics.square_l2)
    return first, (second - first.square()).clamp(min=0)


def path_views(statistics: Statistics, features: np.ndarray) -> list[torch.Tensor]:
    """Return views of the features, a few examples each, `[n, paths, places]`."""
    import torch

    return [*torch.from_numpy(features).unflatten(1, (statistics.paths, -1)).split(CHUNK)]
