"""Faults that a dry run finds beside an attack: in one round without any chance, in many rounds with it.

Probes play a round again with hostile uploads: is it repeatable, is each upload bounded, how far does it move
the sum? Checks are tests of the noise and of the cohorts of all rounds, together wrong about a sound
mechanism in `ALPHA` of all dry runs at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import ndtr
from scipy.stats import chi2, chisquare, t

from fedpriv.audit.dry.attacks import Statement, normal_scores
from fedpriv.audit.dry.rounds import Round, Site, declared_bound
from fedpriv.mechanisms.clipping import norms_of
from fedpriv.schemes.base import Memory
from fedpriv.streams import Streams

NORMS = (0.5, 1.01, 3.0, 10.0, 1e6)  # of hostile uploads, in units of the bound
HUGE = 3e38  # near the largest number of float32
ROUNDED = 1e-3  # its square is what float32 may move a sum by, relatively


class ProbedRound(NamedTuple):
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
        return declared_bound(self.played.facts, self.stated.attack, self.site.of_examples)

    @property
    def rounding(self) -> float:
        """Move of a sum that float32 may cause."""
        return ROUNDED**2 * (
            self.bound + float(self.played.clean.double().norm()) + float(self.played.total.norm())
        )

    def again(self, rows: torch.Tensor) -> Round:
        """Play the round again, with other uploads of the same clients."""
        return self.site.play(rows, np.arange(len(rows)), self.round, self.memory, self.streams)

    def in_another_run(self) -> Round:
        """Play the round as a run of another name does."""
        return self._replace(streams=Streams(0, "other noise")).again(self.rows)

    def without(self, upload: int) -> Round:
        """Return the round of a neighbour: one upload is left out or, with its noise kept, is zero."""
        if self.stated.relation != "add_remove" or self.played.facts["noise_in_sum"]:
            others = self.rows.clone()
            others[upload] = 0.0
            return self.again(others)
        others = np.delete(np.arange(len(self.rows)), upload)
        return self.site.play(self.rows[others], others, self.round, self.memory, self.streams)

    def which(self) -> Iterator[int]:
        """Yield the uploads to leave out: each in the first round and the last, one in each of the others."""
        first_or_last = self.round in (1, self.site.mechanism.plan.rounds)
        yield from range(len(self.rows)) if first_or_last else [self.round % len(self.rows)]


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


def repeatable(probe: ProbedRound) -> str:
    """Fault: a round played again is another, so that no run could be resumed, or probed."""
    if probe.round > 1 or np.array_equal(probe.again(probe.rows).total, probe.played.total, equal_nan=True):
        return ""
    return "the same round played again is another: some of its randomness is not from the run's streams"


def numbers_alone(probe: ProbedRound) -> str:
    """Fault: an upload that is no number reaches the sum."""
    finite = bool(probe.played.clean.isfinite().all())
    return "" if finite else "an upload that is no number reaches the sum"


def within_bound(probe: ProbedRound) -> str:
    """Fault: a part of a sum is longer than is declared."""
    if probe.site.of_examples:  # of which the sum alone is seen
        return ""
    norms = norms_of(probe.played.clean.nan_to_num(0.0, 0.0, 0.0)).numpy()
    longest = int(norms.argmax())
    if norms[longest] <= probe.bound:
        return ""
    sent, norm = (value / probe.bound for value in (float(norms_of(probe.rows[[longest]])), norms[longest]))
    return f"an upload of norm {sent:.4g} has norm {norm:.7g} in the sum, in units of the bound"


def moves_by_the_bound(probe: ProbedRound) -> str:
    """Fault: one upload moves the noisy sum farther than is declared."""
    moved = max(float((probe.played.total - probe.without(upload).total).norm()) for upload in probe.which())
    if moved <= probe.stated.reach * probe.bound + probe.rounding:
        return ""
    return f"one upload moves the sum by {moved / probe.bound:.4g} times the bound"


def noise_is_its_own(probe: ProbedRound) -> str:
    """Fault: the noise depends on the updates."""
    quiet = probe.again(torch.zeros_like(probe.rows))
    noise, other = (played.total - played.clean.double().sum(0) for played in (probe.played, quiet))
    moved = float((noise - other).norm())
    return "" if moved <= probe.rounding else "the noise is another where other updates are sent"


def noise_of_this_run(probe: ProbedRound) -> str:
    """Fault: another run has the same noise."""
    same = np.array_equal(probe.in_another_run().total, probe.played.total, equal_nan=True)
    return f"the noise of round {probe.round} comes again in another run" if same else ""


def kept_without_noise(probe: ProbedRound) -> str:
    """Fault: the scheme keeps a number that moves with a client, and not with the noise."""
    other = probe.in_another_run()
    for name, kept in probe.played.memory.items():
        same = kept == other.memory[name]
        if any(bool((same & (kept != probe.without(upload).memory[name])).any()) for upload in probe.which()):
            return f"{name}, which is kept after round {probe.round}, shows a client without noise"
    return ""


PROBES: dict[str, Callable[[ProbedRound], str]] = {
    "repeatable": repeatable,
    "finite": numbers_alone,
    "bound": within_bound,
    "sum": moves_by_the_bound,
    "noise": noise_is_its_own,
    "run": noise_of_this_run,
    "memory": kept_without_noise,
}


def probe_round(
    site: Site, stated: Statement, round: int, memory: Memory, streams: Streams
) -> dict[str, str]:
    """Faults of a round of hostile uploads, for the bound that it has, by the names of probes."""
    facts = site.play(torch.zeros(1, site.dimension), np.zeros(1, int), round, memory, streams).facts
    bound = declared_bound(facts, stated.attack, site.of_examples) * (
        site.expected if site.of_examples else 1
    )
    rows = hostile_updates(bound, site.dimension, streams.numpy("hostile", round))
    played = site.play(rows, np.arange(len(rows)), round, memory, streams)
    probe = ProbedRound(site, stated, round, memory, streams, rows, played)
    return {name: text for name, look in PROBES.items() if (text := look(probe))}


ALPHA = 1e-3  # how often one of all checks of a sound mechanism is wrong: confidence pays
EDGES = np.linspace(-10, 10, 161)  # of the cells into which noise falls, over σ
FEWEST = 20  # numbers that are expected in a cell of which the law is looked at


class Seen(NamedTuple):
    """What dry runs of one site have shown of noise, over σ, and of cohorts; sums are over runs."""

    site: Site
    powers: np.ndarray  # [runs, T], sums of squares of the noise of a round
    cells: np.ndarray  # how many numbers of noise fell between two `EDGES`
    numbers: np.ndarray  # [d, d], sums of products of two numbers of the noise
    rounds: np.ndarray  # [T, T], sums of products of the noise of two rounds
    sizes: np.ndarray  # [runs, T], of cohorts
    came: np.ndarray  # [population], the rounds in which each came

    @classmethod
    def of_nothing(cls, site: Site) -> Seen:
        """Return the results of no dry run."""
        rounds, d = site.mechanism.plan.rounds, site.dimension
        shapes = ((0, rounds), len(EDGES) - 1, (d, d), (rounds, rounds), (0, rounds), site.population)
        return cls(site, *map(np.zeros, shapes))


def histogram(noise: np.ndarray) -> np.ndarray:
    """Return the counts of the numbers in each cell; those beyond, and what is no number, are in the last."""
    return np.histogram(np.nan_to_num(noise, nan=np.inf).clip(EDGES[0], EDGES[-1]), EDGES)[0]


def variance(seen: Seen, alpha: float) -> str:
    """Fault: all noise, that of a round, or one number of it has another variance than is stated."""
    parts = {
        "the noise of a round": (seen.powers, len(seen.numbers)),
        "the noise of one number": (np.diag(seen.numbers), seen.powers.size),
        "the noise": (seen.powers.sum(keepdims=True), seen.powers.size * len(seen.numbers)),
    }
    faults = []
    for name, (squares, count) in parts.items():
        rare = spread_pvalue(squares, count)
        times = squares.flat[rare.argmin()] / count
        faults.append((rare.min() * rare.size, f"{name} has {times:.4g} times the variance that is stated"))
    rarest, text = min(faults, key=lambda fault: fault[0])
    return text if rarest < alpha / len(parts) else ""


def spread_pvalue(squares: np.ndarray, count: int) -> np.ndarray:
    """P-value of a sum of so many squares of standard normals, in either direction."""
    return 2 * np.minimum(chi2.sf(squares, count), chi2.cdf(squares, count))


def centre(seen: Seen, alpha: float) -> str:
    """Fault: the noise is not around zero; of bits, another share of them is flipped."""
    numbers = max(1.0, float(seen.cells.sum()))
    mean = float(seen.cells @ (EDGES[1:] + EDGES[:-1])) / 2 / numbers
    return f"the mean of the noise is {mean:.4g} σ" if 2 * ndtr(-abs(mean) * numbers**0.5) < alpha else ""


def law(seen: Seen, alpha: float) -> str:
    """Fault: numbers of the noise are not normal, by Pearson's test."""
    expected = seen.cells.sum() * np.diff(ndtr(EDGES))
    inner = np.flatnonzero(expected >= FEWEST)
    if not len(inner):
        return ""
    edges = np.array([-np.inf, *EDGES[inner], EDGES[inner[-1] + 1], np.inf])
    counts, expected = (
        np.array([cells[: inner[0]].sum(), *cells[inner], cells[inner[-1] + 1 :].sum()])
        for cells in (seen.cells, expected)
    )
    if chisquare(counts, expected).pvalue >= alpha:
        return ""
    worst = int((np.abs(counts - expected) / np.sqrt(expected)).argmax())
    return (
        f"the noise is not normal: between {edges[worst]:.4g} and {edges[worst + 1]:.4g} σ "
        f"are {counts[worst]:.0f} of its numbers and not about {expected[worst]:.0f}"
    )


