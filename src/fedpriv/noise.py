"""Standard normal noise: reproducible from a seeded generator, or from the operating system's.

Seeded noise is for research: who knows the seed can subtract it. The operating system's cannot be predicted
and never comes again; what is left between it and a release is said in docs/reliability.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch


class Noise(NamedTuple):
    """A source of noise: a generator, or the operating system."""

    generator: torch.Generator | None

    def like(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return independent standard normals of the shape, type and device of `tensor`."""
        import torch

        if self.generator:
            return torch.empty_like(tensor).normal_(0.0, 1.0, generator=self.generator)
        from scipy.special import ndtri

        return torch.from_numpy(ndtri(uniforms(tuple(tensor.shape)))).to(tensor)


def uniforms(shape: tuple[int, ...]) -> np.ndarray:
    """Return uniforms in (0, 1), the middles of 2⁵² equal parts: 52 bits of the operating system each."""
    count = int(np.prod(shape))
    words = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return (((words >> np.uint64(12)) + 0.5) * 2.0**-52).reshape(shape)
