"""The Gaussian mechanism on stacked updates: clip rows, add noise to the sum, divide by a public number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedpriv.schemes.base import Bounded, Facts, Round

if TYPE_CHECKING:
    import torch


def clip(updates: torch.Tensor, l2: float) -> tuple[Bounded, Facts]:
    """Scale every row down to norm at most `l2`; rows inside the ball are untouched.

    A row that is not finite counts as zero: it would otherwise pass every comparison and reach the model.
    """
    import torch

    # In float64: a norm rounded down would let its row pass unclipped.
    norms = torch.linalg.vector_norm(updates, dim=1, dtype=torch.float64)
    finite = norms.isfinite()
    if not finite.all():
        updates = updates.where(finite[:, None], 0.0)
        norms = norms.where(finite, 0.0)
    over = norms > l2
    # The tiny shrink keeps the float32 product inside the ball; clamping means no division by zero.
    scale = torch.where(over, l2 / norms.clamp(min=l2) * (1 - 1e-6), 1.0)
    facts = {
        "clip_l2": l2,
        "share_clipped": float(over.float().mean()) if len(norms) else 0.0,
        "not_finite": int((~finite).sum()),
    }
    return Bounded(updates * scale.to(updates.dtype)[:, None], l2), facts


def gaussian_mean(bounded: Bounded, noise_multiplier: float, now: Round) -> tuple[torch.Tensor, Facts]:
    """Return (Σ rows + N(0, (noise_multiplier · sensitivity)² I)) / expected; add/remove sensitivity."""
    total = bounded.updates.sum(0)
    noise_std = noise_multiplier * bounded.sensitivity("add_remove")
    facts = {"noise_multiplier": noise_multiplier, "noise_std": noise_std}
    return (total + noise_std * noise(total, now, "noise")) / now.expected, facts


def noise(like: torch.Tensor, now: Round, name: str) -> torch.Tensor:
    """Return standard normal noise of the shape of `like`, from the round's stream of that name."""
    return now.streams.noise(name, now.number, device=like.device).like(like)