def number_pairs(seen: Seen, alpha: float) -> str:
    """Fault: two numbers of the noise are not independent."""
    first, second, rare = least_independent(seen.numbers, seen.powers.size)
    return f"the noise of numbers {first} and {second} is not independent" if rare < alpha else ""


def round_pairs(seen: Seen, alpha: float) -> str:
    """Fault: two rounds have noise that is not independent."""
    first, second, rare = least_independent(seen.rounds, len(seen.powers) * len(seen.numbers))
    return f"the noise of round {first} comes again in round {second}" if rare < alpha else ""


def least_independent(products: np.ndarray, samples: int) -> tuple[int, int, float]:
    """Places, counted from 1, of the least independent pair, and its p-value among all pairs.

    It is that of a correlation of so many pairs of independent normals of mean 0; 1 of nothing.
    """
    size = np.sqrt(np.diag(products))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(np.nan_to_num(np.triu(products / np.outer(size, size), 1)))
        first, second = np.unravel_index(int(correlation.argmax()), correlation.shape)
        largest = correlation[first, second]
        odds = largest * np.sqrt((samples - 1) / np.fmax(1 - largest**2, 0.0))
    rare = 2 * float(t.sf(odds, samples - 1)) if samples > 1 else 1.0
    return int(first) + 1, int(second) + 1, rare * max(1, math.comb(len(size), 2))


