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
    """Return `z` `[..., n, c, ...]` normalised by channel and mapped by `params` `[..., c]`.

    With `weight` `[..., n]` (training) by the statistics of the batch, which are put into `found` with the
    unbiased variance; without by the running ones.
    """
    channels = params[f"{name}.weight"].ndim  # the dimension of them in `z`
    places = tuple(range(channels + 1, z.dim()))

    def column(values: torch.Tensor) -> torch.Tensor:
        return values.unflatten(-1, (1, -1, *[1] * len(places)))

    if weight is None:
        mean, variance = (params[f"{name}.{part}"] for part in ("mean", "variance"))
    else:
        share = weight[..., None]
        mean = (_over(z, places) * share).sum(-2)
        variance = (_over((z - column(mean)).square(), places) * share).sum(-2)
        count = (weight > 0).sum(-1, keepdim=True) * z.shape[channels + 1 :].numel()
        found[f"{name}.mean"] = mean.detach()
        found[f"{name}.variance"] = variance.detach() * count / (count - 1).clamp(min=1)
    scale = params[f"{name}.weight"] * (variance + EPSILON).rsqrt()
    return (z - column(mean)) * column(scale) + column(params[f"{name}.bias"])


def _over(z: torch.Tensor, places: tuple[int, ...]) -> torch.Tensor:
    """Return the means over the positions of every channel `[..., n, c]`."""
    return z.mean(places) if places else z
