"""What an attacker of releases faces whose Gaussian noise it knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedpriv.account.gaussian import epsilon


def witness(
    distances: Sequence[float] | np.ndarray, stds: Sequence[float] | np.ndarray, delta: float
) -> float:
    """Return ε of one pair of neighbours, exactly: releases of known Gaussian noise, so far apart in each.

    Nothing is sampled: whoever has the pair can tell it apart so well, and no smaller ε holds for it. A
    release without noise whose outcomes are apart is ∞.
    """
    apart, std = np.asarray(distances, dtype=np.float64), np.asarray(stds, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(apart > 0, apart / std, 0.0)
    return epsilon(float(np.linalg.norm(ratio)), delta)
