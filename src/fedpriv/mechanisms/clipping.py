"""Rows of bounded norm: what noise is scaled to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from fedpriv.trace import Facts, Relation

if TYPE_CHECKING:
    import torch


ROWS = 8  # in one go of `norms_of` on a CPU
SHRINK = 1e-6  # of what is clipped


class Bounded(NamedTuple):
    """Stacked updates `[clients, d]`, each of norm at most `l2` but for noise that the client added.

    Where smaller ones were scaled up, `least` is the norm that they have now, and that noise is scaled to.
    `inside` `[clients]` says which ones were within the bound before; None: nobody looked.
    """

    updates: torch.Tensor
    l2: float
    least: float = 0.0
    inside: torch.Tensor | None = None

    def sensitivity(self, relation: Relation) -> float:
        """L2 sensitivity of the sum between neighbours under `relation`."""
        return self.l2 if relation == "add_remove" else 2 * self.l2


def norms_of(updates: torch.Tensor) -> torch.Tensor:
    """Return the norms `[n]` of rows `[n, d]`, float64: one rounded down would let its row pass unclipped.

    On a CPU a few rows at a time, in one buffer: all of them in float64 are twice the memory that they are,
    and of a new buffer for each few malloc reuses none where something small has taken its edge.
    """
    import torch

    if updates.device.type != "cpu":
        return torch.linalg.vector_norm(updates, dim=1, dtype=torch.float64)
    wide = torch.empty(min(ROWS, len(updates)), updates.shape[1], dtype=torch.float64)
    norms = torch.empty(len(updates), dtype=torch.float64)
    for rows, out in zip(updates.split(ROWS), norms.split(ROWS), strict=True):
        torch.linalg.vector_norm(wide[: len(rows)].copy_(rows), dim=1, out=out)
    return norms


def rows_and_norms(updates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Return the rows, their norms in float64, and how many of them were no numbers (see `fact`).

    A row that is not finite counts as zero: it would otherwise pass every comparison and reach the model.
    """
    norms = norms_of(updates)
    finite = norms.isfinite()
    if updates.device.type != "cpu" or not finite.all():
        updates = updates.where(finite[:, None], 0.0)
        norms = norms.where(finite, 0.0)
    return updates, norms, fact((~finite).sum())


def fact(number: torch.Tensor) -> Any:
    """Return a number; of a GPU the tensor that will hold it: a round is queued without waiting for it."""
    return number.item() if number.device.type == "cpu" else number


def scale_rows(updates: torch.Tensor, factors: torch.Tensor, most: float) -> torch.Tensor:
    """Return rows `[n, d]` times their float64 `factors` `[n]`, none longer than `most`, all of them finite.

    Factors are rounded to the type of the rows, and so are products. Where that could be felt (of half
    precision, of a tiny `most`, of a factor too small or too large for the type) it is looked at, and rows
    that came out too long are scaled in float64 instead, by a little less if that must be. On a GPU, which
    would have to be waited for, a row whose factor is too small becomes zero.
    """
    import torch

    kind, bounded = torch.finfo(updates.dtype), math.isfinite(most)
    most = min(most, torch.finfo(torch.float64).max)
    fine = kind.eps < SHRINK / 4 and most * SHRINK > 4 * kind.tiny * kind.eps * updates.shape[1] ** 0.5
    if updates.device.type != "cpu" and fine and bounded:
        return updates * factors.where(factors >= kind.tiny, 0.0).to(updates.dtype)[:, None]
    products = updates * factors.to(updates.dtype)[:, None]
    doubtful = (
        (factors < kind.tiny) | (factors > kind.max) if fine else torch.ones_like(factors, dtype=torch.bool)
    )
    if not doubtful.any():
        return products
    long = doubtful.nonzero()[:, 0]
    long = long[~(norms_of(products[long]) <= most)]
    rows, less = updates[long].double() * factors[long, None], kind.eps
    while len(long):
        products[long] = rows.to(updates.dtype)
        still = ~(norms_of(products[long]) <= most)
        long, rows, less = long[still], rows[still] * (1 - less), min(2 * less, 0.5)
    return products


def clip(updates: torch.Tensor, l2: float) -> tuple[Bounded, Facts]:
    """Scale every row down to norm at most `l2`, in float64; rows inside the ball are untouched.

    A row that is not finite becomes zero, and so does one of float64 whose norm is beyond float64.
    """
    import torch

    updates, norms, not_finite = rows_and_norms(updates)
    over = norms > l2
    # The shrink keeps the float32 product inside the ball; clamping means no division by zero.
    factors = torch.where(over, l2 / norms.clamp(min=l2) * (1 - SHRINK), 1.0)
    facts = {
        "clip_l2": l2,
        "share_clipped": fact(over.float().mean()) if len(norms) else 0.0,
        "not_finite": not_finite,
    }
    return Bounded(scale_rows(updates, factors, l2), l2, inside=~over), facts


def raise_to(updates: torch.Tensor, least: float) -> tuple[Bounded, Facts]:
    """Scale every row up to norm at least `least`; larger ones pass, so that nothing bounds a row.

    Geyer et al.'s released code, where the cap is on the wrong side. Rows of zeros stay; a row that is not
    finite becomes one.
    """
    import torch

    updates, norms, not_finite = rows_and_norms(updates)
    factors = torch.where((norms > 0) & (norms < least), least / norms, 1.0)
    raised = scale_rows(updates, factors, float("inf"))
    return Bounded(raised, float("inf"), least), {"clip_l2": float("inf"), "not_finite": not_finite}
