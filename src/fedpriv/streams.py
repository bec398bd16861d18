"""The only place where randomness is born.

Every draw comes from a stream named by (seed, run, name, round, client): 128 bits of BLAKE2b of the name are
the key of a Philox generator (Salmon et al., SC 2011), which uses them all. So resuming at round t needs no
replay, adding a stream or changing the order of work changes no other draw, and every device draws the same.

The generators are reproducible research noise, not cryptographic noise: who knows the seed can subtract it,
so never use them to release data. `secure` takes all that privacy rests on from the operating system instead:
noise, the coins of randomised response, who is in a cohort and which examples are in a batch. Those cannot be
predicted and never come again; what is left between them and a release is said in docs/secure-randomness.md.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch


class Noise(NamedTuple):
    """A source of noise: a generator, or the operating system."""

    generator: np.random.Generator | None

    def like(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return independent standard normals of the shape, type and device of `tensor`."""
        import torch

        if self.generator:
            dtype = np.float64 if tensor.dtype == torch.float64 else np.float32
            drawn = self.generator.standard_normal(tuple(tensor.shape), dtype=dtype)
            return torch.from_numpy(drawn).to(tensor)
        from scipy.special import ndtri

        return torch.from_numpy(ndtri(uniforms(tuple(tensor.shape)))).to(tensor)


def uniforms(shape: tuple[int, ...]) -> np.ndarray:
    """Return uniforms in (0, 1), the middles of 2⁵² equal parts: 52 bits of the operating system each."""
    count = int(np.prod(shape))
    words = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return (((words >> np.uint64(12)) + 0.5) * 2.0**-52).reshape(shape)


# Draws that amplify privacy only as long as nobody can tell how they fell.
SECRET = ("cohort", "batches")


class Streams(NamedTuple):
    """All streams of one run at one seed; `secure` makes those unpredictable that privacy rests on."""

    seed: int
    run: str
    secure: bool = False

    def _key(self, name: str, round_number: int, client: int) -> int:
        if self.secure and name in SECRET:
            return int.from_bytes(os.urandom(16), "little")
        text = f"{self.seed}\0{self.run}\0{name}\0{round_number}\0{client}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")

    def numpy(self, name: str, round_number: int = 0, client: int = 0) -> np.random.Generator:
        """Return the stream as a generator."""
        return np.random.Generator(np.random.Philox(key=self._key(name, round_number, client)))

    def noise(self, name: str, round_number: int = 0, client: int = 0) -> Noise:
        """Return the stream as a source of normal noise."""
        return Noise(None if self.secure else self.numpy(name, round_number, client))

    def coins(self, heads: float, shape: tuple[int, ...], name: str, round_number: int) -> np.ndarray:
        """Return independent coins, bool of that shape, each true with probability `heads`."""
        if self.secure:
            return uniforms(shape) < heads
        return self.numpy(name, round_number).random(shape, dtype=np.float32) < heads
