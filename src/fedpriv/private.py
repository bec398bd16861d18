"""A private gradient: bounded, measured, then noised. Instance-level privacy happens here alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from fedpriv.errors import BadInput
from fedpriv.noise import Noise
from fedpriv.probe import leave_one_out, width
from fedpriv.schemes.base import Facts
from fedpriv.schemes.gaussian import clip
from fedpriv.schemes.private_gradient import PrivateGradient

if TYPE_CHECKING:
    from fedpriv.work import LocalWork


class Gradient(NamedTuple):
    """One client's private gradient and what it alone may know about it."""

    noisy: torch.Tensor  # [d]
    clean: torch.Tensor  # [d], of norm at most clip_l2
    distances: dict[str, np.ndarray]  # leave-one-out, [samples], NaN where the batch was smaller
    share_clipped: float


def privatise(
    how: PrivateGradient,
    total: torch.Tensor,
    rows: torch.Tensor,
    size: int,
    share_clipped: float,
    noise: Noise,
) -> Gradient:
    """Return the gradient that leaves the client: N(0, noise_std² I) on the batch mean, clipped to clip_l2.

    `total` `[d]` is the mean over the public batch size, `rows` `[m, d]` the parts that the sampled examples
    have in it, already clipped if `how` clips examples, `size` how many examples are in the batch. Without
    clipping per example the share that was clipped is that of the mean: 0 or 1.
    """
    bounded, facts = clip(total[None], how.clip_l2)
    clean = bounded.updates[0]
    noisy = clean + how.noise_std * noise.like(clean)
    distances = {}
    if how.samples:
        for name, values in leave_one_out(total, rows, size, how.clip_l2).items():
            distances[name] = np.full(width(name, how.samples), np.nan, dtype=np.float32)
            distances[name][: len(values)] = values.cpu().numpy()
    return Gradient(noisy, clean, distances, share_clipped if how.example_clip_l2 else facts["share_clipped"])


def poisson_batch(examples: int, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a batch in random order; every example is in it with probability batch_size/examples."""
    return rng.permutation(np.flatnonzero(rng.random(examples) < batch_size / examples))


def facts(how: PrivateGradient, work: LocalWork, sizes: np.ndarray) -> Facts:
    """Return what the trace says about every client's private gradients; `sizes` are the clients' examples.

    Raises BadInput when a client holds less than a batch: no example can be sampled with a rate above 1.
    """
    if how.batch_size > sizes.min():
        raise BadInput(
            f"local.batch_size: found {how.batch_size}, allowed: at most {sizes.min()}, the examples of "
            f"client {sizes.argmin()}; its sampling rate would be above 1"
        )
    return {
        "local_steps": work.steps if work.name == "fedavg" else 1,
        "rate_sequential": how.batch_size / float(sizes.sum()),
        "rate_parallel": how.batch_size / float(sizes.min()),
        "per_example_clip": how.example_clip_l2 is not None,
        "instance_clip_l2": how.sensitivity,
        "instance_noise_multiplier": how.noise_multiplier,
        "instance_noise_std": how.noise_std,
    }
