"""The verbs of a privacy scheme, and nothing else.

A scheme is a frozen value read from the config. The loop in `fedpriv.train` composes its verbs, all pure
functions over stacked updates `[clients, d]`; each returns its value and the facts that go into the trace.
Modules here import torch only for type checking: Snakemake re-parses the config in every job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from fedpriv.frozen import Frozen

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fedpriv.cohort import CohortLaw
    from fedpriv.models.base import Model
    from fedpriv.schemes.private_gradient import PrivateGradient
    from fedpriv.streams import Streams
    from fedpriv.work import LocalWork

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
    "gamma": 0.5,
    "flips": "",
    "noisy_bits": 0,
    "share_flipped": 0.0,
    "upload_l2": float("inf"),
    "upload_noise_std": 0.0,
    "broadcast_noise_std": 0.0,
    "clear_values": 0,
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


class Round(NamedTuple):
    """What the verbs may know of the round they are in; all of it is public."""

    number: int  # 1, 2, ...
    rounds: int  # in all
    population: int
    expected: float  # size of a cohort, the denominator of every mean
    examples: np.ndarray  # of each member of the cohort [n]
    fewest: int  # examples of any client of the population
    tensors: tuple[int, ...]  # sizes of the tensors that a row consists of
    streams: Streams


class Scheme(Frozen):
    """No protection: every verb leaves its argument alone; schemes override the verbs they change.

    Rows are updates, or whole weights for a scheme that `sends` these.
    """

    name: str
    unit: ClassVar[Unit] = "none"
    relation: ClassVar[Relation] = "add_remove"
    measures: ClassVar[tuple[str, ...]] = ()  # the distances of clients that may be sampled
    sends: ClassVar[Literal["update", "weights"]] = "update"  # what clients upload

    def fits(self, local: LocalWork, model: Model) -> str:
        """Return what this scheme needs instead of this local work or model, or the empty string."""
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

    def release(self, bounded: Bounded, uploads: torch.Tensor, now: Round) -> tuple[Bounded, Facts]:
        """Return what the clients send: client-side randomisation.

        `uploads` are the rows of `bounded` with the noise of their local work.
        """
        return bounded, {}

    def combine(self, bounded: Bounded, now: Round) -> tuple[torch.Tensor, Facts]:
        """Return the mean `[p]`, over a public denominator and with server noise: the server's step.

        Of whole weights, the server's new ones.
        """
        return bounded.updates.sum(0) / now.expected, {}

    def broadcast(self, weights: torch.Tensor, now: Round) -> tuple[torch.Tensor, Facts]:
        """Return what the server keeps and sends of its new weights `[p]`."""
        return weights, {}
