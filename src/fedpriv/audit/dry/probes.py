"""What a round shows without any chance: hostile uploads, and the same round with one of them left out.

The noise of a round comes from named streams, so that it is the same where nothing but an upload differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import chi2, f

from fedpriv.audit.dry.rounds import Round, Site, declared_bound, declared_std, nothing
from fedpriv.audit.dry.statements import Statement
from fedpriv.mechanisms.clipping import norms_of
from fedpriv.schemes.base import Memory
from fedpriv.streams import Streams

if TYPE_CHECKING:
    import torch

NORMS = (0.5, 1.01, 3.0, 10.0, 1e6)  # of hostile uploads, in units of the bound
HUGE = 3e38  # near the largest number of float32
ROUNDED = 1e-3  # its square is what float32 may move a sum by, relatively
DRAWS = 400  # of a round's noise, for what is kept of it
NUMBERS = 16  # of an upload, there


class Probe(NamedTuple):
    """One round of hostile uploads, and the means to play it again."""

    site: Site
    said: Statement
    round: int
    memory: Memory
    streams: Streams
    rows: torch.Tensor
    played: Round

    @property
    def bound(self) -> float:
        """Return the norm that a part of what is seen is declared to have at most."""
        return declared_bound(self.played.facts, self.said.attack, self.site.of_examples)

    @property
    def rounding(self) -> float:
        """Return what float32 may move a sum by."""
        return ROUNDED**2 * (
            self.bound + float(self.played.clean.double().norm()) + float(self.played.total.norm())
        )

    def again(self, rows: torch.Tensor) -> Round:
        """Return the same round, with other uploads of the same clients."""
        return self.site.play(rows, np.arange(len(rows)), self.round, self.memory, self.streams)

    def without(self, one: int) -> Round:
        """Return the round of a neighbour: one upload is left out or, with its noise kept, is zero."""
        if self.said.relation != "add_remove" or self.played.facts["noise_in_sum"]:
            return self.again(zeroed(self.rows, one))
        others = np.delete(np.arange(len(self.rows)), one)
        return self.site.play(self.rows[others], others, self.round, self.memory, self.streams)

    def which(self) -> Iterator[int]:
        """Yield the uploads to leave out: each in the first round and the last, one in each of the others."""
        first_or_last = self.round in (1, self.site.mechanism.plan.rounds)
        yield from range(len(self.rows)) if first_or_last else [self.round % len(self.rows)]


def zeroed(rows: torch.Tensor, one: int) -> torch.Tensor:
    """Return the rows with one of them zero."""
    found = rows.clone()
    found[one] = 0.0
    return found


def hostile(bound: float, dimension: int, rng: np.random.Generator) -> torch.Tensor:
    """Return uploads `[n, d]` of several norms: dense, equal, sparse, of one number; and no numbers."""
    import torch

    few = rng.permutation(dimension)[: max(2, math.isqrt(dimension))]
    shapes = np.zeros((4, dimension))
    shapes[0], shapes[1], shapes[3, few[0]] = rng.standard_normal(dimension), 1.0, -1.0
    shapes[2, few] = rng.standard_normal(len(few))
    shapes /= np.linalg.norm(shapes, axis=1, keepdims=True)
    rows = (bound * np.array(NORMS)[:, None, None] * shapes).reshape(-1, dimension)
    odd = np.zeros((3, dimension))
    odd[0, 0], odd[1, -1], odd[2] = np.nan, np.inf, HUGE
    return torch.from_numpy(np.concatenate([rows.clip(-HUGE, HUGE), odd])).float()


def repeatable(probe: Probe) -> str:
    """Return whether the same round is the same again; without that no run could be resumed, or probed."""
    if probe.round > 1 or np.array_equal(probe.again(probe.rows).total, probe.played.total, equal_nan=True):
        return ""
    return "the same round played again is another: some of its randomness is not from the run's streams"


def numbers_alone(probe: Probe) -> str:
    """Return whether what is no number reaches the sum."""
    finite = bool(probe.played.clean.isfinite().all())
    return "" if finite else "an upload that is no number reaches the sum"


def within_bound(probe: Probe) -> str:
    """Return which part of a sum is longer than is declared."""
    if probe.site.of_examples:  # of which the sum alone is seen
        return ""
    norms = norms_of(probe.played.clean.nan_to_num(0.0, 0.0, 0.0)).numpy()
    one = int(norms.argmax())
    if norms[one] <= probe.bound:
        return ""
    sent, norm = (value / probe.bound for value in (float(norms_of(probe.rows[[one]])), norms[one]))
    return f"an upload of norm {sent:.4g} has norm {norm:.7g} in the sum, in units of the bound"


def moves_by_the_bound(probe: Probe) -> str:
    """Return how far one upload moves the noisy sum, if that is farther than is declared."""
    moved = max(float((probe.played.total - probe.without(one).total).norm()) for one in probe.which())
    if moved <= probe.said.reach * probe.bound + probe.rounding:
        return ""
    return f"one upload moves the sum by {moved / probe.bound:.4g} times the bound"


def noise_is_its_own(probe: Probe) -> str:
    """Return whether the noise is the same whatever is sent."""
    quiet = probe.again(nothing(*probe.rows.shape))
    noise, other = (one.total - one.clean.double().sum(0) for one in (probe.played, quiet))
    moved = float((noise - other).norm())
    return "" if moved <= probe.rounding else "the noise is another where other updates are sent"


def nothing_beside(probe: Probe) -> str:
    """Return whether the server receives more of an upload than its noisy numbers."""
    inside = probe.played.received.inside
    if probe.said.attack != "upload" or inside is None:
        return ""
    for one in probe.which():
        other = probe.again(zeroed(probe.rows, one)).received.inside
        if other is None or bool((other != inside).any()):
            return "beside an upload the server receives, without noise, whether it was within the bound"
    return ""


PROBES: dict[str, Callable[[Probe], str]] = {
    "repeatable": repeatable,
    "finite": numbers_alone,
    "bound": within_bound,
    "sum": moves_by_the_bound,
    "noise": noise_is_its_own,
    "beside": nothing_beside,
}


def probe_of(site: Site, said: Statement, round: int, memory: Memory, streams: Streams) -> Probe:
    """Return the round with hostile uploads, for the bound that it has."""
    facts = site.play(nothing(1, site.dimension), np.zeros(1, int), round, memory, streams).facts
    bound = declared_bound(facts, said.attack, site.of_examples) * (site.expected if site.of_examples else 1)
    rows = hostile(bound, site.dimension, streams.numpy("hostile", round))
    played = site.play(rows, np.arange(len(rows)), round, memory, streams)
    return Probe(site, said, round, memory, streams, rows, played)


def probed(site: Site, said: Statement, round: int, memory: Memory, streams: Streams) -> dict[str, str]:
    """Return what probes have found in a round, by their names."""
    probe = probe_of(site, said, round, memory, streams)
    found = {name: look(probe) for name, look in PROBES.items()}
    return {name: text for name, text in found.items() if text}


def kept(site: Site, said: Statement, alpha: float) -> str:
    """Return what the scheme keeps from round to round that tells more of a client than is accounted.

    It is looked at after the first round and the last.
    """
    site, rounds = site._replace(dimension=NUMBERS), site.mechanism.plan.rounds
    memory, streams = site.mechanism.scheme.memory(NUMBERS), Streams(0, "dry run of what is kept")
    for round in range(1, rounds + 1) if memory else ():
        probe = probe_of(site, said, round, memory, streams)
        if round in (1, rounds) and leaks(probe, alpha / 2):
            return f"what is kept after round {round} tells more of a client than is accounted"
        memory = probe.played.memory
    return ""


def leaks(probe: Probe, alpha: float) -> bool:
    """Return whether a number is kept that moves by more of its noise than the account has left for it.

    What does not depend on the noisy sum has what the sum leaves of 1/z², else all of it.
    """
    whole, sums = drawn(probe, Probe.again, probe.rows)
    reach = probe.said.reach
    allowed = (reach / probe.said.multipliers[probe.round - 1]) ** 2
    of_sum = (reach * probe.bound / declared_std(probe.played.facts, len(probe.rows))) ** 2
    most = whole.var(axis=0, ddof=1) * (DRAWS - 1) / chi2.ppf(alpha / (2 * whole.shape[1]), DRAWS - 1)
    unit = ROUNDED**3 * np.abs(whole).max(axis=0)
    for one in (0, len(probe.rows) // 2):  # within the bound, and beyond it
        moved = np.abs((drawn(probe, Probe.without, one)[0] - whole).mean(axis=0))
        for number in np.flatnonzero(moved > unit):
            left = allowed - (0.0 if follows(whole[:, number], sums) else of_sum)
            if moved[number] ** 2 > (left + ROUNDED * allowed) * max(most[number], unit[number] ** 2):
                return True
    return False


def drawn(probe: Probe, play: Callable[[Probe, Any], Round], what: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what is kept `[draws, numbers]` and the noisy sums `[draws, d]` of a round with other noise."""
    found = [play(probe._replace(streams=Streams(draw, "what is kept")), what) for draw in range(DRAWS)]
    numbers = [
        np.concatenate([part.double().numpy().ravel() for part in one.memory.values()]) for one in found
    ]
    return np.array(numbers), np.array([one.total.numpy() for one in found])


def follows(number: np.ndarray, sums: np.ndarray) -> bool:
    """Return whether a number depends on noisy sums, of which it may be made."""
    centred, sums = number - number.mean(), sums - sums.mean(axis=0)
    fitted = sums @ np.linalg.lstsq(sums, centred, rcond=None)[0]
    degrees = sums.shape[1], len(number) - sums.shape[1] - 1
    explained, rest = float(fitted @ fitted), float((centred - fitted) @ (centred - fitted))
    return rest == 0 or float(f.sf(explained / degrees[0] / (rest / degrees[1]), *degrees)) < 1e-6
