"""Rows of bounded norm: what noise is scaled to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedpriv.trace import Facts, Relation

if TYPE_CHECKING:
    import torch


class Bounded(NamedTuple):
    """Stacked updates `[clients, d]`, each of norm at most `l2` but for noise that the client added."""

    updates: torch.Tensor
    l2: float

    def sensitivity(self, relation: Relation) -> float:
        """Return how far the sum can move, in L2, between neighbours under `relation`."""
        return self.l2 if relation == "add_remove" else 2 * self.l2


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
