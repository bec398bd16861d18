"""A convolution and a dense layer as a CPU computes them best, and a GPU of stacked clients."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F


def convolution(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return `x` `[n, c, h, w]` convolved with `weight` `[units, c, k, k]`, k odd, of the size of `x`."""
    if x.device.type == "cpu":
        return Convolution.forward(x, weight, bias)
    return Convolution.apply(x, weight, bias)  # pyright: ignore[reportReturnType]


class Convolution(torch.autograd.Function):
    """The same forward; the gradient of the weights is a product with the patches that they saw.

    cuDNN's deterministic ones are of Winograd's algorithm, on an H100 up to 1e-3 of their length from
    float64; products 3e-7. They take more memory, and a round of private gradients a third less time.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        return F.conv2d(x, weight, bias, padding=weight.shape[-1] // 2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, weight, bias = inputs
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,), (x, weight) = gradients, ctx.saved_tensors
        of_x = None
        if ctx.needs_input_grad[0]:
            turned = weight.flip(2, 3).transpose(0, 1)
            of_x = F.conv2d(gradient, turned, padding=weight.shape[-1] // 2)
        of_weight = (gradient.flatten(2) @ patches(x, weight.shape[-1]).mT).sum(0).view(weight.shape)
        return of_x, of_weight, gradient.sum((0, 2, 3)) if ctx.biased else None


def patches(x: torch.Tensor, size: int) -> torch.Tensor:
    """Return the square of `size` pixels around every pixel of `x` `[n, c, h, w]`: `[n, c·size², h·w]`."""
    padded = F.pad(x, [size // 2] * 4)
    around = padded.unfold(2, size, 1).unfold(3, size, 1)  # [n, c, h, w, size, size]
    return around.permute(0, 1, 4, 5, 2, 3).flatten(1, 3).flatten(2)


def dense(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return what a dense layer gives for `x` `[n, c, h, w]`, as `[n, units, ...]`.

    Its weights `[units, c, h, w]` are those of a convolution of all of `x`, for which a CPU has the faster
    kernel. A GPU has a hundredfold slower one, where clients are stacked.
    """
    if x.device.type == "cpu":
        return F.conv2d(x, weight, bias)
    return F.linear(x.flatten(1), weight.flatten(1), bias)
