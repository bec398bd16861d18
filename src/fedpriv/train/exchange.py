"""What passes between clients and server in a round: bound, release, combine, and the hooks between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedpriv.mechanisms.clipping import Bounded
from fedpriv.schemes.base import RoundContext, Scheme
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
) -> tuple[torch.Tensor, Bounded, Facts]:
    """Return the server's mean `[p]`, the cohort's bounded rows before any release, and the facts of it all.

    `rows` `[n, p]` are what is bounded, `uploads` what clients would send: clipped by the hooks and, where
    gradients are `noisy`, with the noise that `rows` are without.
    """
    bounded, facts = scheme.bound(rows)
    bounded, limits = hooks.bounded(bounded, noisy)
    sent, released = scheme.release(bounded, uploads, context)
    received, hooked = hooks.on_upload(sent, context)
    mean, combined = scheme.combine(received, context)
    return mean, bounded, facts | limits | released | hooked | combined
