"""A private gradient: bounded, measured, noised on the client. Instance-level privacy happens here alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.gaussian import leave_one_out, normals
from fedpriv.streams import Noise
from fedpriv.trace import Facts

if TYPE_CHECKING:
    import torch


class PrivateGradient(NamedTuple):
    """A Poisson batch, a bound, Gaussian noise on the mean; every number in units of that mean.

    The mean is the sum over the batch divided by the public `batch_size`, the expected size.
    """

    batch_size: int
    clip_l2: float  # of the mean
    example_clip_l2: float | None  # of every example's gradient before it enters the mean; None: not clipped
    noise_multiplier: float
    samples: int

    @property
    def sensitivity(self) -> float:
        """Sensitivity of the mean to one example.

        With clipping per example that is its bound over B, by add/remove. Without, only the mean is clipped,
        and C is what the paper counts; two points of a ball of radius C may be 2C apart.
        """
        return self.clip_l2 if self.example_clip_l2 is None else self.example_clip_l2 / self.batch_size

    @property
    def noise_std(self) -> float:
        """Return the std of the noise on every coordinate of the mean."""
        return self.noise_multiplier * self.sensitivity

    def facts(self, local_steps: int, sizes: np.ndarray) -> Facts:
        """Columns of the trace about `local_steps` gradients a client, which has one of `sizes` examples.

        Raises BadInput when a client holds less than a batch: no example can be sampled with a rate above 1.
        """
        if self.batch_size > sizes.min():
            raise BadInput(
                f"local.batch_size: found {self.batch_size}, allowed: at most {sizes.min()}, the examples of "
                f"client {sizes.argmin()}; its sampling rate would be above 1"
            )
        return {
            "local_steps": local_steps,
            "rate_sequential": self.batch_size / float(sizes.sum()),
            "rate_parallel": self.batch_size / float(sizes.min()),
            "per_example_clip": self.example_clip_l2 is not None,
            "instance_clip_l2": self.sensitivity,
            "instance_noise_multiplier": self.noise_multiplier,
            "instance_noise_std": self.noise_std,
        }


class Gradient(NamedTuple):
    """One client's private gradient and what it alone may know about it."""

    noisy: torch.Tensor  # [d]
    clean: torch.Tensor  # [d], of norm at most clip_l2
    distances: dict[str, np.ndarray]  # leave-one-out, [samples], NaN where the batch was smaller
    share_clipped: float


def privatise(
    private_gradient: PrivateGradient,
    total: torch.Tensor,
    rows: torch.Tensor,
    size: int,
    share_clipped: float,
    noise: Noise,
) -> Gradient:
    """Return the gradient that leaves the client: N(0, noise_std² I) on the batch mean, clipped to clip_l2.

    `total` `[d]` is the mean over the public batch size, `rows` `[m, d]` the parts that the sampled examples
    have in it, already clipped if examples are clipped one by one, `size` how many examples are in the batch.
    Otherwise the share that was clipped is that of the mean: 0 or 1.
    """
    bounded, facts = clip(total[None], private_gradient.clip_l2)
    clean = bounded.updates[0]
    noisy = clean + private_gradient.noise_std * noise.like(clean)
    distances = {}
    if private_gradient.samples:
        moved = leave_one_out(total, rows, size / max(size - 1, 1), private_gradient.clip_l2)
        distances = {name: pad_distances(private_gradient, len(rows), moves) for name, moves in moved.items()}
    return Gradient(
        noisy, clean, distances, share_clipped if private_gradient.example_clip_l2 else facts["share_clipped"]
    )


def privatise_stack(
    private_gradient: PrivateGradient,
    totals: torch.Tensor,
    rows: torch.Tensor,
    sizes: Sequence[int],
    shares_clipped: torch.Tensor | None,
    noises: Sequence[Noise],
) -> list[Gradient]:
    """Gradients as of `privatise` of each of a stack of clients, in a few launches for all of them.

    `totals` `[c, d]`, `rows` `[c, m, d]`; of a client with fewer than m examples the last rows mean nothing.
    `shares_clipped` `[c]` are those of examples, None where only means are clipped.
    """
    import torch

    bounded, _ = clip(totals, private_gradient.clip_l2)
    noisy = bounded.updates + private_gradient.noise_std * normals(noises, totals)
    moved = {}
    if private_gradient.samples:
        grown = totals.new_tensor([size / max(size - 1, 1) for size in sizes])
        away = partial(leave_one_out, l2=private_gradient.clip_l2)
        moved = {name: of_all.cpu() for name, of_all in torch.func.vmap(away)(totals, rows, grown).items()}
    assert bounded.inside is not None
    shares = (~bounded.inside).double() if shares_clipped is None else shares_clipped
    return [
        Gradient(
            noisy[client],
            bounded.updates[client],
            {name: pad_distances(private_gradient, size, of_all[client]) for name, of_all in moved.items()},
            share,
        )
        for client, (size, share) in enumerate(zip(sizes, shares.tolist(), strict=True))
    ]


def pad_distances(private_gradient: PrivateGradient, examples: int, values: torch.Tensor) -> np.ndarray:
    """Return the distances that `examples` have, float32, and NaN for those that more would have."""
    padded = np.full(private_gradient.samples, np.nan, dtype=np.float32)
    there = min(examples, private_gradient.samples)
    padded[:there] = values[:there].cpu().numpy()
    return padded