def sizes(seen: Seen, alpha: float) -> str:
    """Fault: clients do not come as the law says: by the sizes of cohorts, or by clients."""
    cohort_law, population = seen.site.mechanism.law, seen.site.population
    expected, rng = cohort_law.expected(population), np.random.default_rng(0)
    if cohort_law.law != "poisson":
        right = (seen.sizes == expected).all()
        return "" if right else f"a cohort is not of the {expected:g} clients that it shall be"
    parts = {"cohorts": (seen.sizes, population), "clients": (seen.came, seen.sizes.size)}
    for name, (counts, trials) in parts.items():
        scores = normal_scores(counts, trials, expected / population, rng)
        if spread_pvalue((scores**2).sum(), scores.size) < alpha / len(parts):
            return (
                f"a client comes with probability {counts.mean() / trials:.4g}, and {name} differ "
                f"{float((scores.clip(-40, 40) ** 2).mean()) ** 0.5:.3g} times as far as by chance"
            )
    return ""


CHECKS: dict[str, Callable[[Seen, float], str]] = {
    "variance": variance,
    "centre": centre,
    "law": law,
    "numbers": number_pairs,
    "rounds": round_pairs,
    "sizes": sizes,
}
# Where one of these faults is, nobody knows how scores are distributed without the canary.
NOISE = (CHECKS.keys() - {"sizes"}) | {"repeatable", "noise", "run"}
EACH = ALPHA / len(CHECKS)  # of one check


def check_runs(seen: Seen) -> dict[str, str]:
    """Faults of many rounds, by the names of checks."""
    return {name: text for name, check in CHECKS.items() if (text := check(seen, EACH))}
