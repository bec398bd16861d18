"""Batch normalisation as a pure function, of batches whose examples may have weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedpriv.models.base import Params

if TYPE_CHECKING:
    import torch

EPSILON = 1e-5


def shapes(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    """Return the parameters of one normalisation: an affine map, then the running statistics."""
    return {f"{name}.{part}": (channels,) for part in ("weight", "bias", "mean", "variance")}


def normalise(
    params: Params, name: str, z: torch.Tensor, weight: torch.Tensor | None, found: Params
) -> torch.Tensor:
    """Return `z` `[n, c, ...]` normalised by channel and mapped by `params`.

    With `weight` `[n]` (training) by the statistics of the batch, which are put into `found` with the
    unbiased variance; without by the running ones.
    """
    column = (-1, *[1] * (z.dim() - 2))
    if weight is None:
        mean, variance = (params[f"{name}.{part}"] for part in ("mean", "variance"))
    else:
        places = tuple(range(2, z.dim()))
        share = weight.view(-1, 1)
        mean = (_over(z, places) * share).sum(0)
        variance = (_over((z - mean.view(column)).square(), places) * share).sum(0)
        count = (weight > 0).sum() * (z[0, 0].numel())
        found[f"{name}.mean"] = mean.detach()
        found[f"{name}.variance"] = variance.detach() * count / (count - 1).clamp(min=1)
    scale = params[f"{name}.weight"] * (variance + EPSILON).rsqrt()
    return (z - mean.view(column)) * scale.view(column) + params[f"{name}.bias"].view(column)


def _over(z: torch.Tensor, places: tuple[int, ...]) -> torch.Tensor:
    """Return the means over the positions of every channel `[n, c]`."""
    return z.mean(places) if places else z
