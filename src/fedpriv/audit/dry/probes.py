"""Probes: a round is played again with hostile uploads, and each difference must be as it is stated.

Nothing is left to chance. Is a round repeatable, is each upload bounded, how far does one move the sum, does
the noise depend on uploads, or come again in another run? And is all that the server makes of a release the
same where the release is, whatever was sent beneath it?
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from fedpriv.audit.dry.attacks import Statement
from fedpriv.audit.dry.rounds import Round, Site, declared_bound
from fedpriv.mechanisms.clipping import norms_of
from fedpriv.schemes.base import Memory
from fedpriv.streams import Streams
from fedpriv.trace import Facts

NORMS = (0.5, 1.01, 3.0, 10.0, 1e6)  # of hostile uploads, in units of the bound
HUGE = 3e38  # near the largest number of float32
ROUNDED = 1e-3  # its square is what float32 may move a sum by, relatively
OTHER = Streams(0, "other noise")  # of the run that a round is compared with
MANY = 40  # runs in which noise that is there is not always the same
ALIKE = 6.5  # standard deviations of a correlation of independent noise: it is larger once in 10^10 times


@dataclass(frozen=True)
class ProbedRound:
    """One round of hostile uploads, and the means to play it again."""

    site: Site
    stated: Statement
    round: int
    memory: Memory
    streams: Streams
    rows: torch.Tensor
    played: Round

    @property
    def bound(self) -> float:
        """Return the norm that a part of what is seen is declared to have at most."""
        return declared_bound(self.played.facts, self.stated.attack, self.site.rows_are_examples)

    @property
    def rounding(self) -> float:
        """Move of a sum that float32 may cause."""
        return ROUNDED**2 * (
            self.bound + float(self.played.clean.double().norm()) + float(self.played.total.norm())
        )

    def again(
        self, rows: torch.Tensor, ids: np.ndarray | None = None, streams: Streams | None = None
    ) -> Round:
        """Play the round again, of these clients; what the server makes of it is of the first release."""
        given = None if streams else self.played
        ids = np.arange(len(rows)) if ids is None else ids
        return self.site.play(rows, ids, self.round, self.memory, streams or self.streams, given)

    @cached_property
    def quiet(self) -> Round:
        """The same round of clients who send nothing."""
        return self.again(torch.zeros_like(self.rows))

    @cached_property
    def other(self) -> Round:
        """The round as a run of another name plays it."""
        return self.again(self.rows, streams=OTHER)

    @cached_property
    def without(self) -> dict[int, Round]:
        """The rounds of neighbours: one upload is left out or, with its noise kept, is zero.

        Of all uploads in the first round and the last, of one in each of the others.
        """
        everybody = self.round in (1, self.site.mechanism.plan.rounds)
        return {
            upload: self.again(*self.neighbour(upload))
            for upload in (range(len(self.rows)) if everybody else [self.round % len(self.rows)])
        }

    def neighbour(self, upload: int) -> tuple[torch.Tensor, np.ndarray]:
        """Return uploads and ids without one of them."""
        others = np.arange(len(self.rows))
        if self.stated.relation != "add_remove" or self.played.facts["noise_in_sum"]:
            rows = self.rows.clone()
            rows[upload] = 0.0
            return rows, others
        others = np.delete(others, upload)
        return self.rows[others], others


def hostile_updates(bound: float, dimension: int, rng: np.random.Generator) -> torch.Tensor:
    """Return uploads `[n, d]` of several norms: dense, equal, sparse, of one number; and no numbers."""
    few = rng.permutation(dimension)[: max(2, math.isqrt(dimension))]
    shapes = np.zeros((4, dimension))
    shapes[0], shapes[1], shapes[3, few[0]] = rng.standard_normal(dimension), 1.0, -1.0
    shapes[2, few] = rng.standard_normal(len(few))
    shapes /= np.linalg.norm(shapes, axis=1, keepdims=True)
    rows = (bound * np.array(NORMS)[:, None, None] * shapes).reshape(-1, dimension)
    odd = np.zeros((3, dimension))
    odd[0, 0], odd[1, -1], odd[2] = np.nan, np.inf, HUGE
    return torch.from_numpy(np.concatenate([rows.clip(-HUGE, HUGE), odd])).float()


def noise_of(played: Round, each: bool) -> torch.Tensor:
    """Return the noise of each upload `[n, k]`, or of the sum `[k]`, float64."""
    if each:
        return played.received.updates.double() - played.clean.double()
    return played.total - played.clean.double().sum(0)


def repeatable(probe: ProbedRound) -> str:
    """Fault: a round played again is another, so that no run could be resumed, or probed."""
    if probe.round > 1:
        return ""
    again = probe.again(probe.rows)
    seen, other = ({"sum": one.total, "uploads": one.received.updates} for one in (again, probe.played))
    if not different(seen | again.made, other | probe.played.made):
        return ""
    return "the same round played again is another: some of its randomness is not from the run's streams"


def numbers_alone(probe: ProbedRound) -> str:
    """Fault: an upload that is no number reaches the sum."""
    finite = bool(probe.played.clean.isfinite().all())
    return "" if finite else "an upload that is no number reaches the sum"


def within_bound(probe: ProbedRound) -> str:
    """Fault: a part of a sum is longer than is declared."""
    if probe.site.rows_are_examples:  # of which the sum alone is seen
        return ""
    norms = norms_of(probe.played.clean.nan_to_num(0.0, 0.0, 0.0)).numpy()
    longest = int(norms.argmax())
    if norms[longest] <= probe.bound:
        return ""
    sent, norm = (value / probe.bound for value in (float(norms_of(probe.rows[[longest]])), norms[longest]))
    return f"an upload of norm {sent:.4g} has norm {norm:.7g} in the sum, in units of the bound"


def moves_by_the_bound(probe: ProbedRound) -> str:
    """Fault: one upload moves the noisy sum farther than is declared."""
    moved = max(float((probe.played.total - other.total).norm()) for other in probe.without.values())
    if moved <= probe.stated.reach * probe.bound + probe.rounding:
        return ""
    times = moved / probe.bound
    digits = 4 if round(times, 3) > probe.stated.reach else 8
    return f"one upload moves the sum by {times:.{digits}g} times the bound"


def noise_is_its_own(probe: ProbedRound) -> str:
    """Fault: the noise depends on the updates.

    What they move a sum by beside their own, the same whatever the noise, is no noise: rounding to steps.
    """

    def moved(played: Round, quiet: Round) -> torch.Tensor:
        return noise_of(played, each=False) - noise_of(quiet, each=False)

    here = moved(probe.played, probe.quiet)
    if float(here.norm()) <= probe.rounding:
        return ""
    there = moved(probe.other, probe.again(torch.zeros_like(probe.rows), streams=OTHER))
    same = float((here - there).norm()) <= 2 * probe.rounding
    return "" if same else "the noise is another where other updates are sent"


def noise_of_this_run(probe: ProbedRound) -> str:
    """Fault: another run has the same noise."""
    here, there = (
        noise_of(played, probe.site.sees_uploads).ravel() for played in (probe.played, probe.other)
    )
    if probe.stated.attack == "bit":  # which bits are flipped, around the mean
        here, there = (flips - flips.mean() for flips in (here.abs(), there.abs()))
    size = float(here.norm() * there.norm())
    correlation = abs(float(here @ there)) / size if 0 < size < math.inf else 0.0
    same = np.array_equal(here, there, equal_nan=True) or correlation > ALIKE / len(here) ** 0.5
    return f"the noise of round {probe.round} comes again in another run" if same else ""


def kept_without_noise(probe: ProbedRound) -> str:
    """Fault: the scheme keeps a number that moves with a client, and not with the noise.

    Discrete noise may be the same in two runs by chance, but not in many.
    """
    for name, kept in probe.played.remembered.items():
        moved = [kept != other.remembered[name] for other in probe.without.values()]
        bare, run = torch.stack(moved).any(0) & (kept == probe.other.remembered[name]), 0
        while bool(bare.any()) and run < MANY:
            run += 1
            other = probe.again(probe.rows, streams=Streams(0, f"{OTHER.run} {run}"))
            bare &= kept == other.remembered[name]
        if bool(bare.any()):
            return f"{name}, which is kept after round {probe.round}, shows a client without noise"
    return ""


def follows_from_the_release(probe: ProbedRound) -> str:
    """Fault: what the server makes of the same release is another where others sent it.

    Where an account knows the size of a cohort, so may the server; all neighbours are then as many.
    """
    seen = probe.site.sees_uploads or probe.stated.accounting == "sized"
    others = [probe.quiet, *(() if seen else probe.without.values())]
    changed = next(filter(None, (different(other.made, probe.played.made) for other in others)), "")
    what = MADE.get(changed, f"{changed}, which is kept,")
    return f"{what} shows clients beside what is released" if changed else ""


MADE = {"step": "the server's step", "weights": "what the server sends"}


def different(made: Memory, other: Memory) -> str:
    """Name of what the server made that differs; empty: nothing."""
    missing = torch.zeros(0)
    names = (
        name
        for name, part in other.items()
        if not np.array_equal(made.get(name, missing), part, equal_nan=True)
    )
    return next(names, "")


PROBES: dict[str, Callable[[ProbedRound], str]] = {
    "repeatable": repeatable,
    "finite": numbers_alone,
    "bound": within_bound,
    "sum": moves_by_the_bound,
    "noise": noise_is_its_own,
    "run": noise_of_this_run,
    "memory": kept_without_noise,
    "release": follows_from_the_release,
}
BIT_PROBES = ("repeatable", "run", "release")  # nothing bounds a bit, or needs to


def hostile(site: Site, stated: Statement, facts: Facts, streams: Streams, round_number: int) -> torch.Tensor:
    """Return hostile uploads `[n, d]` for the bound that facts of a round declare; of bits random ones."""
    rng = streams.numpy("hostile", round_number)
    if stated.attack == "bit":
        signs = rng.choice(np.array([-1, 1], dtype=np.float32), (site.population, site.dimension))
        return torch.from_numpy(signs)
    bound = declared_bound(facts, stated.attack, site.rows_are_examples)
    return hostile_updates(bound * (site.expected if site.rows_are_examples else 1), site.dimension, rng)


def faults_of(probe: ProbedRound) -> dict[str, str]:
    """Faults of a round of hostile uploads, by the names of probes."""
    names = BIT_PROBES if probe.stated.attack == "bit" else PROBES
    return {name: fault for name in names if (fault := PROBES[name](probe))}
