"""What passes between clients and server in a round: bound, release, combine, and the hooks between them.

The hooks add to any scheme clipping before upload, noise on upload and noise before broadcast:
FederatedScope, Differential Privacy, section "Support of DP". A hook changes what is sent and says so in
the trace; it makes no scheme of its own.

DEVIATION: FederatedScope clips the gradient of a mini-batch (here `local.clip_gradient`), which bounds
nothing that is sent. `clip_upload` bounds the upload itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from fedpriv.frozen import Frozen, Positive, PositiveOrZero
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.schemes.base import Memory, RoundContext, Scheme
from fedpriv.trace import Facts

if TYPE_CHECKING:
    import torch


class Clip(Frozen):
    """Scale an upload down to norm `bound`, or cut each of its numbers off at plus and minus `bound`."""

    kind: Literal["norm", "element"] = "norm"
    """Of the clipping: of the whole norm, or of every number."""
    bound: Positive
    """Of the norm, or of every number."""

    def l2(self, dimension: int) -> float:
        """Return the norm that no upload of `dimension` numbers exceeds."""
        return self.bound if self.kind == "norm" else self.bound * math.sqrt(dimension)

    def apply(self, rows: torch.Tensor) -> torch.Tensor:
        """Return `rows` `[n, p]` clipped; what is not finite becomes zero."""
        if self.kind == "norm":
            return clip(rows, self.bound)[0].updates
        return rows.nan_to_num(0.0, 0.0, 0.0).clamp(-self.bound, self.bound)


class Hooks(Frozen):
    """What is added to the scheme; by default nothing."""

    clip_upload: Clip | None = None
    """Of what a client sends, after the scheme's own."""
    upload_noise_std: PositiveOrZero = 0.0
    """Of Gaussian noise on every number of an upload."""
    broadcast_noise_std: PositiveOrZero = 0.0
    """Of Gaussian noise on every number that the server sends."""

    def before_upload(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows that clients would send `[n, p]`, clipped."""
        return self.clip_upload.apply(rows) if self.clip_upload else rows

    def bounded(self, by_scheme: Bounded, noisy: bool) -> tuple[Bounded, Facts]:
        """Rows that the scheme has bounded, with the smaller of both bounds.

        Where gradients are `noisy` it is their clean part that is bounded and measured, and the hook clips
        what is sent, noise and all: that bounds no clean part, and a sum's noise is no longer Gaussian.
        """
        if not self.clip_upload:
            return by_scheme, {}
        if noisy:
            return by_scheme, {"noise_clipped": True}
        l2 = min(self.clip_upload.l2(by_scheme.updates.shape[1]), by_scheme.l2)
        l2 = max(l2, by_scheme.least)  # to which the scheme has scaled up what the hook had clipped
        return by_scheme._replace(l2=l2), {"clip_l2": l2}

    def on_upload(self, sent: Bounded, context: RoundContext) -> tuple[Bounded, Facts]:
        """Return the uploads as they arrive at the server."""
        if not self.upload_noise_std:
            return sent, {}
        noisy = sent.updates + self.upload_noise_std * context.noise("upload_hook").like(sent.updates)
        facts = {
            "upload_l2": sent.l2,
            "upload_noise_std": self.upload_noise_std,
            "upload_noise_least": self.upload_noise_std,
            "noise_in_sum": True,
        }
        return sent._replace(updates=noisy), facts

    def before_broadcast(self, weights: torch.Tensor, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        """Weights `[p]` that the server sends instead."""
        if not self.broadcast_noise_std:
            return weights, {}
        noisy = weights + self.broadcast_noise_std * context.noise("broadcast_hook").like(weights)
        return noisy, {"broadcast_noise_std": self.broadcast_noise_std}


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
