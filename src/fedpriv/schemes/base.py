"""The verbs of a privacy scheme, and nothing else.

A scheme is a frozen value read from the config. The loop in `fedpriv.train` composes its verbs, all pure
functions over stacked updates `[clients, d]`; each returns its value and the facts that go into the trace.
Modules here import torch only for type checking: Snakemake re-parses the config in every job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from fedpriv.frozen import Frozen

if TYPE_CHECKING:
    import torch

    from fedpriv.cohort import CohortLaw
    from fedpriv.config import LocalWork
    from fedpriv.schemes.private_gradient import PrivateGradient
    from fedpriv.streams import Streams

Unit = Literal["client", "instance", "both", "none"]
Relation = Literal["add_remove", "replace_one"]
Facts = dict[str, Any]

# Columns of the trace that schemes fill in; what does not apply to a scheme stays as here.
NO_FACTS: Facts = {
    "clip_l2": float("inf"),
    "share_clipped": 0.0,
    "not_finite": 0,
    "clip_private": False,
    "noise_multiplier": 0.0,
    "noise_std": 0.0,
    "local_steps": 0,
    "rate_sequential": 0.0,
    "rate_parallel": 0.0,
    "per_example_clip": False,
    "instance_clip_l2": float("inf"),
    "instance_noise_multiplier": 0.0,
    "instance_noise_std": 0.0,
    "noise_shares": 0,
}

# Of a client's update, for the Bayesian accountant (`fedpriv.probe`).
DISTANCES = ("remove_sum", "remove_mean", "pairwise")


class Bounded(NamedTuple):
    """Stacked updates `[clients, d]`, each of norm at most `l2` but for noise that the client added."""

    updates: torch.Tensor
    l2: float

    def sensitivity(self, relation: Relation) -> float:
        """Return how far the sum can move, in L2, between neighbours under `relation`."""
        return self.l2 if relation == "add_remove" else 2 * self.l2


class Scheme(Frozen):
    """No protection: every verb leaves its argument alone; schemes override the verbs they change."""

    name: str
    unit: ClassVar[Unit] = "none"
    relation: ClassVar[Relation] = "add_remove"
    measures: ClassVar[tuple[str, ...]] = ()  # the distances of clients that may be sampled

    def fits(self, local: LocalWork) -> str:
        """Return what local work this scheme needs instead of `local`, or the empty string."""
        return ""

    def gradient(self, local: LocalWork) -> PrivateGradient | None:
        """Return how clients randomise their gradients while they train; None: they do not."""
        return None

    def horizon(self, cohort: CohortLaw, population: int, rounds: int) -> int:
        """Return how many of the wanted `rounds` this scheme allows; decided before training."""
        return rounds

    def bound(self, updates: torch.Tensor) -> tuple[Bounded, Facts]:
        """Return the cohort's updates with a norm bound each of them satisfies."""
        return Bounded(updates, float("inf")), {}

    def release(
        self, bounded: Bounded, uploads: torch.Tensor, streams: Streams, round: int
    ) -> tuple[Bounded, Facts]:
        """Return what the clients send: client-side randomisation.

        `uploads` are the rows of `bounded` with the noise of their local work.
        """
        return bounded, {}

    def combine(
        self, bounded: Bounded, expected: float, streams: Streams, round: int
    ) -> tuple[torch.Tensor, Facts]:
        """Return the server's step `[d]`: the sum over a public denominator, with server noise."""
        return bounded.updates.sum(0) / expected, {}
