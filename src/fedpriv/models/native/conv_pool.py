"""Convolve, pool and, if asked, rectify the first layer of the CNN in one pass, forward and backward."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from fedpriv.models.native import library

DTYPES = (torch.float32, torch.bfloat16)


class _Kernels(NamedTuple):
    forward: Any
    backward: Any


@functools.cache
def _kernels() -> _Kernels:
    """Return the C functions with their types declared; a call releases Python's global lock."""
    kernels = _Kernels(library().conv_pool_forward, library().conv_pool_backward)
    tensors, sizes = [ctypes.c_void_p] * 5, [ctypes.c_int64] * 2
    kernels.forward.argtypes = [*tensors, *sizes, ctypes.c_int, ctypes.c_int]  # bfloat16, rectify
    kernels.backward.argtypes = [*tensors, *sizes, ctypes.c_int]  # bfloat16
    kernels.forward.restype = kernels.backward.restype = None
    return kernels


def _check(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, dtype: torch.dtype) -> None:
    """Raise ValueError for anything that C would misread: it sees addresses, not tensors."""
    channels = weight.shape[0]
    expected = {
        "x": (x, (x.shape[0], 1, 28, 28)),
        "weight": (weight, (channels, 1, 5, 5)),
        "bias": (bias, (channels,)),
    }
    for name, (tensor, shape) in expected.items():
        if tensor.shape != shape or tensor.dtype != torch.float32 or tensor.device.type != "cpu":
            found = f"{tuple(tensor.shape)} {tensor.dtype} on {tensor.device}"
            raise ValueError(f"{name}: found {found}, allowed is {shape} torch.float32 on cpu")
    if dtype not in DTYPES:
        raise ValueError(f"dtype: found {dtype}, allowed are torch.float32 and torch.bfloat16")


class ConvPool(torch.autograd.Function):
    """max_pool2d(conv2d(x, weight, bias, padding=2), 2) of one-channel 28x28 images on a CPU, and its ReLU.

    `ConvPool.apply(x, weight, bias, dtype=torch.float32, rectify=True)`, all positional: x `[n, 1, 28, 28]`,
    weight `[c, 1, 5, 5]`, bias `[c]`, float32; returns `[n, c, 14, 14]` in `dtype`, float32 or bfloat16, with
    channels_last strides. Weights, arithmetic and gradients are float32 either way; only what is returned is
    rounded. Gradients go to weight and bias, once differentiable, never to x.

    The gradient at a tie goes to the first maximum in reading order and NaN passes through, both as in
    PyTorch. Calls from many threads are safe, and equal input gives equal bits whatever else runs. Raises
    ValueError for other shapes, types or devices, RuntimeError where `available()` of this package is False.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        dtype: torch.dtype = torch.float32,
        rectify: bool = True,
    ) -> torch.Tensor:
        _check(x, weight, bias, dtype)
        if ctx.needs_input_grad[0]:
            raise ValueError("x: found requires_grad=True, allowed is False (images get no gradient)")
        # Names, not temporaries: the memory must outlive the call.
        x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
        n, channels = len(x), len(weight)
        maps = torch.empty(n, 14, 14, channels, dtype=dtype)
        mask = torch.empty(n, 14, 14, channels, dtype=torch.uint8)
        _kernels().forward(
            x.data_ptr(),
            weight.data_ptr(),
            bias.data_ptr(),
            maps.data_ptr(),
            mask.data_ptr(),
            n,
            channels,
            dtype == torch.bfloat16,
            rectify,
        )
        ctx.save_for_backward(x, mask)
        return maps.permute(0, 3, 1, 2)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: torch.Tensor
    ) -> tuple[None, torch.Tensor, torch.Tensor, None, None]:
        x, mask = ctx.saved_tensors
        n, channels = len(x), mask.shape[3]
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        weight, bias = torch.empty(channels, 1, 5, 5), torch.empty(channels)
        _kernels().backward(
            x.data_ptr(),
            gradient.data_ptr(),
            mask.data_ptr(),
            weight.data_ptr(),
            bias.data_ptr(),
            n,
            channels,
            gradient.dtype == torch.bfloat16,
        )
        return None, weight, bias, None, None
