"""What C would misread is refused by name: it sees addresses, not tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch


def check(tensors: Mapping[str, tuple[torch.Tensor, tuple[int, ...], torch.dtype]]) -> None:
    """Raise ValueError for a tensor that is not contiguous memory of this shape and type on a CPU."""
    for name, (tensor, shape, dtype) in tensors.items():
        right = tensor.shape == shape and tensor.dtype == dtype and tensor.device.type == "cpu"
        if not right or not tensor.is_contiguous() or tensor.requires_grad:
            found = f"{tuple(tensor.shape)} {tensor.dtype} on {tensor.device}"
            found += "" if tensor.is_contiguous() else ", not contiguous"
            found += ", requires_grad" if tensor.requires_grad else ""
            raise ValueError(f"{name}: found {found}, allowed is {shape} {dtype} on cpu, contiguous")


def check_range(name: str, numbers: torch.Tensor, low: int, high: int) -> None:
    """Raise ValueError for numbers that are not from `low` to `high`."""
    if len(numbers) and not low <= int(numbers.min()) <= int(numbers.max()) <= high:
        found = f"{int(numbers.min())} to {int(numbers.max())}"
        raise ValueError(f"{name}: found {found}, allowed are {low} to {high}")
