"""Signs: of weights, before a pass, and of activations, with a gradient that ignores them."""

from __future__ import annotations

import torch


def signs(values: torch.Tensor, uniforms: torch.Tensor | None = None) -> torch.Tensor:
    """Return +1 or -1 for each value, +1 for 0; with `uniforms` in [0, 1), +1 with probability (1 + value)/2.

    The second is the stochastic sign of values in [-1, 1] (Hubara et al. 2016, eq. 2).
    """
    positive = values >= 0 if uniforms is None else uniforms < (1 + values) / 2
    return torch.where(positive, 1.0, -1.0).to(values.dtype)


def straight_through(values: torch.Tensor) -> torch.Tensor:
    """Return the signs of `values`; backward they are taken for the values themselves."""
    return values + (signs(values) - values).detach()
