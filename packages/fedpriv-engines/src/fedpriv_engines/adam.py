"""A step of Adam for a stack of clients on a GPU: every number is read and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _adam(
    weights, first, second, gradient, rate, whole, d, beta1, beta2,
    BLOCK: tl.constexpr,
):  # fmt: skip
    member = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at, inside = member * d + place, place < d
    new = tl.load(gradient + at, mask=inside)
    old = tl.load(first + at, mask=inside)
    mean = old + (1 - beta1) * (new - old)
    square = beta2 * tl.load(second + at, mask=inside) + (1 - beta2) * new * new
    step = mean / (tl.sqrt(square / tl.load(whole + member)) + 1e-8) * tl.load(rate + member)
    tl.store(first + at, mean, mask=inside)
    tl.store(second + at, square, mask=inside)
    tl.store(weights + at, tl.load(weights + at, mask=inside) - step, mask=inside)


def adam(
    weights: torch.Tensor,
    first: torch.Tensor,
    second: torch.Tensor,
    gradient: torch.Tensor,
    rate: torch.Tensor,
    whole: torch.Tensor,
    betas: tuple[float, float],
) -> None:
    """Take a step in place: weights, both moments and the gradient `[s, d]`, float32 and contiguous.

    `rate` `[s, 1]` is the learning rate over 1 - beta1^steps, `whole` `[s, 1]` is 1 - beta2^steps.
    """
    members, d = weights.shape
    grid = triton.cdiv(d, 1024), members
    _adam[grid](weights, first, second, gradient, rate, whole, d, *betas, BLOCK=1024)
