"""What passes between clients and server in a round: bound, release, combine, and the hooks between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedpriv.mechanisms.clipping import Bounded
from fedpriv.schemes.base import Memory, RoundContext, Scheme
from fedpriv.schemes.hooks import Hooks
from fedpriv.trace import Facts

if TYPE_CHECKING:
    import torch


def exchange(
    scheme: Scheme,
    hooks: Hooks,
    rows: torch.Tensor,
    uploads: torch.Tensor,
    context: RoundContext,
    noisy: bool,
) -> tuple[torch.Tensor, Bounded, Memory, Facts]:
    """Return the server's mean `[p]`, the bounded rows before any release, what the scheme keeps, the facts.

    `rows` `[n, p]` are what is bounded, `uploads` what clients would send: clipped by the hooks and, where
    gradients are `noisy`, with the noise that `rows` are without.
    """
    bounded, facts = scheme.bound(rows, context)
    bounded, limits = hooks.bounded(bounded, noisy)
    sent, released = scheme.release(bounded, uploads, context)
    received, hooked = hooks.on_upload(sent, context)
    mean, combined = scheme.combine(received, context)
    memory, remembered = scheme.remember(received, context)
    return mean, bounded, memory, facts | limits | released | hooked | combined | remembered
