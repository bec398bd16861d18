"""Layers of one client or of a stack of clients, as a CPU computes them best, and a GPU.

Weights of a stack have one dimension more, in front, and so have its inputs: `[s, n, ...]` in place of
`[n, ...]`. A stack that shares its weights has them expanded, with a stride of 0, and a convolution then
reads them once. On a GPU it is a kernel of the package `fedpriv-engines`, if that is installed; else
PyTorch does the same in more passes. Signs have a gradient that ignores them; batch normalisation knows
weights of examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from fedpriv.models.base import Params
from fedpriv.store.gpus import kernels

if TYPE_CHECKING:
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


EPSILON = 1e-5


def shapes(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    """Return the parameters of one normalisation: an affine map, then the running statistics."""
    return {f"{name}.{part}": (channels,) for part in ("weight", "bias", "mean", "variance")}


def normalise(
    params: Params, name: str, z: torch.Tensor, weight: torch.Tensor | None, statistics: Params
) -> torch.Tensor:
    """Return `z` `[..., n, c, ...]` normalised by channel and mapped by `params` `[..., c]`.

    With `weight` `[..., n]` (training) by the statistics of the batch, put into `statistics` with the
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
        statistics[f"{name}.mean"] = mean.detach()
        statistics[f"{name}.variance"] = variance.detach() * count / (count - 1).clamp(min=1)
    scale = params[f"{name}.weight"] * (variance + EPSILON).rsqrt()
    return (z - column(mean)) * column(scale) + column(params[f"{name}.bias"])


def _over(z: torch.Tensor, places: tuple[int, ...]) -> torch.Tensor:
    """Return the means over the positions of every channel `[..., n, c]`."""
    return z.mean(places) if places else z


def convolution(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, pool: bool = False
) -> torch.Tensor:
    """Return `x` `[..., n, c, h, w]` convolved with `weight` `[..., units, c, k, k]`, k odd, of its size.

    With `pool` of each 2x2 square the largest number is kept.
    """
    if weight.ndim == 4:
        out = F.conv2d(x, weight, bias, padding=weight.shape[-1] // 2)
        return F.max_pool2d(out, 2) if pool else out
    if x.device.type == "cuda" and (engine := kernels()):
        return engine.convolution(x, weight, bias, pool)
    out: Any = Convolution.apply(x, weight, bias)
    return max_pool(out) if pool else out


class Convolution(torch.autograd.Function):
    """That of a stack by PyTorch; the gradient of the weights is a product with the patches that they saw.

    cuDNN's deterministic ones are of Winograd's algorithm, on an H100 up to 1e-3 of their length from
    float64; products 3e-7.
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        out = stack_convolution(x, weight)
        return out if bias is None else out + bias[:, None, :, None, None]

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,), (x, weight) = gradients, ctx.saved_tensors
        of_x = stack_convolution(gradient, transpose_kernels(weight)) if ctx.needs_input_grad[0] else None
        of_weight = (gradient.flatten(3) @ patches(x, weight.shape[-1]).mT).sum(1).view(weight.shape)
        return of_x, of_weight, gradient.sum((1, 3, 4)) if ctx.biased else None


def stack_convolution(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return the convolution of a stack as one of groups, or of all images where the weights are shared."""
    members, padding = len(x), weight.shape[-1] // 2
    if weight.stride(0) == 0:
        return F.conv2d(x.flatten(0, 1), weight[0], padding=padding).unflatten(0, x.shape[:2])
    every = x.transpose(0, 1).flatten(1, 2)
    out = F.conv2d(every, weight.flatten(0, 1), padding=padding, groups=members)
    return out.unflatten(1, (members, -1)).transpose(0, 1)


def transpose_kernels(weight: torch.Tensor) -> torch.Tensor:
    """Return the weights of the convolution that takes gradients back; shared ones stay shared."""
    own = weight[:1] if weight.stride(0) == 0 else weight
    return own.flip(3, 4).transpose(1, 2).expand(len(weight), -1, -1, -1, -1)


def patches(x: torch.Tensor, size: int) -> torch.Tensor:
    """Return the square of `size` around every pixel of `x` `[..., c, h, w]`: `[..., c·size², h·w]`."""
    padded = F.pad(x, [size // 2] * 4)
    around = padded.unfold(-2, size, 1).unfold(-2, size, 1)  # [..., c, h, w, size, size]
    return around.movedim((-2, -1), (-4, -3)).flatten(-5, -3).flatten(-2)


def max_pool(x: torch.Tensor) -> torch.Tensor:
    """Return the largest number of each 2x2 square of `x` `[..., n, c, h, w]`."""
    if x.dim() == 4:
        return F.max_pool2d(x, 2)
    return F.max_pool2d(x.flatten(0, 1), 2).unflatten(0, x.shape[:2])


def dense(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the outputs of a dense layer for `x` `[..., n, c, h, w]`, as `[..., n, units, ...]`.

    Its weights `[..., units, c, h, w]` are those of a convolution of all of `x`, for which a CPU has the
    faster kernel.
    """
    if weight.ndim == 4 and x.device.type == "cpu":
        return F.conv2d(x, weight, bias)
    return linear(x.flatten(weight.ndim - 3), weight.flatten(-3), bias)


LARGE = 1 << 20  # numbers that outgrow a core's cache: for few `x` a CPU then reads them faster by rows


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return `x` `[..., n, f]` times `weight` `[..., units, f]`, plus `bias` `[..., units]`."""
    if weight.ndim == 2 and weight.numel() < LARGE:
        return F.linear(x, weight, bias)
    if weight.ndim == 2:
        return torch.addmm(bias[:, None], weight, x.mT).mT
    return torch.baddbmm(bias[:, None], x, weight.mT)
